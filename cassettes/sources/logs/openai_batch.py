"""Output of OpenAI's Batch API: a line for each request, with the HTTP response or an error.

{"id": "batch_req_…", "custom_id": …, "response": {"status_code", "request_id", "body"} | null, "error": … | null}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.shapes import whole_wire

from ...errors import UnreadableSource
from ..model import Exchange
from .conversion import text

#: Members of a line of the input file.
_REQUEST = {"custom_id", "method", "url", "body"}


def claims(item: dict[str, Any]) -> bool:
    """Return whether a JSON object has this format."""
    if item.keys() >= _REQUEST:
        return True
    response = item.get("response")
    has_body = isinstance(response, dict) and "status_code" in response and "body" in response
    return "custom_id" in item and (has_body or (response is None and isinstance(item.get("error"), dict)))


def exchanges(source: str, line: int | None, item: dict[str, Any]) -> Iterator[Exchange]:
    """Yield the exchange. Raises UnreadableSource for a request that was never sent, such as an expired one."""
    response = item.get("response")
    if "response" not in item and item.keys() >= _REQUEST:
        raise UnreadableSource("a request of a batch: the responses are in the batch's output file")
    if not isinstance(response, dict):
        error = item.get("error")
        reason = error.get("code") or error.get("message") if isinstance(error, dict) else None
        raise UnreadableSource(f"a request of the batch has no response: {reason or 'no reason'}")
    body = response["body"]
    status = response["status_code"]
    yield Exchange(
        source=source,
        line=line,
        id=text(item.get("custom_id")) or text(response.get("request_id")),
        provider="openai",
        wire=(whole_wire(body) if isinstance(body, dict) else None) or "openai.chat",
        stream=False,
        status=status if isinstance(status, int) else None,
        model=text(body.get("model")) if isinstance(body, dict) else None,
        body=json_codec.encode(body),
        provenance={"format": "openai-batch"},
    )
