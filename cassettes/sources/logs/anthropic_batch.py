"""Output of Anthropic's Message Batches API: a line for each request.

{"custom_id": …, "result": {"type": "succeeded", "message": {…}} | {"type": "errored", "error": {…}} | …}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolparity.normalizer import json_codec

from ...errors import UnreadableSource
from ..model import Exchange
from .conversion import text


def claims(item: dict[str, Any]) -> bool:
    """Return whether a JSON object has this format."""
    result = item.get("result")
    return "custom_id" in item and isinstance(result, dict) and isinstance(result.get("type"), str)


def exchanges(source: str, line: int | None, item: dict[str, Any]) -> Iterator[Exchange]:
    """Yield the exchange. Raises UnreadableSource for a request that was canceled or expired."""
    result = item["result"]
    body = result.get("message") if result["type"] == "succeeded" else result.get("error")
    if not isinstance(body, dict):
        raise UnreadableSource(f"a request of the batch has no response: {result['type']}")
    yield Exchange(
        source=source,
        line=line,
        id=text(item.get("custom_id")),
        provider="anthropic",
        wire="anthropic.messages",
        stream=False,
        status=200 if result["type"] == "succeeded" else 400,
        model=text(body.get("model")),
        body=json_codec.encode(body),
        provenance={"format": "anthropic-batch"},
    )
