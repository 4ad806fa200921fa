"""Generated traffic of cohere.chat."""

from __future__ import annotations

from typing import Any

from .calls import EVENTS, TEXT, Call, compact, expected, text_pieces, tokens


def _cohere_usage(output: int) -> dict[str, Any]:
    tokens = {"input_tokens": 1612, "output_tokens": output}
    return {"billed_units": {"input_tokens": 142, "output_tokens": output}, "tokens": tokens, "cached_tokens": 1440}


def _cohere_call(call: Call, arguments: str) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def body() -> bytes:
    """Return the body as Cohere sends it, compact."""
    calls = [_cohere_call(call, compact(call.arguments)) for call in expected("cohere.chat", False)]
    message = {"role": "assistant", "tool_plan": TEXT, "tool_calls": calls}
    id = "b7391518-e53e-4486-98ea-fabffcde31c2"
    return compact({"id": id, "message": message, "finish_reason": "TOOL_CALL", "usage": _cohere_usage(89)}).encode()


def stream() -> bytes:
    """Return the stream as Cohere sends it: named events, the plan first."""
    calls = expected("cohere.chat", True)
    pieces = [tokens(compact(call.arguments)) for call in calls]
    words = text_pieces(EVENTS - 2 - sum(2 + len(p) for p in pieces))
    events: list[dict[str, Any]] = [
        {
            "id": "ce257b09-c6da-4aed-b722-6384504180f5",
            **_cohere_event(
                "message-start", None, {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}
            ),
        }
    ]
    events += [_cohere_event("tool-plan-delta", None, {"tool_plan": word}) for word in words]
    for index, call in enumerate(calls):
        events.append(_cohere_event("tool-call-start", index, {"tool_calls": _cohere_call(call, "")}))
        for piece in pieces[index]:
            events.append(_cohere_event("tool-call-delta", index, {"tool_calls": {"function": {"arguments": piece}}}))
        events.append({"type": "tool-call-end", "index": index})
    events.append({"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": _cohere_usage(348)}})
    told = [f"event: {event['type']}\ndata: {compact(event)}\n\n" for event in events]
    return "".join([*told, "data: [DONE]\n\n"]).encode()


def _cohere_event(kind: str, index: int | None, message: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, **({} if index is None else {"index": index}), "delta": {"message": message}}
