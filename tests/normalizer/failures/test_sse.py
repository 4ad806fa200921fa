"""Server-sent events that no scenario has: an error inside an event on every wire, and one over the cap."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import assert_not_executed, codes, decoded, feed
from tests.support.emit import emit_stream, scripted_call
from tests.support.wires import SSE_WIRES
from toolparity.normalizer.errors import EventTooLarge

sse_wires = pytest.mark.parametrize("wire", SSE_WIRES)
#: The error event of each wire, and the type in it.
ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "openai.chat": ({"error": {"type": "server_error", "message": "engine died", "code": 500}}, "server_error"),
    "openai.responses": ({"type": "error", "code": "server_error", "message": "engine died"}, "server_error"),
    "anthropic.messages": (
        {"type": "error", "error": {"type": "overloaded_error", "message": "engine died"}},
        "overloaded_error",
    ),
    "cohere.chat": ({"type": "message-end", "delta": {"error": "engine died", "finish_reason": "ERROR"}}, "error"),
    "google.interactions": (
        {"error": {"code": "internal_error", "message": "engine died"}, "event_type": "error"},
        "internal_error",
    ),
    "google.gemini": ({"error": {"code": 503, "message": "engine died", "status": "UNAVAILABLE"}}, "UNAVAILABLE"),
}
HALF = scripted_call(('{"city":', '"Tu'), closed=False)


@sse_wires
def test_an_error_event_inside_an_unterminated_one_is_found(wire: str) -> None:
    raw, type = ERRORS[wire]
    error = b"event: error\ndata: " + json.dumps(raw).encode() + b"\n\n"
    response = decoded(wire, [*emit_stream(wire, [HALF], None), b'data: {"typ\n' + error])
    assert response.error is not None
    assert (response.error.type, response.error.message, response.complete) == (type, "engine died", False)
    assert_not_executed(response, calls=1)
    assert "undecodable-event" in codes(response)
    assert [(call.arguments, call.status) for call in response.calls] == [(None, "truncated")]


@sse_wires
def test_SSE_13_an_event_over_the_cap_is_a_typed_error_wherever_it_is_split(wire: str) -> None:
    pending = b"data: " + b"x" * (11 * 1024 * 1024)
    ended = b"".join(emit_stream(wire, [scripted_call(('{"city": "' + "T" * 5000 + '"}',))]))
    given: list[tuple[bytes, int, dict[str, int]]] = [
        *((pending, size, {}) for size in (64 * 1024, len(pending))),
        *((ended, size, {"max_event_bytes": 5000}) for size in (1, 700, len(ended))),
    ]
    for body, size, options in given:
        with pytest.raises(EventTooLarge, match="max_event_bytes"):
            feed(wire, [body[at : at + size] for at in range(0, len(body), size)], **options)
