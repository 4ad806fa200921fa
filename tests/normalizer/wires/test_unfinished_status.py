"""The status of a response that has not ended is not an unknown stop word."""

from __future__ import annotations

import pytest

from tests.support.decoding import codes, decoded
from tests.support.events import added, sse


@pytest.mark.parametrize("status", ["in_progress", "queued"])
def test_a_stream_that_breaks_off_has_an_error_and_no_unknown_stop_word(status: str) -> None:
    created = {"type": "response.created", "response": {"id": "resp_1", "status": status, "output": []}}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    response = decoded("openai.responses", sse(created, added(0, item)) + b'data: {"type": "response.out\n\n')
    assert not response.complete
    assert response.choices[0].stop.reason == "error"
    assert response.choices[0].stop.raw == status
    assert "stop-unknown" not in codes(response)
