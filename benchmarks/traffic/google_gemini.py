"""Generated traffic of google.gemini."""

from __future__ import annotations

import json
from typing import Any

from .calls import EVENTS, TEXT, expected, text_pieces


def _gemini_event(parts: list[dict[str, Any]], output: int, finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    usage = {
        "promptTokenCount": 612,
        "candidatesTokenCount": output,
        "totalTokenCount": 612 + output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 612}],
        "serviceTier": "standard",
    }
    return {
        "candidates": [candidate if finish is None else {**candidate, "finishReason": finish}],
        "usageMetadata": usage,
        "modelVersion": "gemini-3.5-flash",
        "responseId": "B94haYr_OovWjMcPjJy_6Qk",
    }


def _gemini_calls(stream: bool) -> list[dict[str, Any]]:
    """Return the parts with the calls, of which the first one has a signature."""
    parts: list[dict[str, Any]] = [
        {"functionCall": {"name": call.name, "args": call.arguments, "id": call.id}}
        for call in expected("google.gemini", stream)
    ]
    parts[0]["thoughtSignature"] = "EqADCp0DAQw51sctaTt62vj/AeY+J46HScGMG01KQ/CGKYK7GOxHGnyfjXjoAZeN" * 6
    return parts


def body() -> bytes:
    """Return the body as Google sends it, indented by two."""
    body = _gemini_event([{"text": TEXT}, *_gemini_calls(False)], 148, "STOP")
    return json.dumps(body, indent=2).encode() + b"\n"


def stream() -> bytes:
    """Return the stream as Google sends it: each call whole in an event, lines that end with CR LF."""
    calls = _gemini_calls(True)
    parts = [*({"text": word} for word in text_pieces(EVENTS - len(calls) - 1)), *calls]
    events = [_gemini_event([part], number + 1) for number, part in enumerate(parts)]
    events.append(_gemini_event([{"text": ""}], len(parts), "STOP"))
    told = [json.dumps(event, separators=(",", ": ")) for event in events]
    return "".join(f"data: {event}\r\n\r\n" for event in told).encode()
