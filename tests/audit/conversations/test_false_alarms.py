"""Differences that look like a defect and are none: each was seen in recorded traffic."""

from __future__ import annotations

import json
from typing import Any

from toolparity import normalize
from toolparity.audit.conversations.call_ids import is_drawn
from toolparity.conversations import ConversationAudit, ConversationReport, record
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import read_request

USER = {"role": "user", "content": "Is it dry?"}
TOOL: dict[str, Any] = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "dry"}]}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [USE]}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}"}


def audited(wire: Wire, *exchanges: tuple[dict[str, Any], str]) -> ConversationReport:
    audit = ConversationAudit()
    for number, (request, body) in enumerate(exchanges):
        audit.add(record(str(number), wire, read_request(request, wire), normalize(body, wire)))
    return audit.finish()


def asked_with(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, int]:
    """Return the findings about a conversation whose second request has other tools."""
    history = [USER, {"role": "assistant", "content": [USE]}, RESULT]
    response = {**MESSAGE, "stop_reason": "tool_use"}
    report = audited(
        "anthropic.messages",
        ({"model": "m", "messages": [USER], "tools": before}, json.dumps(response)),
        ({"model": "m", "messages": history, "tools": after}, json.dumps({**response, "content": []})),
    )
    assert report.wires["anthropic.messages"].linked == 1
    return report.wires["anthropic.messages"].findings


def test_tools_that_are_loaded_later_and_members_without_value_do_not_change_the_prompt_and_other_order_does() -> None:
    later, other = {**TOOL, "name": "g", "defer_loading": True}, {**TOOL, "name": "g"}
    hosted = {"type": "web_fetch_20250910", "name": "web_fetch"}
    for before, after, changed in (
        ([TOOL], [TOOL, later], False),
        ([TOOL], [TOOL, {**later, "defer_loading": False}], True),
        ([hosted], [{**hosted, "max_uses": None}], False),
        ([hosted], [{**hosted, "max_uses": 2}], True),
        ([TOOL, other], [TOOL, other], False),
        ([TOOL, other], [other, TOOL], True),
    ):
        assert asked_with(before, after) == ({"tools-changed": 1} if changed else {}), after


def reasoning(sealed: str) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed}


def test_reasoning_that_was_encrypted_again_is_not_lost() -> None:
    item, again = reasoning("gAAAA-item"), reasoning("gAAAA-again")
    answer: dict[str, Any] = {"object": "response", "status": "completed"}
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 1, "item": CALL},
        {"type": "response.completed", "response": answer | {"output": [again, CALL]}},
    ]
    stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    request = {"model": "m", "store": False}
    for sent, findings in (([item], {}), ([], {"reasoning-lost": 1})):
        history = [USER, *sent, CALL, {"type": "function_call_output", "call_id": "call_1", "output": "dry"}]
        report = audited(
            "openai.responses",
            (request | {"input": [USER]}, stream),
            (request | {"input": history}, json.dumps(answer | {"output": []})),
        )
        assert report.wires["openai.responses"].findings == findings


def test_reasoning_of_an_equal_call_of_another_session_is_not_lost() -> None:
    use = USE | {"id": "call_0"}
    signed = [{"type": "thinking", "thinking": "Hm.", "signature": "EqQBCkYIBRgCKkAsigned"}, use]
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_0", "content": "dry"}]}
    for system, findings in (("You help.", {"reasoning-lost": 1}), ("You search.", {"history-rewritten": 1})):
        history = [USER, {"role": "assistant", "content": [use]}, result]
        request = {"model": "m", "max_tokens": 9, "system": "You help.", "messages": [USER]}
        report = audited(
            "anthropic.messages",
            (request, json.dumps(MESSAGE | {"content": signed, "stop_reason": "tool_use"})),
            (request | {"system": system, "messages": history}, json.dumps(MESSAGE | {"id": "msg_2", "content": []})),
        )
        assert report.wires["anthropic.messages"].findings == findings


def test_ids_that_only_look_drawn_prove_nothing() -> None:
    drawn = "toolu_01A09q90qw90lq917835lq9 call_BjOwGgWvcqqtxtVBYWjhPRfu call_93815472 weather_4pv2zz9xez6x"
    other = "call_0 call_abc123 call_12345678 call_20251015 call_1730000001234 886313e1-3b8a-5372-9b90-0c9aee199e5d"
    assert [is_drawn(id) for id in f"{drawn} {other}".split()] == [True] * 4 + [False] * 6
    assert not is_drawn("functions.base64decode:0", "base64decode")
