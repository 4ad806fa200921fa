"""Scenarios are data that says what it means: each file is read, its bodies are its own, and a wrong word is found."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from toolparity.cassettes.errors import InvalidScenario
from toolparity.cassettes.scripts import read
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.cases import scenarios, traffic
from toolparity.conformance.cases.expected import Expected, ExpectedCall
from toolparity.conformance.cases.scenarios import Scenario, scenario
from toolparity.conformance.laws.matching import json_equal
from toolparity.conformance.oracle import oracle
from toolparity.conformance.runner import judge
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.subjects.reference import Reference
from toolparity.normalizer.requests import check_request
from toolparity.reports.results import Verdict

ROOT = Path(__file__).resolve().parents[2]
ALL = scenarios.scenarios()
WRITTEN = {id: one for id, one in ALL.items() if one.script is None}
ASKING = [(id, name) for id, one in WRITTEN.items() if one.file.ask for name in one.surfaces]


def test_there_are_as_many_scenarios_as_the_suite_promises() -> None:
    assert len(ALL) >= 150
    assert len(WRITTEN) >= 100


def test_no_two_scenarios_show_the_same_bodies_or_bear_the_same_title() -> None:
    bodies = Counter((body.surface, one.file.ask, body.data) for one in WRITTEN.values() for body in one.file.bodies)
    assert [body for body, count in bodies.items() if count > 1] == []
    titles = Counter(one.file.title for one in ALL.values())
    assert [title for title, count in titles.items() if count > 1] == []


def test_no_surface_has_two_bodies_of_one_kind() -> None:
    for id, one in WRITTEN.items():
        kinds = Counter((body.surface, body.stream) for body in one.file.bodies)
        assert max(kinds.values()) == 1, id


def test_every_body_file_belongs_to_a_scenario() -> None:
    told = {body.file for one in WRITTEN.values() for body in one.file.bodies if body.file}
    there = {f"bodies/{path.name}" for path in (ROOT / "cassettes/scenarios/bodies").iterdir()}
    assert there == told


@pytest.mark.thorough(keep=60)
@pytest.mark.parametrize(("id", "surface"), ASKING)
def test_the_request_made_for_a_scenario_is_one_that_its_provider_takes(id: str, surface: str) -> None:
    found = SURFACES[surface]
    for stream in (False, True):
        file = WRITTEN[id].file
        body = oracle(found.wire).request_body(file.ask, file.tools, found.model, stream=stream)
        assert check_request(body, found.wire, provider=found.provider) == []


# Invalid scenario files


def reading(tmp_path: Path, text: str) -> Scenario:
    file = tmp_path / "case.toml"
    file.write_text(text, "utf-8")
    return scenario("case", read(file))


BODY = "\n[[bodies]]\nsurface = \"openai.chat\"\ntext = '{}'\n"
WRONG = {
    "no TOML": "title = ",
    "an unknown member": 'title = "t"\nguard = []\n[expected]\n' + BODY,
    "neither bodies nor a script": 'title = "t"\n',
    "bodies and a script": 'title = "t"\n[expected]\n[[rounds]]\nask = "Hi?"\nparts = []\n' + BODY,
    "a script and an expected result": 'title = "t"\n[expected]\n[[rounds]]\nask = "Hi?"\nfault = { kind = "cut" }\n',
    "a script without an ask": 'title = "t"\n[[rounds]]\nparts = []\n',
    "bodies and nothing expected": 'title = "t"\n' + BODY,
    "text and file": 'title = "t"\n[expected]\n' + BODY + 'file = "x"\n',
    "an unknown surface": 'title = "t"\n[expected]\n' + BODY.replace("openai.chat", "openai.fax"),
    "continues without an ask": 'title = "t"\ncontinues = true\n[expected]\n' + BODY,
    "an exception for another surface": 'title = "t"\n[expected]\n[exceptions."xai.grpc"]\nstop = "x"\n' + BODY,
    "an exception that nothing is": 'title = "t"\n[expected]\n[exceptions."openai.chat"]\nend = "x"\n' + BODY,
    "arguments that are no JSON": 'title = "t"\n[expected]\ncalls = [{ name = "f", json = "{" }]\n' + BODY,
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_an_invalid_scenario_file_is_refused_with_its_id(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidScenario, match="case"):
        reading(tmp_path, text)


def test_an_exception_counts_for_its_surface_and_mode_alone(tmp_path: Path) -> None:
    text = 'title = "t"\n[expected]\nstop = "tool_calls"\n[exceptions."openai.chat/stream"]\nstop = "end_turn"\n' + BODY
    found = reading(tmp_path, text + BODY.replace("text", "stream = true\ntext"))
    assert [found.expected("openai.chat", 0, stream=stream).stop for stream in (False, True)] == [
        "tool_calls",
        "end_turn",
    ]


def test_parsed_answers_are_not_asked_for_the_spelling_of_arguments() -> None:
    found = ALL["interleaved-fragments"]
    plain, streamed = (found.expected("anthropic.messages", 0, stream=stream).calls[0].text for stream in (False, True))
    assert (plain, streamed) == (None, '{"from":"A1","to":"B2","pieces":3}')


# What is expected


CALLS = [
    ExpectedCall("a", {}),
    ExpectedCall("b", None, "{", "truncated"),
    ExpectedCall("c", {}),
    ExpectedCall("d", {}, choice=1),
]


@pytest.mark.parametrize(
    ("policy", "limit", "kept", "dropped"),
    [("all", None, [0, 2], [3]), ("first", None, [0], [2, 3]), ("batch", 1, [0], [2, 3]), ("all", 0, [], [0, 2, 3])],
)
def test_a_policy_splits_what_can_run_and_other_choices_are_dropped(
    policy: str, limit: int | None, kept: list[int], dropped: list[int]
) -> None:
    split = Expected(calls=CALLS, stop="tool_calls").select(policy, limit)
    assert (split.kept, split.dropped, split.rejected) == (kept, dropped, [1])


@pytest.mark.parametrize("dead", [{"complete": False}, {"failed": True}, {"stop": "refusal"}, {"stop": "error"}])
def test_of_an_answer_that_did_not_come_to_its_end_everything_is_rejected(dead: dict[str, Any]) -> None:
    split = replace(Expected(calls=CALLS), **dead).select("all")
    assert (split.kept, split.dropped, split.rejected) == ([], [], [0, 1, 2, 3])


def test_values_are_compared_as_json_has_them() -> None:
    assert json_equal({"a": [1, 2.0, None]}, {"a": [1.0, 2, None]})
    assert not json_equal({"a": 1}, {"a": True})
    assert not json_equal({"a": [0]}, {"a": [False]})
    assert not json_equal({"a": 1}, {"a": "1"})
    assert not json_equal({"a": 100000000000000000001}, {"a": 100000000000000000000})
    assert not json_equal({}, {"a": None})


def test_arguments_that_toml_cannot_say_are_told_as_json(tmp_path: Path) -> None:
    found = reading(
        tmp_path, 'title = "t"\n[expected]\ncalls = [{ name = "f", json = \'{"a":null,"b":"\\ud800"}\' }]\n' + BODY
    )
    assert found.expected("openai.chat", 0, stream=False).calls[0].arguments == {"a": None, "b": "\ud800"}


# What is on the wire


def test_messages_of_grpc_are_written_as_json_or_base64(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    as_json = '{"id":"r1","outputs":[{"delta":{"content":"hi"},"finish_reason":"REASON_STOP"}]}'
    as_base64 = base64.b64encode(b"\x0a\x02r1").decode()
    text = f'title = "t"\n[expected]\n[[bodies]]\nsurface = "xai.grpc"\nstream = true\ntext = \'\'\'\n{as_json}\n'
    found = reading(tmp_path, text + f"{as_base64}\n'''\n")
    monkeypatch.setattr(traffic, "scenarios", lambda: {"case": found})
    (answered,) = traffic.responses.__wrapped__("case", "xai.grpc", "stream")
    assert len(answered.pieces) == 2
    assert answered.pieces[0].startswith(b"\x0a\x02r1\x12")
    assert answered.pieces[1] == b"\x0a\x02r1"


# A wrong expectation is found, law by law


def judged(monkeypatch: pytest.MonkeyPatch, id: str, surface: str, mode: str, **changed: Any) -> Iterator[Verdict]:
    """What the laws say of the reference where the scenario expects something else than it should."""
    file = ALL[id].file
    assert file.expected is not None
    wrong = replace(ALL[id], file=replace(file, expected=replace(file.expected, **changed)))
    monkeypatch.setattr(judge, "scenarios", lambda: {id: wrong})
    tested = Judge(Reference(), twice=False)
    for case in CaseFilter((id,), wires=(surface,), modes=(mode,), policies=("all",)).cases():
        yield from tested.result(case).verdicts


BLANK = ExpectedCall("get_weather", {"city": "Faro"})
CONTRADICTIONS: dict[str, tuple[str, str, str, dict[str, Any], str]] = {
    "a call more": ("text-then-two-calls", "openai.chat", "plain", {"calls": [BLANK]}, "conservation"),
    "another id": (
        "id-after-the-name",
        "openai.chat",
        "stream",
        {"calls": [ExpectedCall("pay_bill", {"bill": "2026-03"}, id="call_x")]},
        "conservation",
    ),
    "an oddity that is none": ("sparse-indexes", "openai.chat", "stream", {"findings": ["id-missing"]}, "conservation"),
    "another spelling": (
        "looks-finished-early",
        "openai.chat",
        "stream",
        {"calls": [ExpectedCall("search_law", {"query": "tax"}, '{"query": "tax"}')]},
        "arguments",
    ),
    "another end": ("stop-beside-a-call", "openai.chat", "plain", {"stop": "end_turn"}, "stop"),
    "no need to ask again": ("error-after-a-whole-call", "openai.chat", "stream", {"retryable": False}, "stop"),
    "a break that is not there": ("stop-sequence", "anthropic.messages", "stream", {"complete": False}, "incomplete"),
    "another tool of the provider": ("code-execution", "xai.grpc", "plain", {"servers": ["web_search"]}, "server-side"),
    "an approval that nobody asked for": (
        "approval-asked",
        "openai.responses",
        "plain",
        {"approvals": ["other"]},
        "server-side",
    ),
    "another unknown block": ("unknown-block", "anthropic.messages", "plain", {"opaque": ["other"]}, "unknown"),
    "other figures": ("figures-first", "xai.grpc", "stream", {"usage": {"input_tokens": 1}}, "usage"),
    "something that did not go back": ("native-ids", "openai.chat", "plain", {"back": ["functions.other:0"]}, "replay"),
    "words that were not said": ("text-around-calls", "xai.grpc", "plain", {"text": "Other words."}, "handoff"),
    "a result that was never given": (
        "item-id-beside-call-id",
        "openai.responses",
        "plain",
        {"calls": []},
        "conservation",
    ),
}


@pytest.mark.parametrize("contradiction", CONTRADICTIONS)
def test_an_expectation_that_contradicts_its_bodies_fails(contradiction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    id, surface, mode, changed, law = CONTRADICTIONS[contradiction]
    assert law in {v.check for v in judged(monkeypatch, id, surface, mode, **changed) if v.outcome == "fail"}


def test_the_same_without_the_contradiction_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    for id, surface, mode, _, _ in CONTRADICTIONS.values():
        assert {verdict.outcome for verdict in judged(monkeypatch, id, surface, mode)} == {"pass"}
