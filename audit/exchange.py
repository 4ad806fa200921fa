"""Decodes one exchange to its canonical response, or to findings that say why there is none.

`decode` never raises. An unknown wire, a malformed body and an internal error are findings with separate codes
(`CODES`), and the response is None. Calls that a model wrote into its text are reported, not extracted.
"""

from __future__ import annotations

import base64
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from toolparity.cassettes.sources import WEBSOCKET, Exchange
from toolparity.cassettes.sources.decoding import response_of
from toolparity.normalizer.errors import AmbiguousBody, MissingExtra, ToolparityError
from toolparity.normalizer.findings import Code, Finding
from toolparity.normalizer.model import Block, Opaque, Policy, Response, ServerToolCall, ToolCall
from toolparity.normalizer.policies import Selection, selection_of
from toolparity.normalizer.textmode import report
from toolparity.normalizer.wires.error_response import NO_ANSWER
from toolparity.normalizer.wires.registry import is_wire

#: The reasons why an exchange has no response. If its wire is known, the command ends with exit code 4.
CODES: dict[str, Code] = {
    "unknown-wire": Code(
        "info", "The normalizer does not support the wire of the exchange.", "Nothing; the exchange is only counted."
    ),
    "malformed-body": Code(
        "error", "The body is not valid on its wire and could not be decoded.", "Check the recording."
    ),
    "missing-extra": Code(
        "error", "An optional dependency is needed for this wire.", "Install the extra that the message names."
    ),
    "calls-unread": Code(
        "error",
        "The response in the log has more calls than were read.",
        "Pass the bodies as they were sent, or report the form of the log.",
    ),
    "session-unread": Code(
        "error",
        "A WebSocket session is not judged: its format is not known, or none of its messages belongs to a response.",
        "Nothing; the exchanges over HTTP are judged. See the page on sessions for the formats.",
    ),
    "decoder-fault": Code("error", "The normalizer failed on this exchange.", "Report the error with the exchange."),
}

#: The codes of exchanges with a model of which something was not read: bad input, a session, or an internal error.
FAULTS = frozenset(("malformed-body", "missing-extra", "decoder-fault", "calls-unread", "session-unread"))


class DecodedExchange(Struct):
    """``response`` is None if nothing could be decoded; then ``findings`` say why."""

    wire: str | None
    response: Response | None
    findings: tuple[Finding, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the normalizer knows the wire of the exchange."""
        return is_wire(self.wire)

    @property
    def faulty(self) -> bool:
        """Whether the exchange, or a call in it, could not be read although the exchange is one with a model."""
        return any(f.code in FAULTS for f in self.findings)


class RawExchange(Struct, omit_defaults=True):
    """The content of the exchange in the file, with the members of a recording.

    Written as a line of a recordings file, it can be read again.
    """

    request: Any = None
    status: int | None = None
    content_type: str | None = None
    body: str | None = None
    body_encoding: str | None = None
    frames: list[str] | None = None
    chunk_lengths: list[int] | None = None


class ExchangeLine(Struct):
    """The JSON line of one exchange. ``raw`` is present only if it was requested."""

    source: str
    id: str | None
    provider: str | None
    wire: str | None
    stream: bool
    response: Response | None
    selection: Selection | None
    findings: list[Finding]
    raw: RawExchange | UnsetType = UNSET


def decode(exchange: Exchange) -> DecodedExchange:
    """Decode an exchange. Never raises."""
    wire = exchange.wire
    if wire == WEBSOCKET:
        return _nothing(wire, "session-unread", "no response of the WebSocket session can be read")
    if wire is None and exchange.calls:
        what = f"the response has {exchange.calls} calls, but its wire cannot be detected: pass it with --wire"
        return _nothing(wire, "calls-unread", what)
    if not is_wire(wire):
        reason = f"the wire {wire} is not supported" if wire else "the wire cannot be detected"
        return _nothing(wire, "unknown-wire", reason)
    try:
        response = report(response_of(exchange, wire))
    except MissingExtra as error:
        return _nothing(wire, "missing-extra", str(error))
    except AmbiguousBody as error:
        return _nothing(None, "unknown-wire", str(error))
    except ToolparityError as error:
        return _nothing(wire, "malformed-body", str(error))
    except Exception as error:  # one exchange must not stop the others
        return _nothing(wire, "decoder-fault", f"{type(error).__name__}: {error}"[:500])
    is_traffic = exchange.request is not None or exchange.status is not None
    if response.error is not None and response.error.type == NO_ANSWER and not is_traffic:
        return _nothing(wire, "malformed-body", response.error.message)  # any JSON object, such as a line of a log
    return DecodedExchange(wire, response, response.findings + exchange.notes + _unread(exchange, response))


def _unread(exchange: Exchange, response: Response) -> tuple[Finding, ...]:
    """Return the finding that the response of a log has more calls than were read, if it has."""
    if not exchange.calls:
        return ()
    read = calls_read(response)
    if read >= exchange.calls:
        return ()
    return (Finding("calls-unread", "error", f"the response has {exchange.calls} calls, of which {read} were read"),)


def calls_read(response: Response) -> int:
    """Return how many calls a response has, also calls of the provider and of unknown types."""
    blocks = (block for choice in response.choices for block in choice.blocks)
    return sum(isinstance(block, (ToolCall, ServerToolCall)) or _is_opaque_call(block) for block in blocks)


def _is_opaque_call(block: Block) -> bool:
    return isinstance(block, Opaque) and block.wire_type.endswith(("_call", "tool_use"))


def line(
    exchange: Exchange, *, policy: Policy, limit: int | None, raw: bool = False
) -> tuple[ExchangeLine, DecodedExchange]:
    """Return the JSON line of an exchange, and the decoded exchange. Raises PolicyError."""
    decoded = decode(exchange)
    selection = None
    findings = list(decoded.findings)
    if decoded.response is not None:
        selection = selection_of(decoded.response, policy, limit)
        findings.extend(selection.findings)
    return (
        ExchangeLine(
            exchange.source,
            exchange.id,
            exchange.provider,
            decoded.wire,
            bool(exchange.stream),
            decoded.response,
            selection,
            findings,
            raw_of(exchange) if raw else UNSET,
        ),
        decoded,
    )


def raw_of(exchange: Exchange) -> RawExchange:
    """Return the request and the response as they were read.

    A body that is not UTF-8, and frames, are encoded as base64.
    """
    body = encoding = None
    if exchange.body is not None:
        try:
            body = exchange.body.decode()
        except UnicodeDecodeError:
            body, encoding = base64.b64encode(exchange.body).decode(), "base64"
    frames = None if exchange.frames is None else [base64.b64encode(frame).decode() for frame in exchange.frames]
    return RawExchange(
        exchange.request, exchange.status, exchange.content_type, body, encoding, frames, exchange.chunk_lengths
    )


def _nothing(wire: str | None, code: str, message: str) -> DecodedExchange:
    return DecodedExchange(wire, None, (Finding(code, CODES[code].severity, message),))
