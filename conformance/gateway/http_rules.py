"""The rules for status, header fields, form and end of what a gateway sends, as docs/pages/gateways.md states them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec

from ..cases.expected import Expected
from ..laws.law import Failure
from ..subjects import SubjectExchange
from .conversation import Turn
from .reduction import Pair

_DATA = re.compile(rb"(?:^|[\r\n])data: ?([^\r\n]*)")
#: Client wire -> the data, or the types, with which its complete streams end.
_ENDS = {
    "openai.chat": {"[DONE]"},
    "openai.responses": {"response.completed", "response.incomplete"},
    "anthropic.messages": {"message_stop"},
}
_KEYS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")


class Fault(NamedTuple):
    """A rule that a gateway broke. ``law``: the law whose verdict it is."""

    law: str
    failure: Failure


def faults_of(turn: Turn, exchange: SubjectExchange, expected: Expected, pair: Pair, number: int) -> Iterator[Fault]:
    """Yield each rule that a gateway broke in one request and reply. ``number``: the round."""
    if turn.reply.status:
        for reason, wanted, got in [
            *_status(turn),
            *_form(turn, expected, pair),
            *_end(turn, exchange, expected, pair),
        ]:
            yield Fault("incomplete", Failure(number, reason, wanted, got, effect="misreported"))
    if turn.served.hold is not None and turn.served.hold.buffered:
        reason = "the gateway buffers the stream: the client gets no content before the provider has sent all of it"
        yield Fault("any-split", Failure(number, reason, effect="altered"))
    for reason, wanted, got in _request_headers(turn, pair):
        law = "replay" if pair.same else "handoff"
        yield Fault(law, Failure(number, reason, wanted, got, effect="malformed" if wanted is None else "lost"))


_Found = Iterator[tuple[str, Any, Any]]


def _status(turn: Turn) -> _Found:
    """An error stays an error of its class, 429 stays 429, and the time to wait remains."""
    wanted, got, header = turn.served.status, turn.reply.status, turn.reply.headers
    if wanted < 400 or not turn.headers:  # the codes of gRPC are not statuses of HTTP
        return
    if got != wanted if wanted == 429 else got // 100 != wanted // 100:
        allowed = wanted if wanted == 429 else f"{wanted // 100}xx"
        yield f"the provider's status {wanted} becomes {got}", allowed, got
    for name, value in turn.served.headers.items():
        if got >= 400 and _is_shorter(header.get(name), value):
            yield f"the error reply does not have the {name} of the provider", value, header.get(name, "no such header")


def _is_shorter(got: str | None, wanted: str) -> bool:
    """Return whether a time to wait is missing or ends earlier. A date is not compared."""
    return got is None or (got.isdigit() and int(got) < int(wanted))


def _form(turn: Turn, expected: Expected, pair: Pair) -> _Found:
    """A client that asks for a stream gets events, and any other client gets JSON, on wires that stream such events."""
    if pair.client not in _ENDS:
        return
    reply, kind = turn.reply, turn.reply.headers.get("content-type", "")
    streamed = turn.served.stream and reply.status < 400
    if (turn.served.status < 400) != (reply.status < 400):
        return
    asked, wanted = ("a stream", "text/event-stream") if streamed else ("a plain reply", "application/json")
    has_events = reply.body.lstrip()[:1] not in (b"{", b"[") and _DATA.search(reply.body) is not None
    if reply.body.strip() and has_events is not streamed and not (reply.broken or expected.failed):
        yield f"the client asked for {asked} and got another body", wanted, reply.body[:80].decode("utf-8", "replace")
    elif kind.partition(";")[0].strip().lower() != wanted:
        yield f"the client asked for {asked} and got another content type", wanted, kind or "no content type"


def _end(turn: Turn, exchange: SubjectExchange, expected: Expected, pair: Pair) -> _Found:
    """A complete stream has the last event of its wire, unless the provider did not send it either."""
    ends = _ENDS.get(pair.client)
    if ends is None or not turn.served.stream or not expected.complete or expected.failed or turn.reply.status >= 400:
        return
    if pair.same and not ends & _last_events(exchange.body):
        return
    if not ends & (last := _last_events(turn.reply.body)) and not turn.reply.broken:
        yield "the complete stream has no last event", " or ".join(sorted(ends)), sorted(last)


def _last_events(body: bytes) -> set[str]:
    """Return the types of the last events, or their data. Other events may follow: some gateways add [DONE]."""
    return set(map(_type, [found for found in _DATA.findall(body) if found.strip()][-3:]))


def _type(data: bytes) -> str:
    try:
        value = json_codec.decode(data)
    except ValueError:
        return data.decode("utf-8", "replace").strip()
    return str(value.get("type") or value.get("object")) if isinstance(value, dict) else "another event"


def _request_headers(turn: Turn, pair: Pair) -> _Found:
    """A request that reaches the provider has the headers without which it is refused, and the client's betas."""
    for headers in turn.headers:
        if (kind := headers.get("content-type", "")).partition(";")[0].strip().lower() != "application/json":
            yield f"the request to the upstream has the content type {kind or 'of no header'}", None, kind
        if not any(headers.get(name, "").removeprefix("Bearer").strip() for name in _KEYS):
            yield "the request to the upstream has no key", None, "none of " + ", ".join(_KEYS)
        if pair.upstream != "anthropic.messages":
            continue
        if not headers.get("anthropic-version"):
            yield "the request to the upstream has no anthropic-version, which Anthropic requires", None, ""
        if pair.same and (lost := _betas(turn.sent) - _betas(headers)):
            yield "the request to the upstream lacks betas of the client", sorted(lost), sorted(_betas(headers))


def _betas(headers: Any) -> set[str]:
    return {beta.strip() for beta in headers.get("anthropic-beta", "").split(",")} - {""}
