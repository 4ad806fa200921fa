"""Generated traffic of google.interactions."""

from __future__ import annotations

from typing import Any

from .calls import EVENTS, TEXT, Call, compact, expected, text_pieces, tokens


def _interaction(status: str, **more: Any) -> dict[str, Any]:
    id = "v1_Chd0TmNFYXVEWFBLNmRxdHNQX08tZjBBcxIXdE5jRWF1RFhQSzZkcXRzUF9PLWYwQXM"
    return {"id": id, "status": status, **more, "object": "interaction", "model": "gemini-3-flash-preview"}


def _interaction_end(output: int) -> dict[str, Any]:
    usage = {
        "total_tokens": 612 + output,
        "total_input_tokens": 612,
        "input_tokens_by_modality": [{"modality": "text", "tokens": 612}],
        "total_cached_tokens": 0,
        "total_output_tokens": output,
        "total_tool_use_tokens": 0,
        "total_thought_tokens": 0,
    }
    dates = {"created": "2026-05-13T19:57:40Z", "updated": "2026-05-13T19:57:40Z", "service_tier": "standard"}
    return _interaction("requires_action", usage=usage, **dates)


def _call_step(call: Call, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"id": call.id, "type": "function_call", "name": call.name, "arguments": arguments}


def body() -> bytes:
    """Return the body as Google sends it, compact."""
    steps: list[Any] = [{"content": [{"text": TEXT, "type": "text"}], "type": "model_output"}]
    steps += [_call_step(call, call.arguments) for call in expected("google.interactions", False)]
    return compact({**_interaction_end(148), "steps": steps}).encode()


def stream() -> bytes:
    """Return the stream as Google sends it: events with the name of their type, which is also their last member."""
    calls = expected("google.interactions", True)
    pieces = [tokens(compact(call.arguments)) for call in calls]
    words = text_pieces(EVENTS - 5 - sum(2 + len(p) for p in pieces))
    begun = _interaction("in_progress")
    events: list[tuple[str, dict[str, Any]]] = [
        ("interaction.created", {"interaction": begun}),
        ("interaction.status_update", {"interaction_id": begun["id"], "status": "in_progress"}),
        ("step.start", {"index": 0, "step": {"type": "model_output"}}),
    ]
    events += [("step.delta", {"index": 0, "delta": {"text": word, "type": "text"}}) for word in words]
    events.append(("step.stop", {"index": 0}))
    for index, call in enumerate(calls, start=1):
        events.append(("step.start", {"index": index, "step": _call_step(call, {})}))
        for piece in pieces[index - 1]:
            events.append(("step.delta", {"index": index, "delta": {"arguments": piece, "type": "arguments_delta"}}))
        events.append(("step.stop", {"index": index}))
    events.append(("interaction.completed", {"interaction": _interaction_end(348)}))
    told = [f"event: {kind}\ndata: {compact({**members, 'event_type': kind})}\n\n" for kind, members in events]
    return "".join([*told, "event: done\ndata: [DONE]\n\n"]).encode()
