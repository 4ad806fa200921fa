"""A diff compares the shape, the values and the words, and reports at which level each change is."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from tests.cassettes.library.making import interaction, made
from tests.support.thoroughness import examples
from tests.support.traffic import chat_body
from toolparity.cassettes.library import forget, load, path_for
from toolparity.cassettes.recorder.diff import RecordingChange, diff, outline
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main

IMPORTED = dict.fromkeys(("surface", "sdk", "sdk_version", "scenario", "scenario_hash", "ran_by"))


def run(*args: Any) -> Result:
    forget()
    return CliRunner().invoke(main, ["cassettes", "diff", *map(str, args)], env={"COLUMNS": "250"})


def pair(tmp_path: Path, change: Any) -> tuple[Path, Path]:
    """A cassette, and one in which ``change(request, answer)`` changed the JSON of both."""
    paths = []
    for name in ("old", "new"):
        one = interaction(chat_body("get_weather", arguments='{"city": "Lisbon", "days": 2}'))
        asked, answer = json.loads(one["request"]["body"]), json.loads(one["response"]["body"]["string"])
        asked["temperature"] = 0
        answer["choices"][0]["message"]["content"] = "Let me look."
        if name == "new":
            change(asked, answer)
        one["request"]["body"], one["response"]["body"]["string"] = json.dumps(asked), json.dumps(answer)
        paths.append(made(tmp_path / name, one))
    return paths[0], paths[1]


def arguments(text: str) -> Any:
    def change(asked: Any, answer: Any) -> None:
        answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = text

    return change


def message(**members: Any) -> Any:
    return lambda _, answer: answer["choices"][0]["message"].update(members)


def first_call(**members: Any) -> Any:
    return lambda _, answer: answer["choices"][0]["message"]["tool_calls"][0].update(members)


CHANGES: dict[str, tuple[str, str, Any]] = {
    "the model that was asked": ("values", "request.model", lambda asked, _: asked.update(model="other")),
    "the model that answered": ("values", "response.model", lambda _, answer: answer.update(model="other")),
    "a parameter": ("values", "request.temperature", lambda asked, _: asked.update(temperature=1)),
    "an argument": ("values", "arguments_text.city", arguments('{"city": "Porto", "days": 2}')),
    "the type of an argument": ("values", "arguments_text.days", arguments('{"city": "Lisbon", "days": "2"}')),
    "a new argument": ("values", "arguments_text.id", arguments('{"city": "Lisbon", "days": 2, "id": "x"}')),
    "the answer's text": ("words", "blocks[0].text", message(content="Let me see.")),
    "the question": ("words", "messages[0].content", lambda asked, _: asked["messages"][0].update(content="bye")),
    "a field": ("shape", "service_tier", lambda _, answer: answer.update(service_tier="flex")),
    "a call's name": ("shape", "- call exchange 1: get_weather", first_call(function={"name": "f", "arguments": "{}"})),
}


@pytest.mark.parametrize(("level", "place", "change"), CHANGES.values(), ids=list(CHANGES))
def test_each_change_is_reported_at_its_level_and_fails_from_there(
    tmp_path: Path, level: str, place: str, change: Any
) -> None:
    old, new = pair(tmp_path, change)
    result = run(old, new)
    assert result.exit_code == 1
    assert any(place in line for line in result.stdout.splitlines()), result.stdout
    levels = ["shape", "values", "words"]
    for fail_on in levels:
        expected = 1 if levels.index(fail_on) >= levels.index(level) else 0
        assert run(old, new, "--fail-on", fail_on).exit_code == expected, fail_on


@pytest.mark.parametrize(
    "change",
    [
        lambda _, answer: answer.update(id="chatcmpl-2"),
        first_call(id="call_x"),
        arguments(' { "days":2,"city":"\\u004cisbon"}'),
    ],
    ids=["ids", "ids of calls", "the notation of arguments"],
)
def test_values_that_differ_in_every_recording_are_not_changes(tmp_path: Path, change: Any) -> None:
    result = run(*pair(tmp_path, change))
    assert result.exit_code == 0, result.stdout
    assert result.stdout.splitlines()[-1] == "shape: 0 changed; values: 0 changed; words: 0 changed"


def test_the_changes_can_be_written_as_json(tmp_path: Path) -> None:
    old, new = pair(tmp_path, arguments('{"city": "Porto", "days": 2}'))
    found = json.loads(run(old, new, "--json").stdout)
    assert found["counts"] == {"shape": 0, "values": 1, "words": 0}
    (change,) = found["changes"]
    assert (change["level"], change["old"], change["new"]) == ("values", '"Lisbon"', '"Porto"')
    assert found["old"]["origin"] == "emulated"


def test_long_texts_are_shown_where_they_differ(tmp_path: Path) -> None:
    def lengthen(end: str) -> Any:
        return lambda asked, _: asked["messages"][0].update(content="word " * 200 + end)

    old, _ = pair(tmp_path / "a", lambda *_: None)
    (_, one), (_, other) = pair(tmp_path / "b", lengthen("first")), pair(tmp_path / "c", lengthen("second"))
    shown = run(one, other).stdout
    assert "first" in shown
    assert "second" in shown
    assert max(map(len, shown.splitlines())) < 400
    assert run(old, one).exit_code == 1


def test_imported_cassettes_of_any_provider_can_be_compared(tmp_path: Path) -> None:
    paths = []
    for name, city in (("a", "Lisbon"), ("b", "Porto")):
        one = interaction(chat_body("f", arguments=json.dumps({"city": city})))
        one["request"]["uri"] = "https://api.deepseek.com/chat/completions"
        path = made(tmp_path / name, one, origin="imported", provider="deepseek", **IMPORTED)
        paths.append(path)
    result = run(*paths)
    assert result.exit_code == 1, result.output
    assert "arguments_text.city" in result.stdout


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
    asked = body["message"] if name == "xai.grpc" else body
    holder, key = data.draw(st.sampled_from(places_of_texts(asked)))
    holder[key] = "something else"
    request.body = json.dumps(body).encode()
    at = SURFACES[name]
    found: list[RecordingChange] = diff(outline(old, at), outline(new, at), down_to="words")
    assert found


@pytest.mark.parametrize("member", ["code", "param"])
def test_the_members_of_an_error_that_programs_read_are_values(tmp_path: Path, member: str) -> None:
    """`insufficient_quota` and `rate_limit_exceeded` have one type and one status."""
    paths = []
    for name in ("old", "new"):
        one = interaction(chat_body("f"))
        error = {"message": "Slow down.", "type": "requests", "code": "rate_limit_exceeded", "param": "model"}
        body = {"error": error | ({member: "other"} if name == "new" else {})}
        one["response"]["status"] = {"code": 429, "message": "Too Many Requests"}
        one["response"]["body"]["string"] = json.dumps(body)
        paths.append(made(tmp_path / name, one))
    result = run(*paths)
    assert result.exit_code == 1
    assert f'response.error.raw.error.{member}: "' in result.stdout
    assert "shape: 0 changed; values: 1 changed; words: 0 changed" in result.stdout
