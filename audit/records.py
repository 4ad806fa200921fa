"""Records of exchanges for the audit of conversations, made beside the counting, in the workers."""

from __future__ import annotations

from typing import Any

from toolparity.cassettes.sources import Exchange
from toolparity.cassettes.sources.logs import TRANSCRIPTS
from toolparity.normalizer.conversation import Request, ToolResults, User
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import check_request, read_request
from toolparity.normalizer.wires.registry import is_wire, spec

from .conversations import ExchangeRecord, record
from .exchange import DecodedExchange


def record_of(exchange: Exchange, decoded: DecodedExchange) -> ExchangeRecord | None:
    """Return the record of an exchange, or None if its wire is unknown. Never raises."""
    wire = decoded.wire
    if not is_wire(wire):
        return None
    body = exchange.request if exchange.request is not None else exchange.sent
    request = _read(body, wire, exchange.provider)
    preceded = request is not None and is_preceded(request, body, wire)
    transcript = (exchange.provenance or {}).get("format") in TRANSCRIPTS
    return record(exchange.location, wire, request, decoded.response, preceded=preceded, transcript=transcript)


def _read(body: Any, wire: Wire, provider: str | None) -> Request | None:
    if body is None:
        return None
    try:
        return read_request(body, wire, provider=provider)
    except Exception:  # one request must not stop the others
        return None


def is_preceded(request: Request, body: Any, wire: Wire) -> bool:
    """Return whether other content precedes results in one message, which the canonical form does not show."""
    last = request.messages[-2:]
    if (
        spec(wire).results != "first"
        or len(last) < 2
        or not isinstance(last[0], ToolResults)
        or not isinstance(last[1], User)
    ):
        return False
    paths = [violation.path for violation in check_request(body, wire) if violation.rule == "results-first"]
    messages = body["messages"] if paths and isinstance(body, dict) else []
    turn = max((index for index, message in enumerate(messages) if message.get("role") == "assistant"), default=0)
    return any(path.startswith(f"messages[{index}]") for path in paths for index in range(turn, len(messages)))
