"""Differences that look like a defect and are none: each was seen in recorded traffic."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolparity import normalize
from toolparity.conversations import ConversationAudit, ConversationReport, record
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import read_request

USER = {"role": "user", "content": "Is it dry?"}
TOOL: dict[str, Any] = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "dry"}]}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [USE],
    "stop_reason": "tool_use",
}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "f",
    "arguments": "{}",
    "status": "completed",
}


def audited(wire: Wire, *exchanges: tuple[dict[str, Any], str]) -> ConversationReport:
    audit = ConversationAudit()
    for number, (request, body) in enumerate(exchanges):
        audit.add(record(str(number), wire, read_request(request, wire), normalize(body, wire)))
    return audit.finish()


def asked_with(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, int]:
    """Return the findings about a conversation whose second request has other tools."""
    history = [USER, {"role": "assistant", "content": [USE]}, RESULT]
    report = audited(
        "anthropic.messages",
        ({"model": "m", "messages": [USER], "tools": before}, json.dumps(MESSAGE)),
        ({"model": "m", "messages": history, "tools": after}, json.dumps({**MESSAGE, "content": []})),
    )
    assert report.wires["anthropic.messages"].linked == 1
    return report.wires["anthropic.messages"].findings


def test_a_tool_that_the_provider_loads_later_does_not_change_the_prompt() -> None:
    later = {**TOOL, "name": "g", "defer_loading": True}
    assert asked_with([TOOL], [TOOL, later]) == {}
    assert asked_with([TOOL], [TOOL, {**later, "defer_loading": False}]) == {"tools-changed": 1}


def test_a_null_member_equals_an_absent_one() -> None:
    hosted = {"type": "web_fetch_20250910", "name": "web_fetch"}
    assert asked_with([hosted], [{**hosted, "max_uses": None}]) == {}
    assert asked_with([hosted], [{**hosted, "max_uses": 2}]) == {"tools-changed": 1}


def test_the_order_of_the_tools_is_a_part_of_the_prompt() -> None:
    other = {**TOOL, "name": "g"}
    assert asked_with([TOOL, other], [TOOL, other]) == {}
    assert asked_with([TOOL, other], [other, TOOL]) == {"tools-changed": 1}


def reasoning(sealed: str) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed}


@pytest.mark.parametrize(("sent", "findings"), [([reasoning("gAAAA-item")], {}), ([], {"reasoning-lost": 1})])
def test_reasoning_that_was_encrypted_again_is_not_lost(sent: list[dict[str, Any]], findings: dict[str, int]) -> None:
    events = [
        {"type": "response.output_item.done", "output_index": 0, "item": reasoning("gAAAA-item")},
        {"type": "response.output_item.done", "output_index": 1, "item": CALL},
        {
            "type": "response.completed",
            "response": {"object": "response", "status": "completed", "output": [reasoning("gAAAA-again"), CALL]},
        },
    ]
    stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    history = [USER, *sent, CALL, {"type": "function_call_output", "call_id": "call_1", "output": "dry"}]
    answer = {"object": "response", "status": "completed", "output": []}
    report = audited(
        "openai.responses",
        ({"model": "m", "input": [USER], "store": False}, stream),
        ({"model": "m", "input": history, "store": False}, json.dumps(answer)),
    )
    assert report.wires["openai.responses"].findings == findings
