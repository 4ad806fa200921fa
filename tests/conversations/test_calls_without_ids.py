"""Calls of Gemini mostly have no ids: the history of the next request is matched with the response by position."""

from __future__ import annotations

import json
from typing import Any

from toolparity import Wire, normalize
from toolparity.normalizer.conversations.records import ExchangeRecord, record
from toolparity.normalizer.requests import read_request

WIRE: Wire = "google.gemini"
CALLS = [{"functionCall": {"name": "f", "args": {"x": number}}} for number in (1, 2)]
ASKED = {"role": "user", "parts": [{"text": "hi"}]}
RESULTS = [{"functionResponse": {"name": "f", "response": {"output": text}}} for text in ("one", "two")]


def exchange(contents: list[Any], response_id: str) -> ExchangeRecord:
    candidate = {"content": {"role": "model", "parts": CALLS}, "finishReason": "STOP"}
    body = {"candidates": [candidate], "responseId": response_id, "modelVersion": "m"}
    request = read_request({"contents": contents}, WIRE)
    return record("place", WIRE, request, normalize(json.dumps(body), WIRE))


def test_the_calls_of_a_response_have_the_same_ids_in_the_history_of_the_next_request() -> None:
    history = [ASKED, {"role": "model", "parts": CALLS}, {"role": "user", "parts": RESULTS}]
    first, second = exchange([ASKED], "r1"), exchange(history, "r2")
    assert first.response is not None
    assert second.messages is not None
    made = [call.id for call in first.response.calls]
    assert len(set(made)) == 2
    assert [call.id for call in second.messages[1].calls] == made
    assert [result.call_id for result in second.messages[2].results] == made
