"""The scripts that repeat failures without the suite, and the marks in the responses that they send."""

from __future__ import annotations

import ast
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.published import published, shortest
from toolparity.conformance.answer import AnsweredCall
from toolparity.conformance.laws import LAWS
from toolparity.conformance.laws.consequences import CONSEQUENCES
from toolparity.conformance.reproductions import Accusation, reproduction
from toolparity.conformance.reproductions.code import Ask
from toolparity.conformance.reproductions.comparison import confirms
from toolparity.conformance.reproductions.libraries import LIBRARIES
from toolparity.conformance.reproductions.output import Output
from toolparity.conformance.reproductions.running import available, command, run
from toolparity.conformance.reproductions.same import same_calls
from toolparity.conformance.reproductions.script import COLUMNS, LINES
from toolparity.conformance.reproductions.topics import ENTRIES
from toolparity.conformance.subjects import SUBJECTS, environments, role_of
from toolparity.conformance.subjects import subject as sdk
from toolparity.conformance.subjects.peers import PEERS
from toolparity.normalizer.model import Wire
from toolparity.reports.results import EFFECTS, Result, SubjectReport, Verdict, brief

#: A test that reads the published results.
PAGE = pytest.mark.page("reports/published", "conformance/reproductions", "conformance/laws/consequences.py")
#: The official SDKs.
SDKS = [name for name in SUBJECTS if role_of(name) == "implementation"]


def found(*subjects: str) -> list[Accusation]:
    """The shortest published cases, of these subjects or of all."""
    return [one for one in shortest() if not subjects or one.result.subject in subjects]


def accused(
    law: str = "conservation", *, scenario: str = "parallel-three", mode: str = "plain", calls: Any = (), **members: Any
) -> Accusation:
    """A failure of OpenAI's SDK on openai.chat. The response of the scenario has three calls."""
    error = members.pop("error", "")
    verdict = Verdict(law, "fail", members.pop("reason", "it broke"), **members)
    result = Result(
        "openai-sdk", scenario, "openai.chat", mode, "all", [verdict], [SubjectReport(list(calls), error=error)]
    )
    return Accusation(result, verdict, "1.0")


CALLS = ['get_weather({"city":"Lisbon"})', 'get_weather({"city":"Porto"})', 'list_events({"day":"tomorrow"})']


# Scripts


def test_every_implementation_has_code() -> None:
    assert LIBRARIES.keys() == {*PEERS, *SDKS}


@PAGE
def test_each_law_that_an_implementation_breaks_has_a_reproduction() -> None:
    broken = {
        (result.subject, verdict.check)
        for result, verdict in published().verdicts()
        if verdict.outcome in ("fail", "new", "expected") and role_of(result.subject) == "implementation"
        if verdict.check in ENTRIES
    }
    assert {(one.result.subject, one.verdict.check) for one in found()} == broken
    assert len(found()) == len(broken)


@PAGE
def test_a_script_is_short_and_needs_only_the_library_and_the_response() -> None:
    for accusation in found():
        script, place = accusation.script, (accusation.result.subject, accusation.verdict.check)
        assert_short(script.text)
        assert "toolparity" not in script.text.lower(), place
        assert f'"{accusation.response.file}"' in script.text, place
        name = PEERS[accusation.result.subject].distribution if accusation.result.subject in PEERS else ""
        version = re.escape(accusation.version)
        assert re.match(rf"(pip|npm) install {name}.*(==|@){version}", script.install), place
        if script.name.endswith(".py"):
            ast.parse(script.text)


def assert_short(text: str) -> None:
    """Assert that a script has at most as many lines and columns as the page says."""
    lines = text.splitlines()
    assert len(lines) <= LINES, text
    assert max(map(len, lines)) <= COLUMNS, text


@PAGE
@pytest.mark.parametrize("name", SDKS)
def test_a_script_of_an_sdk_fails_as_the_published_results_state(name: str, tmp_path: Path) -> None:
    (version,) = (one.version for one in published().subjects if one.name == name)
    for accusation in found(name):
        check(accusation, tmp_path, version)


@PAGE
@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("name", PEERS)
def test_a_script_of_a_library_fails_as_the_published_results_state(name: str, tmp_path: Path) -> None:
    installed = environments.installed(name)
    if installed is None:
        pytest.skip(f"toolparity subjects install {name}")
    for accusation in found(name):
        check(accusation, tmp_path, installed.version)


def check(accusation: Accusation, folder: Path, version: str) -> None:
    if version != accusation.version:
        pytest.skip(f"{accusation.version} is published, and {version} is installed")
    output = run(accusation, folder)
    assert confirms(accusation, output), (accusation.verdict.check, output.values, output.error)


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if peer.runtime == "python"])
def test_the_environment_of_a_library_does_not_have_this_project(name: str, tmp_path: Path) -> None:
    if not available(name):
        pytest.skip(f"toolparity subjects install {name}")
    done = subprocess.run([*command(name), "-c", "import toolparity"], cwd=tmp_path, capture_output=True, check=False)
    assert b"No module named 'toolparity'" in done.stderr


def test_a_script_does_not_see_the_folder_of_the_caller(tmp_path: Path) -> None:
    assert command("openai-sdk") == [sys.executable, "-I"]


@pytest.mark.parametrize("status", [200, 429])
@pytest.mark.parametrize("stream", [False, True])
def test_the_server_of_a_script_sends_the_status_and_the_type_of_the_response(status: int, stream: bool) -> None:
    ask = Ask("openai.chat", "openai", stream, [], status)
    assert ask.content_type == ("text/event-stream" if stream and status == 200 else "application/json")


@pytest.mark.parametrize(
    ("wire", "type"),
    [("ollama.chat", "application/x-ndjson"), ("bedrock.converse", "application/vnd.amazon.eventstream")],
)
def test_a_stream_has_the_content_type_of_its_wire(wire: Wire, type: str) -> None:
    assert Ask(wire, "", True, []).content_type == type
    assert Ask(wire, "", False, []).content_type == "application/json"


def three_calls(subject: str, mode: str) -> Accusation:
    """A failure of an SDK, which it does not have, in a response with three calls."""
    tested = sdk(subject)
    wire = min(tested.wires or ())
    result = Result(subject, "parallel-three", wire, mode, "all", [], [SubjectReport(CALLS)])
    return Accusation(result, Verdict("conservation", "fail"), tested.version)


#: SDKs of which no failure is published that a script reproduces.
UNACCUSED = ("boto3", "cohere-sdk", "google-genai-interactions", "ollama-sdk")


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("subject", UNACCUSED)
@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_the_code_of_an_sdk_without_published_failures_prints_the_calls(
    subject: str, mode: str, tmp_path: Path
) -> None:
    accusation = three_calls(subject, mode)
    assert_short(accusation.script.text)
    output = run(accusation, tmp_path)
    assert output.error == ""
    assert same_calls(output.calls(), CALLS)


def test_the_code_of_an_sdk_without_published_failures_is_short_and_parses() -> None:
    for subject in UNACCUSED:
        for mode in ("plain", "stream"):
            text = three_calls(subject, mode).script.text
            assert_short(text)
            ast.parse(text)


# Comparison


def printed(stdout: str, stderr: str = "") -> Output:
    return Output(stdout, stderr)


def message(*texts: str) -> Output:
    return printed(message_line(*texts))


def message_line(*texts: str) -> str:
    """A message of Chat Completions with these calls, as a script prints it."""
    split = [text.removesuffix(")").partition("(") for text in texts]
    calls = [{"id": "1", "function": {"name": name, "arguments": arguments}} for name, _, arguments in split]
    return json_line({"calls": [{"tool_calls": calls}]})


def json_line(value: Any) -> str:
    return f"{json.dumps(value)}\n"


def stopped(word: str | None) -> Output:
    return Output(json_line({"stop": word}), "")


def used(usage: Any) -> Output:
    return Output(json_line({"usage": usage}), "")


@pytest.mark.parametrize(
    ("calls", "same"), [(CALLS[:2], True), (CALLS[1::-1], True), (CALLS, False), (CALLS[:1], False), ([], False)]
)
def test_calls_are_compared_in_any_order(calls: list[str], same: bool) -> None:
    assert confirms(accused(calls=CALLS[:2]), message(*calls)) is same


def test_the_law_order_compares_the_order() -> None:
    accusation = accused("order", calls=CALLS[1::-1])
    assert confirms(accusation, message(*CALLS[1::-1]))
    assert not confirms(accusation, message(*CALLS[:2]))


def test_spelling_of_arguments_and_shortened_calls_are_the_same() -> None:
    long = f'save({{"text": "{"a" * 90}"}})'
    assert confirms(accused(calls=CALLS[:1]), message('get_weather({"city": "Lisbon"})'))
    assert confirms(accused(calls=[f"{long[:40]}...)"]), message(long))
    assert not confirms(accused(calls=[f"{long[:40]}b...)"]), message(long))


def test_numbers_that_json_lacks_are_shown_as_the_library_returned_them() -> None:
    values = [["set_level", {"level": math.nan}], ["set_level", {"level": None}]]
    assert printed(json_line({"calls": values})).calls() == ['set_level({"level":NaN})', 'set_level({"level":null})']
    assert str(AnsweredCall("set_level", arguments={"level": math.inf})) == 'set_level({"level":Infinity})'
    assert brief({"level": [math.nan, None]}) == '{"level":[NaN,null]}'


def test_an_error_beside_calls_is_confirmed_only_with_these_calls() -> None:
    accusation = accused(calls=CALLS[:1], error="TypeError: x", effect="refused")
    beside = "TypeError: x\n    at file.js\n"
    assert confirms(accusation, printed(message_line(*CALLS[:1]), beside))
    assert not confirms(accusation, printed(message_line(*CALLS), beside))
    without = accused(calls=CALLS[:1], effect="refused")
    assert confirms(without, message(*CALLS[:1]))
    assert not confirms(without, message(*CALLS))


@pytest.mark.parametrize(
    ("stderr", "same"),
    [
        ("Traceback\nopenai.error.TypeError: x, and y\n", True),
        ("file.js:3\n throw\nTypeError: x\n    at x\n", True),
        ("APIError [TypeError]: x\n", True),
        ("TypeError: y\n", False),
        ("ValueError: TypeErrors x\n", False),
        ("", False),
    ],
)
def test_a_refusal_is_an_error_of_its_type_and_message(stderr: str, same: bool) -> None:
    assert confirms(accused(error="TypeError: x", effect="refused"), printed("", stderr)) is same
    assert not confirms(accused(error="TypeError: x", effect="refused"), message(*CALLS))


@pytest.mark.parametrize(
    ("accusation", "right"),
    [
        (accused(calls=CALLS[:2], effect="lost"), message(*CALLS)),
        (accused("order", calls=CALLS[1::-1], effect="altered"), message(*CALLS[:2])),
        (accused("stop", expected="end_turn", got="max_tokens", effect="misreported"), stopped("stop")),
        (accused("usage", reason="input_tokens is 61", expected="61", got="8"), used({"input_tokens": 61})),
        (accused("incomplete", effect="misreported", reason="the stream broke"), stopped(None)),
        (accused(calls=CALLS[:1], error="TypeError: in the second request", effect="lost"), message(*CALLS)),
        (accused(error="TypeError: x", effect="refused"), message(*CALLS)),
        (accused(error="", effect="refused"), message(*CALLS)),
    ],
    ids=lambda item: item.verdict.check if isinstance(item, Accusation) else "",
)
def test_a_script_that_crashes_or_prints_what_is_right_confirms_nothing(accusation: Accusation, right: Output) -> None:
    crashed = printed("", "Traceback (most recent call last):\nRuntimeError: the stream is closed\n")
    assert not confirms(accusation, crashed)
    assert not confirms(accusation, printed("", "TypeError: in the second request\n"))
    assert not confirms(accusation, right)


@pytest.mark.parametrize(("word", "same"), [("length", True), ("stop", False), (None, False)])
def test_stop_words_are_compared_by_their_meaning(word: str | None, same: bool) -> None:
    accusation = accused("stop", expected="end_turn", got="max_tokens")
    assert confirms(accusation, printed(json_line({"stop": word}))) is same


@pytest.mark.parametrize(
    ("usage", "same"),
    [({"prompt_tokens": 8}, True), ({"inputTokens": 8}, True), ({"input_tokens": 61}, False), (None, False)],
)
def test_a_token_count_is_compared(usage: Any, same: bool) -> None:
    reason = "input_tokens is 61, but the answer has 8"
    for got in ("8", '{"input_tokens":8}'):
        accusation = accused("usage", reason=reason, expected="61", got=got)
        assert confirms(accusation, printed(json_line({"usage": usage}))) is same


@pytest.mark.parametrize(
    ("values", "same"),
    [
        ({"stop": "stop"}, True),
        ({"stop": None}, False),
        ({"stop": "stop", "complete": "interrupted"}, False),
        ({"answer": "no member for the end"}, True),
    ],
)
def test_a_break_is_visible_in_a_missing_stop_word_or_a_state(values: Any, same: bool) -> None:
    accusation = accused("incomplete", effect="misreported", reason="the stream broke, but nothing shows it")
    assert confirms(accusation, printed(json_line(values))) is same


def test_texts_are_compared() -> None:
    accusation = accused(reason="the subject claims text, but returns another text", expected="a", got="b")
    assert confirms(accusation, printed(json_line({"text": "b"})))
    assert confirms(accusation, printed(json_line({"text": [{"type": "text", "text": "b"}]})))
    assert not confirms(accusation, printed(json_line({"text": "a"})))


def test_chunks_are_added_up_by_index() -> None:
    chunks = [
        {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"name": "get_weather"}}]}},
        {"index": 0, "delta": {"tool_calls": [{"index": 1, "function": {"name": "list_events", "arguments": "{}"}}]}},
        {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"city":"Lisbon"}'}}]}},
    ]
    assert printed(json_line({"calls": chunks})).calls() == ['get_weather({"city":"Lisbon"})', "list_events({})"]


def test_calls_that_the_provider_ran_are_left_out() -> None:
    items = [
        {"type": "function_call", "call_id": "1", "name": "run", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": ""},
        {"type": "function_call", "call_id": "2", "name": "add", "arguments": "{}"},
    ]
    assert printed(json_line({"calls": items})).calls() == ["add({})"]


# Marks


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_the_lost_call_is_marked_and_no_other(mode: str) -> None:
    shown = reproduction(accused(mode=mode, calls=[CALLS[0], CALLS[2]], effect="lost"))
    assert shown.kind == "lost"
    assert "".join(shown.parts).encode() == shown.body
    marked = "".join(shown.parts[1::2])
    assert marked.startswith('"get_weather"')
    assert "Porto" in marked
    assert "Lisbon" not in marked
    assert "list_events" not in marked


def test_a_call_that_ran_and_must_not_is_marked() -> None:
    cut = accused(
        "incomplete", scenario="cut-call-that-parses", calls=['delete_rows({"table":"logs"})'], effect="executed"
    )
    shown = reproduction(cut)
    assert shown.kind == "unexpected"
    assert shown.parts[1] == '"delete_rows"'


def test_a_failure_that_is_not_about_calls_marks_nothing() -> None:
    shown = reproduction(accused("stop", calls=CALLS, effect="misreported"))
    assert (shown.kind, len(shown.parts)) == ("", 1)


# Consequences


@PAGE
def test_every_law_and_effect_of_the_published_failures_has_a_consequence() -> None:
    pairs = {(verdict.check, verdict.effect) for _, verdict in published().verdicts() if verdict.effect}
    assert [pair for pair in sorted(pairs) if pair[1] not in CONSEQUENCES[pair[0]]] == []


def test_consequences_are_sentences_of_known_laws_and_effects() -> None:
    assert CONSEQUENCES.keys() == LAWS.keys()
    for sentences in CONSEQUENCES.values():
        assert sentences.keys() <= EFFECTS.keys()
        assert all(sentence.endswith(".") and sentence[0].isupper() for sentence in sentences.values())
