"""Conversations written by hand: builders of bodies for three wires, and their audit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolparity import normalize
from toolparity.conversations import ConversationAudit, ConversationReport, record
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import read_request

Body = dict[str, Any]
Exchange = tuple[Body, Body]

QUESTION: Body = {"role": "user", "content": "Is it dry?"}
ONE, TWO, THREE = "call_a1B2c3D4", "call_e5F6g7H8", "call_i9J0k1L2"


def audited(wire: Wire, *exchanges: Exchange) -> ConversationReport:
    audit = ConversationAudit()
    for number, (request, response) in enumerate(exchanges):
        audit.add(record(str(number), wire, read_request(request, wire), normalize(json.dumps(response), wire)))
    return audit.finish()


def codes(report: ConversationReport) -> list[str]:
    return sorted(finding.code for finding in report.findings)


class Chat:
    """Builds bodies of `openai.chat`."""

    wire: Wire = "openai.chat"

    def request(self, *messages: Body, **params: Any) -> Body:
        return {"model": "m", "messages": list(messages), **params}

    def call(self, id: str, **arguments: Any) -> Body:
        return {"id": id, "type": "function", "function": {"name": "f", "arguments": json.dumps(arguments)}}

    def turn(self, *calls: Body) -> list[Body]:
        return [{"role": "assistant", "content": None, "tool_calls": list(calls)}]

    def result(self, id: str) -> Body:
        return {"role": "tool", "tool_call_id": id, "content": f"result of {id}"}

    def response(self, *choices: list[Body]) -> Body:
        made = [{"index": n, "message": c[0], "finish_reason": "tool_calls"} for n, c in enumerate(choices)]
        return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": made}


class Responses:
    """Builds bodies of `openai.responses`."""

    wire: Wire = "openai.responses"

    def request(self, *items: Body, **params: Any) -> Body:
        return {"model": "m", "input": list(items), **params}

    def call(self, id: str, **arguments: Any) -> Body:
        return {
            "type": "function_call",
            "id": id.replace("call", "fc"),
            "call_id": id,
            "name": "f",
            "arguments": json.dumps(arguments),
            "status": "completed",
        }

    def turn(self, *calls: Body) -> list[Body]:
        return list(calls)

    def result(self, id: str) -> Body:
        return {"type": "function_call_output", "call_id": id, "output": f"result of {id}"}

    def response(self, output: list[Body], id: str = "resp_a1B2c3D4") -> Body:
        return {"id": id, "object": "response", "status": "completed", "model": "m", "output": output}


class Messages:
    """Builds bodies of `anthropic.messages`."""

    wire: Wire = "anthropic.messages"

    def request(self, *messages: Body, **params: Any) -> Body:
        return {"model": "m", "max_tokens": 100, "messages": list(messages), **params}

    def call(self, id: str, **arguments: Any) -> Body:
        return {"type": "tool_use", "id": id, "name": "f", "input": arguments}

    def turn(self, *calls: Body) -> list[Body]:
        return [{"role": "assistant", "content": list(calls)}]

    def result(self, id: str) -> Body:
        content = f"result of {id}"
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]}

    def response(self, turn: list[Body]) -> Body:
        return {"id": "msg_1", "type": "message", "model": "m", "stop_reason": "tool_use", **turn[0]}


WIRES: list[Chat | Responses | Messages] = [Chat(), Responses(), Messages()]
CHAT, RESPONSES = Chat(), Responses()
on_every_wire = pytest.mark.parametrize("bodies", WIRES, ids=lambda bodies: bodies.wire)
