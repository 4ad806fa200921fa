"""Scenario files: each is read, its bodies are its own, and a wrong word or expectation is found."""

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


def test_no_two_scenarios_have_the_same_bodies_or_title() -> None:
    assert len(WRITTEN) >= 100
    bodies = Counter((body.surface, one.file.ask, body.data) for one in WRITTEN.values() for body in one.file.bodies)
    kinds = Counter((id, body.surface, body.stream) for id, one in WRITTEN.items() for body in one.file.bodies)
    titles = Counter(one.file.title for one in ALL.values())
    assert [one for counted in (bodies, kinds, titles) for one, count in counted.items() if count > 1] == []


def test_every_body_file_belongs_to_a_scenario() -> None:
    named = {body.file for one in WRITTEN.values() for body in one.file.bodies if body.file}
    assert {f"bodies/{path.name}" for path in (ROOT / "cassettes/scenarios/bodies").iterdir()} == named


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


def test_an_invalid_scenario_file_is_refused_with_its_id(tmp_path: Path) -> None:
    for text in WRONG.values():
        with pytest.raises(InvalidScenario, match="case"):
            reading(tmp_path, text)


def test_an_exception_counts_for_its_surface_and_mode_alone(tmp_path: Path) -> None:
    text = 'title = "t"\n[expected]\nstop = "tool_calls"\n[exceptions."openai.chat/stream"]\nstop = "end_turn"\n' + BODY
    found = reading(tmp_path, text + BODY.replace("text", "stream = true\ntext"))
    assert [found.expected("openai.chat", 0, stream=stream).stop for stream in (False, True)] == [
        "tool_calls",
        "end_turn",
    ]


# What is expected


CALLS = [
    ExpectedCall("a", {}),
    ExpectedCall("b", None, "{", "truncated"),
    ExpectedCall("c", {}),
    ExpectedCall("d", {}, choice=1),
]


def test_a_policy_splits_what_can_run_and_other_choices_are_dropped() -> None:
    for policy, limit, kept, dropped in (
        ("all", None, [0, 2], [3]),
        ("first", None, [0], [2, 3]),
        ("batch", 1, [0], [2, 3]),
        ("all", 0, [], [0, 2, 3]),
    ):
        split = Expected(calls=CALLS, stop="tool_calls").select(policy, limit)
        assert (split.kept, split.dropped, split.rejected) == (kept, dropped, [1])
    for end in ({"complete": False}, {"failed": True}, {"stop": "refusal"}, {"stop": "error"}):
        split = replace(Expected(calls=CALLS), **end).select("all")
        assert (split.kept, split.dropped, split.rejected) == ([], [], [0, 1, 2, 3]), end


def test_values_are_compared_as_json_has_them() -> None:
    assert json_equal({"a": [1, 2.0, None]}, {"a": [1.0, 2, None]})
    large = 100000000000000000000
    for one, other in ((1, True), ([0], [False]), (1, "1"), (large + 1, large)):
        assert not json_equal({"a": one}, {"a": other})
    assert not json_equal({}, {"a": None})


def test_arguments_that_toml_cannot_express_are_written_as_json(tmp_path: Path) -> None:
    calls = 'calls = [{ name = "f", json = \'{"a":null,"b":"\\ud800"}\' }]\n'
    found = reading(tmp_path, f'title = "t"\n[expected]\n{calls}{BODY}')
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
    """The verdicts on the reference where the scenario expects something else than it should."""
    file = ALL[id].file
    assert file.expected is not None
    wrong = replace(ALL[id], file=replace(file, expected=replace(file.expected, **changed)))
    monkeypatch.setattr(judge, "scenarios", lambda: {id: wrong})
    tested = Judge(Reference(), twice=False)
    for case in CaseFilter((id,), wires=(surface,), modes=(mode,), policies=("all",)).cases():
        yield from tested.result(case).verdicts


OTHER, PAID = ExpectedCall("get_weather", {"city": "Faro"}), ExpectedCall("pay_bill", {"bill": "2026-03"}, id="call_x")
SPACED = ExpectedCall("search_law", {"query": "tax"}, '{"query": "tax"}')
CHAT, RESPONSES, ANTHROPIC, XAI = "openai.chat", "openai.responses", "anthropic.messages", "xai.grpc"
#: Scenario, wire, mode, the wrong expectation, and the law that fails.
CONTRADICTIONS: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("text-then-two-calls", CHAT, "plain", {"calls": [OTHER]}, "conservation"),
    ("id-after-the-name", CHAT, "stream", {"calls": [PAID]}, "conservation"),
    ("sparse-indexes", CHAT, "stream", {"findings": ["id-missing"]}, "conservation"),
    ("looks-finished-early", CHAT, "stream", {"calls": [SPACED]}, "arguments"),
    ("stop-beside-a-call", CHAT, "plain", {"stop": "end_turn"}, "stop"),
    ("error-after-a-whole-call", CHAT, "stream", {"retryable": False}, "stop"),
    ("stop-sequence", ANTHROPIC, "stream", {"complete": False}, "incomplete"),
    ("code-execution", XAI, "plain", {"servers": ["web_search"]}, "server-side"),
    ("approval-asked", RESPONSES, "plain", {"approvals": ["other"]}, "server-side"),
    ("unknown-block", ANTHROPIC, "plain", {"opaque": ["other"]}, "unknown"),
    ("figures-first", XAI, "stream", {"usage": {"input_tokens": 1}}, "usage"),
    ("native-ids", CHAT, "plain", {"back": ["functions.other:0"]}, "replay"),
    ("text-around-calls", XAI, "plain", {"text": "Other words."}, "handoff"),
    ("item-id-beside-call-id", RESPONSES, "plain", {"calls": []}, "conservation"),
]


def test_an_expectation_that_contradicts_its_bodies_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    for id, surface, mode, changed, law in CONTRADICTIONS:
        failed = {one.check for one in judged(monkeypatch, id, surface, mode, **changed) if one.outcome == "fail"}
        assert law in failed, id
        assert {one.outcome for one in judged(monkeypatch, id, surface, mode)} == {"pass"}, id
