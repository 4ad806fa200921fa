"""The scripts that repeat failures without the suite, and the marks in the responses that they send."""

from __future__ import annotations

import ast
import json
import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from docs.generate import confirm
from tests.support.published import published, shortest
from toolparity.conformance.answer import AnsweredCall
from toolparity.conformance.laws import LAWS, SERVER_LAWS
from toolparity.conformance.laws.consequences import CONSEQUENCES
from toolparity.conformance.reproductions import Accusation, confirmation, reproduction
from toolparity.conformance.reproductions.code import Ask
from toolparity.conformance.reproductions.comparison import confirms
from toolparity.conformance.reproductions.libraries import LIBRARIES
from toolparity.conformance.reproductions.output import Output
from toolparity.conformance.reproductions.running import command, run
from toolparity.conformance.reproductions.same import same_calls
from toolparity.conformance.reproductions.script import COLUMNS, LINES
from toolparity.conformance.reproductions.topics import ENTRIES
from toolparity.conformance.subjects import SUBJECTS, environments, role_of
from toolparity.conformance.subjects import subject as sdk
from toolparity.conformance.subjects.peers import PEERS
from toolparity.reports.results import EFFECTS, Result, SubjectReport, Verdict, brief

#: A test that reads the published results.
PAGE = pytest.mark.page("reports/published", "conformance/reproductions", "conformance/laws/consequences.py")
#: The official SDKs.
SDKS = [name for name in SUBJECTS if role_of(name) == "implementation"]


def found(*subjects: str) -> list[Accusation]:
    """The shortest published cases, of these subjects or of all."""
    return [one for one in shortest() if not subjects or one.result.subject in subjects]


def accused(
    law: str = "conservation",
    *,
    place: Sequence[str] = ("openai-sdk", "parallel-three", "openai.chat", "plain"),
    calls: Sequence[str] = (),
    error: str = "",
    reason: str = "it broke",
    **members: Any,
) -> Accusation:
    """A failure that a library does not have. The response of the scenario has three calls."""
    subject, scenario, surface, mode = place
    verdict = Verdict(law, "fail", reason, **members)
    report = SubjectReport(list(calls), error=error)
    return Accusation(Result(subject, scenario, surface, mode, "all", [verdict], [report]), verdict, "1.0")


CALLS = ['get_weather({"city":"Lisbon"})', 'get_weather({"city":"Porto"})', 'list_events({"day":"tomorrow"})']


# Scripts


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


def test_the_server_of_a_script_sends_the_status_and_the_type_of_the_response() -> None:
    for wire, stream, status, type in (
        ("openai.chat", True, 200, "text/event-stream"),
        ("openai.chat", False, 200, "application/json"),
        ("openai.chat", True, 429, "application/json"),
        ("ollama.chat", True, 200, "application/x-ndjson"),
        ("ollama.chat", False, 200, "application/json"),
        ("bedrock.converse", True, 200, "application/vnd.amazon.eventstream"),
    ):
        assert Ask(wire, "openai", stream, [], status).content_type == type  # type: ignore[arg-type]


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
def test_the_code_of_an_sdk_without_published_failures_is_short_and_prints_the_calls(
    subject: str, mode: str, tmp_path: Path
) -> None:
    for one in UNACCUSED:
        for text in (three_calls(one, each).script.text for each in ("plain", "stream")):
            assert_short(text)
            ast.parse(text)
    output = run(three_calls(subject, mode), tmp_path)
    assert (output.error, same_calls(output.calls(), CALLS)) == ("", True)


# Comparison


def printed(value: Any, error: str = "") -> Output:
    """The output of a script that printed a JSON value."""
    return Output(f"{json.dumps(value)}\n", error)


def message(*texts: str, error: str = "") -> Output:
    """The output of a script that printed a message with these calls on `openai.chat`."""
    split = [text.removesuffix(")").partition("(") for text in texts]
    calls = [{"id": "1", "function": {"name": name, "arguments": arguments}} for name, _, arguments in split]
    return printed({"calls": [{"tool_calls": calls}]}, error)


FIRST, SECOND, THIRD = CALLS
LONG = f'save({{"text": "{"a" * 90}"}})'
TWO, ORDER = accused(calls=CALLS[:2]), accused("order", calls=[SECOND, FIRST])
REFUSED = accused(error="TypeError: x", effect="refused")
ONE_AND_ERROR = accused(calls=[FIRST], error="TypeError: x", effect="refused")
STOP, COUNT = accused("stop", expected="end_turn", got="max_tokens"), "input_tokens is 61, but the answer has 8"
USAGE = [accused("usage", reason=COUNT, expected="61", got=got) for got in ("8", '{"input_tokens":8}')]
BREAK = accused("incomplete", effect="misreported", reason="the stream broke, but nothing shows it")
TEXT = accused(reason="the subject claims text, but returns another text", expected="a", got="b")

#: Failure -> the outputs of its script that confirm it, and those that do not.
CONFIRMED: list[tuple[Accusation, list[Output], list[Output]]] = [
    (TWO, [message(FIRST, SECOND), message(SECOND, FIRST)], [message(*CALLS), message(FIRST), message()]),
    (ORDER, [message(SECOND, FIRST)], [message(FIRST, SECOND)]),
    (accused(calls=[FIRST]), [message('get_weather({"city": "Lisbon"})')], [message(SECOND)]),
    (accused(calls=[f"{LONG[:40]}...)"]), [message(LONG)], [message(f"{LONG[:39]}b{LONG[40:]}")]),
    (
        ONE_AND_ERROR,
        [message(FIRST, error="TypeError: x\n    at file.js\n")],
        [message(*CALLS, error="TypeError: x\n")],
    ),
    (accused(calls=[FIRST], effect="refused"), [message(FIRST)], [message(*CALLS)]),
    (
        REFUSED,
        [
            Output("", "Traceback\nopenai.error.TypeError: x, and y\n"),
            Output("", "file.js:3\n throw\nTypeError: x\n    at x\n"),
            Output("", "APIError [TypeError]: x\n"),
        ],
        [Output("", error) for error in ("TypeError: y\n", "ValueError: TypeErrors x\n", "")] + [message(*CALLS)],
    ),
    (accused(error="", effect="refused"), [], [message(*CALLS)]),
    (accused(calls=[FIRST], error="TypeError: in the second request", effect="lost"), [], [message(*CALLS)]),
    (STOP, [printed({"stop": "length"})], [printed({"stop": "stop"}), printed({"stop": None})]),
    *(
        (
            usage,
            [printed({"usage": {"prompt_tokens": 8}}), printed({"usage": {"inputTokens": 8}})],
            [printed({"usage": {"input_tokens": 61}}), printed({"usage": None})],
        )
        for usage in USAGE
    ),
    (
        BREAK,
        [printed({"stop": "stop"}), printed({"answer": "no member for the end"})],
        [printed({"stop": None}), printed({"stop": "stop", "complete": "interrupted"})],
    ),
    (TEXT, [printed({"text": "b"}), printed({"text": [{"type": "text", "text": "b"}]})], [printed({"text": "a"})]),
]


@pytest.mark.parametrize(("accusation", "shown", "others"), CONFIRMED)
def test_only_the_output_of_the_failure_confirms_it(
    accusation: Accusation, shown: list[Output], others: list[Output]
) -> None:
    crashed = Output("", "Traceback (most recent call last):\nRuntimeError: the stream is closed\n")
    assert [confirms(accusation, output) for output in shown] == [True] * len(shown)
    assert [confirms(accusation, output) for output in (*others, crashed)] == [False] * (len(others) + 1)


def test_the_calls_of_an_output_are_read_from_messages_chunks_and_items() -> None:
    chunks = [
        {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"name": "get_weather"}}]}},
        {"index": 0, "delta": {"tool_calls": [{"index": 1, "function": {"name": "list_events", "arguments": "{}"}}]}},
        {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"city":"Lisbon"}'}}]}},
    ]
    assert printed({"calls": chunks}).calls() == [FIRST, "list_events({})"]
    items = [
        {"type": "function_call", "call_id": "1", "name": "run", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": ""},
        {"type": "function_call", "call_id": "2", "name": "add", "arguments": "{}"},
    ]
    assert printed({"calls": items}).calls() == ["add({})"], "the provider ran the first one"
    values = [["set_level", {"level": math.nan}], ["set_level", {"level": None}]]
    assert printed({"calls": values}).calls() == ['set_level({"level":NaN})', 'set_level({"level":null})']
    assert str(AnsweredCall("set_level", arguments={"level": math.inf})) == 'set_level({"level":Infinity})'
    assert brief({"level": [math.nan, None]}) == '{"level":[NaN,null]}'


# Marks


def test_a_lost_or_unexpected_call_is_marked_and_no_other() -> None:
    for mode in ("plain", "stream"):
        place = ("openai-sdk", "parallel-three", "openai.chat", mode)
        shown = reproduction(accused(place=place, calls=[FIRST, THIRD], effect="lost"))
        assert (shown.kind, "".join(shown.parts).encode()) == ("lost", shown.body)
        marked = "".join(shown.parts[1::2])
        assert marked.startswith('"get_weather"')
        assert [name in marked for name in ("Porto", "Lisbon", "list_events")] == [True, False, False]
    place = ("openai-sdk", "cut-call-that-parses", "openai.chat", "plain")
    deleted = ['delete_rows({"table":"logs"})']
    ran = reproduction(accused("incomplete", place=place, calls=deleted, effect="executed"))
    assert (ran.kind, ran.parts[1]) == ("unexpected", '"delete_rows"')
    stop = reproduction(accused("stop", calls=CALLS, effect="misreported"))
    assert (stop.kind, len(stop.parts)) == ("", 1)


# Consequences


@PAGE
def test_every_law_and_effect_of_the_published_failures_has_a_consequence() -> None:
    pairs = {(verdict.check, verdict.effect) for _, verdict in published().verdicts() if verdict.effect}
    assert [pair for pair in sorted(pairs) if pair[1] not in CONSEQUENCES[pair[0]]] == []


def test_every_implementation_has_code_and_every_law_its_consequences_in_sentences() -> None:
    assert LIBRARIES.keys() == {*PEERS, *SDKS}
    assert command("openai-sdk") == [sys.executable, "-I"], "it does not import from the folder of the caller"
    assert CONSEQUENCES.keys() == {*LAWS, *SERVER_LAWS}
    for sentences in CONSEQUENCES.values():
        assert sentences.keys() <= EFFECTS.keys()
        assert all(sentence.endswith(".") and sentence[0].isupper() for sentence in sentences.values())


# The program that runs the scripts and records what they confirm


def of_library(name: str, law: str = "order") -> Accusation:
    return accused(law, place=(name, "parallel-three", "openai.chat", "plain"))


def test_a_library_that_is_not_installed_is_not_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")
    assert confirm.outcome(of_library("litellm")) == ("not installed", "")


def test_a_recording_replaces_the_accusations_of_the_same_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "confirmed.json"
    path.write_text("[]")
    monkeypatch.setattr(confirmation, "RECORD", path)
    confirm.record([of_library("b"), of_library("a"), of_library("a")])
    confirm.record([of_library("b", "stop")])
    entries = [(entry["subject"], entry["law"]) for entry in json.loads(path.read_bytes())]
    assert entries == [("a", "order"), ("b", "stop")]
