"""Request rules of Ollama: each finds its violation, and no recorded request that was accepted violates one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.normalizer.recorded.rows import accepted
from toolparity.normalizer.requests import check_request
from toolparity.normalizer.wires.ollama_chat.rules import RULES

WIRE = "ollama.chat"
FUNCTION = {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}


def said(**members: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "x", **members}]}


def called(call: Any) -> dict[str, Any]:
    return said(role="assistant", tool_calls=[call])


def offered(**parameters: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {**FUNCTION, "parameters": parameters}}]}


#: Rule -> members that violate it, and members that do not.
CASES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "model-present": ([{"model": ""}, {"model": None}], [{}]),
    "message-object": ([{"messages": ["x"]}], [{"messages": []}]),
    "content-text": ([said(content=[{"type": "text", "text": "x"}])], [said(content=None), said(content="")]),
    "message-texts": ([said(tool_name=1), said(thinking=[])], [said(tool_name="f")]),
    "image-base64": ([said(images=["data:image/png;base64,AAAA"]), said(images=[1])], [said(images=["AAAA"])]),
    "call-function": ([called({"id": "a"}), called("f")], [called({"function": {"name": "f", "arguments": {}}})]),
    "arguments-object": (
        [called({"function": {"name": "f", "arguments": "{}"}}), called({"function": {"name": "f", "arguments": []}})],
        [called({"function": {"name": "f", "arguments": {}}}), called({"function": {"name": "f"}})],
    ),
    "tool-types": ([offered(type="object", properties=[]), offered(type=["object"])], [{"tools": [{}]}, offered()]),
    "format-invalid": ([{"format": "xml"}, {"format": []}], [{"format": "json"}, {"format": ""}, {"format": {}}]),
    "think-invalid": ([{"think": "deep"}, {"think": 1}], [{"think": True}, {"think": "low"}]),
    "keep-alive-invalid": (
        [{"keep_alive": "soon"}, {"keep_alive": True}],
        [{"keep_alive": "1h30m"}, {"keep_alive": -1}, {"keep_alive": "0"}, {"keep_alive": None}],
    ),
    "stream-boolean": ([{"stream": "true"}], [{"stream": False}]),
    "logprobs-range": ([{"top_logprobs": 21}], [{"top_logprobs": 0}]),
    "options-object": ([{"options": []}], [{"options": {}}]),
    "option-number": (
        [{"options": {"num_ctx": "4096"}}, {"options": {"temperature": True}}],
        [{"options": {"num_ctx": 4096, "seed": None, "unknown": "x"}}],
    ),
    "option-stop": ([{"options": {"stop": "END"}}, {"options": {"stop": [1]}}], [{"options": {"stop": ["END"]}}]),
}


def found(members: dict[str, Any]) -> list[str]:
    return [violation.rule for violation in check_request({"model": "m", "messages": [], **members}, WIRE)]


def test_every_rule_has_a_case() -> None:
    assert {rule.id for rule in RULES} == CASES.keys()


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_finds_what_violates_it_and_nothing_else(rule: str) -> None:
    violating, legal = CASES[rule]
    assert [found(members) for members in violating] == [[rule]] * len(violating)
    assert [found(members) for members in legal] == [[]] * len(legal)


@pytest.mark.parametrize("body", [None, [], {}, {"messages": 1}, {"messages": [[], {"tool_calls": 1}], "tools": {}}])
def test_rules_never_raise(body: Any) -> None:
    check_request(body, WIRE)


def test_no_recorded_request_that_was_accepted_violates_a_rule(
    recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = accepted(recordings, WIRE)
    assert [row.id for row in taken if check_request(row.request, WIRE)] == []
    with capsys.disabled():
        print(f"\n{WIRE}: {len(taken)} accepted requests keep the rules")
    assert len(taken) >= 15
