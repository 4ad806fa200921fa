"""Exports of Helicone: a row for each request, with the bodies of the request and its response.

    {"request_id", "request_body": {…}, "response_id", "response_body": {…}, "response_status", "provider", …}

An export without bodies holds no exchange.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...errors import UnreadableSource
from ..json_text import parsed
from ..model import Exchange
from . import conversion
from .conversion import text

_MEMBERS = ("request_id", "request_body", "response_body")


def claims(item: dict[str, Any]) -> bool:
    """Return whether a JSON object has this format."""
    return all(name in item for name in _MEMBERS) and ("request_created_at" in item or "response_id" in item)


def exchanges(source: str, line: int | None, item: dict[str, Any]) -> Iterator[Exchange]:
    """Yield the exchange. Raises UnreadableSource if the row has no response body."""
    response = parsed(item["response_body"])
    if not response:
        raise UnreadableSource("the row has no response body", hint="export with --include-body")
    provider = text(item.get("provider"))
    exchange = conversion.exchange(
        source,
        line,
        format="helicone",
        request=item["request_body"],
        response=response,
        id=item["request_id"],
        model=item.get("request_model") or item.get("response_model"),
        provider=None if provider is None else provider.lower(),
    )
    status = item.get("response_status")
    exchange.status = status if isinstance(status, int) and status > 0 else None
    yield exchange
