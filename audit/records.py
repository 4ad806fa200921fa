"""Records of exchanges for the audit of conversations, made beside the counting, in the workers."""

from __future__ import annotations

import threading

from toolparity.cassettes.sources import Exchange
from toolparity.cassettes.sources.logs import TRANSCRIPTS
from toolparity.normalizer.model import Wire
from toolparity.normalizer.wires.registry import is_wire
from toolparity.normalizer.wires.rule import Violation

from .conversations import ExchangeRecord
from .exchange import DecodedExchange
from .histories import Histories


class _Local(threading.local):
    """What each thread keeps from one part of the input to the next."""

    def __init__(self) -> None:
        self.histories = Histories()


#: The cache of this thread.
local = _Local()


def record_of(exchange: Exchange, decoded: DecodedExchange) -> ExchangeRecord | None:
    """Return the record of an exchange, or None if its wire is unknown. Never raises."""
    wire = decoded.wire
    if not is_wire(wire):
        return None
    body = exchange.request if exchange.request is not None else exchange.sent
    transcript = (exchange.provenance or {}).get("format") in TRANSCRIPTS
    return local.histories.record(
        exchange.location, wire, body, decoded.response, provider=exchange.provider, transcript=transcript
    )


def violations_of(exchange: Exchange, wire: Wire) -> list[Violation]:
    """Return why the provider would refuse the request of an exchange. Raises what `check_request` raises."""
    return local.histories.violations(exchange.request, wire, exchange.provider)
