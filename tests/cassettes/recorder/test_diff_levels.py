"""A diff compares the shape, the values and the words, and reports each change once, at its level."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from tests.cassettes.library.making import LACKING, interaction, made
from tests.support.thoroughness import examples
from tests.support.traffic import chat_body
from toolparity import normalize
from toolparity.cassettes.errors import UnreadableSource
from toolparity.cassettes.library import forget, load, path_for
from toolparity.cassettes.recorder.diff import RecordingChange, diff, first_difference, outline, render
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main

UNCHANGED = "shape: 0 changed; values: 0 changed; words: 0 changed"


def run(*args: Any) -> Result:
    forget()
    return CliRunner().invoke(main, ["cassettes", "diff", *map(str, args)], env={"COLUMNS": "250"})


def figures(input: int, output: int) -> dict[str, int]:
    return {"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}


def pair(tmp_path: Path, new: Any, old: Any = lambda asked, answer: None) -> tuple[Path, Path]:
    """Two cassettes: functions of request and answer change the JSON of the old and of the new one."""
    paths = []
    for name, change in (("old", old), ("new", new)):
        one = interaction(chat_body("get_weather", arguments='{"city": "Lisbon", "days": 2}'))
        asked, answer = json.loads(one["request"]["body"]), json.loads(one["response"]["body"]["string"])
        asked["temperature"] = 0
        answer |= {"created": 1, "usage": figures(1, 2)}
        answer["choices"][0]["message"]["content"] = "Let me look."
        change(asked, answer)
        one["request"]["body"], one["response"]["body"]["string"] = json.dumps(asked), json.dumps(answer)
        one["response"]["status"]["code"] = 429 if "error" in answer else 200
        paths.append(made(tmp_path / name, one))
    return paths[0], paths[1]


def members(**changes: Any) -> Any:
    return lambda _, answer: answer.update(changes)


def message(**changes: Any) -> Any:
    return lambda _, answer: answer["choices"][0]["message"].update(changes)


def first_call(**changes: Any) -> Any:
    return lambda _, answer: answer["choices"][0]["message"]["tool_calls"][0].update(changes)


def arguments(text: str) -> Any:
    return first_call(function={"name": "get_weather", "arguments": text})


def calls(*names: str) -> Any:
    return message(tool_calls=json.loads(chat_body(*names))["choices"][0]["message"]["tool_calls"])


def cut(_: Any, answer: Any) -> None:
    arguments('{"city": "Lisb')(_, answer)
    answer["choices"][0]["finish_reason"] = "length"


FIELD = "field openai.chat answer:"
USAGE = (
    "usage.completion_tokens: number",
    "usage.prompt_tokens: number",
    "usage.total_tokens: number",
    "usage: object",
)
#: What changed -> the level, the changes that are reported at this level, and the new or the two functions.
CHANGES: dict[str, tuple[str, list[str], Any]] = {
    "the model that was asked": ("values", ["request.model"], lambda asked, _: asked.update(model="other")),
    "the model that answered": ("values", ["response.model"], members(model="other")),
    "a parameter": ("values", ["request.temperature"], lambda asked, _: asked.update(temperature=1)),
    "an argument": ("values", ["arguments_text.city"], arguments('{"city": "Porto", "days": 2}')),
    "the type of an argument": ("values", ["arguments_text.days"], arguments('{"city": "Lisbon", "days": "2"}')),
    "a new argument": ("values", ["arguments_text.id"], arguments('{"city": "Lisbon", "days": 2, "id": "x"}')),
    "the figures": (
        "values",
        ["usage.input_tokens: 1 -> 7", "usage.output_tokens: 2 -> 8"],
        members(usage=figures(7, 8)),
    ),
    "the answer's text": ("words", ["blocks[0].text"], message(content="Let me see.")),
    "the question": ("words", ["messages[0].content"], lambda asked, _: asked["messages"][0].update(content="bye")),
    "a new field": ("shape", [f"+ {FIELD} service_tier: string"], members(service_tier="flex")),
    "a lost field": ("shape", [f"- {FIELD} created: number"], lambda _, answer: answer.pop("created")),
    "another type": ("shape", [f"~ {FIELD} created: number -> string"], members(created="now")),
    "a field in a list": ("shape", [f"+ {FIELD} choices[].message.refusal: null"], message(refusal=None)),
    "lost figures": (
        "shape",
        [*(f"- {FIELD} {one}" for one in USAGE), *(f"- usage exchange 1: {one}put_tokens" for one in ("in", "out"))],
        lambda _, answer: answer.pop("usage"),
    ),
    "a call's name": (
        "shape",
        ["- call exchange 1: get_weather (function)", "+ call exchange 1: f (function)"],
        first_call(function={"name": "f", "arguments": "{}"}),
    ),
    "a cut call": (
        "shape",
        [
            "- call exchange 1: get_weather (function)",
            "+ call exchange 1: get_weather (function, truncated)",
            "~ stop exchange 1: tool_calls (tool_calls) -> max_tokens (length)",
        ],
        cut,
    ),
}


@pytest.mark.parametrize(("level", "lines", "change"), CHANGES.values(), ids=list(CHANGES))
def test_each_change_is_reported_once_at_its_level_and_fails_from_there(
    tmp_path: Path, level: str, lines: list[str], change: Any
) -> None:
    old, new = pair(tmp_path, change)
    result = run(old, new)
    assert result.exit_code == 1
    assert [line for line in lines if result.stdout.count(line) != 1] == [], result.stdout
    assert f"{level}: {len(lines)} changed" in result.stdout
    levels = ["shape", "values", "words"]
    for fail_on in levels:
        expected = 1 if levels.index(fail_on) >= levels.index(level) else 0
        assert run(old, new, "--fail-on", fail_on).exit_code == expected, fail_on


@pytest.mark.parametrize(
    "change",
    [members(id="chatcmpl-2", created=99), first_call(id="call_x"), arguments(' { "days":2,"city":"\\u004cisbon"}')],
    ids=["ids and times", "ids of calls", "the notation of arguments"],
)
def test_values_that_differ_in_every_recording_are_not_changes(tmp_path: Path, change: Any) -> None:
    result = run(*pair(tmp_path, change))
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, UNCHANGED), result.stdout


def test_calls_in_another_order_and_another_number_of_exchanges_are_reported(tmp_path: Path) -> None:
    shown = run(*pair(tmp_path, calls("b", "a"), calls("a", "b"))).stdout
    assert "~ call exchange 1, order: a (function), b (function) -> b (function), a (function)" in shown
    one = made(tmp_path / "one", interaction())
    assert "~ exchange count: 1 -> 2" in run(one, made(tmp_path / "two", interaction(), interaction())).stdout


@pytest.mark.parametrize("member", ["code", "param"])
def test_an_error_and_the_members_of_it_that_programs_read_are_reported(tmp_path: Path, member: str) -> None:
    """`insufficient_quota` and `rate_limit_exceeded` have one type and one status."""

    def failing(**changes: str) -> Any:
        error = {"message": "Slow down.", "type": "requests", "code": "rate_limit_exceeded", "param": "model"}

        def change(_: Any, answer: Any) -> None:
            answer.clear()
            answer["error"] = error | changes

        return change

    result = run(*pair(tmp_path, failing(**{member: "other"}), failing()))
    assert result.exit_code == 1
    assert f'response.error.raw.error.{member}: "' in result.stdout
    assert "shape: 0 changed; values: 1 changed; words: 0 changed" in result.stdout
    shown = run(*pair(tmp_path, failing())).stdout
    assert "+ field openai.chat error 429: 6 fields" in shown
    assert "~ stop exchange 1: tool_calls (tool_calls) -> error requests" in shown


def test_the_changes_can_be_written_as_json(tmp_path: Path) -> None:
    old, new = pair(tmp_path, arguments('{"city": "Porto", "days": 2}'))
    found = json.loads(run(old, new, "--json").stdout)
    assert found["counts"] == {"shape": 0, "values": 1, "words": 0}
    (change,) = found["changes"]
    assert (change["level"], change["old"], change["new"]) == ("values", '"Lisbon"', '"Porto"')
    assert found["old"]["origin"] == "emulated"


def test_long_texts_and_long_lists_are_cut_when_they_are_shown(tmp_path: Path) -> None:
    def lengthen(end: str) -> Any:
        return lambda asked, _: asked["messages"][0].update(content="word " * 200 + end)

    shown = run(*pair(tmp_path, lengthen("first"), lengthen("second"))).stdout
    assert ("first" in shown, "second" in shown, max(map(len, shown.splitlines())) < 400) == (True, True, True)
    assert run(*pair(tmp_path, lengthen("first"))).exit_code == 1
    changes = [RecordingChange("field", f"f{n}", None, "string") for n in range(30)]
    lines = ["+ field f0: string", "+ field f1: string", "+ field f2: string", "  and 27 more"]
    assert render(changes, most=3).splitlines() == lines
    assert (render(changes[:1]), render([])) == ("+ field f0: string", "")


def test_imported_cassettes_of_any_known_provider_can_be_compared(tmp_path: Path) -> None:
    paths = []
    for name, city in (("a", "Lisbon"), ("b", "Porto")):
        one = interaction(chat_body("f", arguments=json.dumps({"city": city})))
        one["request"]["uri"] = "https://api.deepseek.com/chat/completions"
        paths.append(made(tmp_path / name, one, origin="imported", provider="deepseek", **LACKING))
    result = run(*paths)
    assert result.exit_code == 1, result.output
    assert "arguments_text.city" in result.stdout
    loaded = load(made(tmp_path))
    loaded.requests[0].uri = "https://api.example.com/v1/chat/completions"
    with pytest.raises(UnreadableSource, match=r"api\.example\.com"):
        outline(zip(loaded.requests, loaded.responses, strict=True))


def test_arguments_that_are_objects_on_the_wire_are_not_fields() -> None:
    loaded = load(path_for("anthropic.messages", "single-call", False))
    old = list(zip(loaded.requests, loaded.responses, strict=True))

    def changed(input: Any) -> list[str]:
        new = copy.deepcopy(old)
        body = json.loads(new[0][1]["body"]["string"])
        (block,) = [block for block in body["content"] if block["type"] == "tool_use"]
        block["input"] = input
        new[0][1]["body"]["string"] = json.dumps(body).encode()
        return [str(change) for change in diff(outline(old), outline(new))]

    assert changed({"town": "Lisbon", "days": [1]}) == []
    assert "~ field anthropic.messages answer: content[].input: object -> string" in changed("Lisbon")


@pytest.mark.parametrize("name", list(SURFACES))
def test_events_of_a_stream_are_compared_by_their_kind(name: str) -> None:
    loaded = load(path_for(name, "single-call", True))
    found = outline(zip(loaded.requests, loaded.responses, strict=True))
    kinds = [kind for kind in found.fields if " request" not in kind]
    assert kinds
    assert all(kind.startswith((f"{name} event ", f"{name} chunk")) for kind in kinds)
    assert found.calls == [["get_weather (function)"], []]
    assert all("input_tokens" in one for one in found.usage)
    assert diff(found, found) == []


def test_the_first_difference_of_two_responses_compares_arguments_by_value() -> None:
    old, same, other, id = (
        normalize(chat_body("f", arguments=text, id=id), "openai.chat")
        for text, id in (('{"a": 1}', "x"), ('{"a":1}', "x"), ('{"a":2}', "x"), ('{"a":1}', "y"))
    )
    assert first_difference(old, same) is None
    assert first_difference(old, other) is not None
    assert first_difference(old, id) == 'id is "y", and the recorded bytes say "x"'


def places_of_texts(value: Any) -> list[tuple[Any, Any]]:
    """The dicts and lists of a JSON value with each key or index that holds a text."""
    found = []
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, str):
            found += [(value, key)] * (not inner.isupper())
        elif isinstance(inner, dict | list):
            found += places_of_texts(inner)
    return found


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("name", list(SURFACES))
@pytest.mark.parametrize("stream", [False, True])
@given(data=st.data())
@examples(100, plain=6)
def test_any_changed_text_in_a_request_is_reported(name: str, stream: bool, data: st.DataObject) -> None:
    loaded = load(path_for(name, "parallel-three", stream))
    old = list(zip(loaded.requests, loaded.responses, strict=True))
    new = copy.deepcopy(old)
    request = new[0][0]
    body = json.loads(request.body)
    holder, key = data.draw(st.sampled_from(places_of_texts(body["message"] if name == "xai.grpc" else body)))
    holder[key] = "something else"
    request.body = json.dumps(body).encode()
    assert diff(outline(old, SURFACES[name]), outline(new, SURFACES[name]), down_to="words")
