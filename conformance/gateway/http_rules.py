"""The rules for status, header fields, form and end of what a gateway sends, as docs/pages/gateways.md states them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from toolparity.normalizer.stream_form import check_stream
from toolparity.normalizer.wires.registry import spec, wire_name
from toolparity.normalizer.wires.rule import Violation
from toolparity.reports.results import Effect

from ..cases.expected import Expected
from ..laws.law import Failure
from ..subjects import SubjectExchange
from .conversation import Turn
from .reduction import Pair

_DATA = re.compile(rb"(?:^|[\r\n])data: ?([^\r\n]*)")
#: The client wires whose content types are judged.
_TYPED = frozenset(("openai.chat", "openai.responses", "anthropic.messages"))
#: The law about the form of a stream.
FORM = "stream-form"
_BETA = "anthropic-beta"
_KEYS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")


class Fault(NamedTuple):
    """A rule that a gateway broke. ``law``: the law whose verdict it is."""

    law: str
    failure: Failure


def faults_of(turn: Turn, exchange: SubjectExchange, expected: Expected, pair: Pair, number: int) -> Iterator[Fault]:
    """Yield each rule that a gateway broke in one request and reply. ``number``: the round."""
    if turn.reply.status:
        for reason, wanted, got in _status(turn):
            yield Fault("incomplete", Failure(number, reason, wanted, got, effect="misreported"))
        for reason, wanted, got in _form(turn, expected, pair):
            if turn.served.stream and turn.reply.status < 400:
                yield Fault(FORM, Failure(number, reason, wanted, got, effect="altered"))
            else:
                yield Fault("incomplete", Failure(number, reason, wanted, got, effect="misreported"))
    if turn.served.hold is not None and turn.served.hold.buffered:
        reason = "the gateway buffers the stream: the client gets no content before the provider has sent all of it"
        yield Fault(FORM, Failure(number, reason, effect="altered"))
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
    if pair.client not in _TYPED:
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


def form_faults(
    turn: Turn, exchange: SubjectExchange, expected: Expected, pair: Pair, number: int, reading: Callable[[], str]
) -> Iterator[Fault]:
    """Yield where a complete stream departs from the grammar of its wire, unless the provider's own stream does so.

    ``reading``: returns what the SDK makes of the reply, or "".
    """
    reply = turn.reply
    if not turn.served.stream or not expected.complete or expected.failed or reply.status >= 400:
        return
    if turn.response is None or turn.answer.error is not None:
        return
    if pair.same:
        excused = {violation.rule for violation in check_stream(exchange.body, wire_name(pair.client))}
    elif expected.findings:
        return  # the response is irregular, which is not the gateway's task
    else:
        excused = set()
    found = [each for each in check_stream(reply.body, wire_name(pair.client)) if each.rule not in excused]
    if reply.broken and not any(each.rule == "terminal-missing" for each in found):
        found.append(Violation("transport-end", "", f"the body has no end after the last event: {reply.broken}"))
    grammar = spec(pair.client).grammar
    wanted = "" if grammar is None else f"the form of {grammar.source}"
    for violation in found[:1]:
        reason = "; ".join(filter(None, (violation.message, reading())))
        at = violation.path or "the body"
        yield Fault(FORM, Failure(number, reason, wanted, at, effect=_effect(violation.rule)))


def _effect(rule: str) -> Effect:
    if rule.endswith("-missing") or rule in ("event-name", "unterminated-event", "events-not-separated"):
        return "lost"
    return "duplicated" if rule.endswith("-repeated") else "altered"


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
        if pair.same and (lost := set(listed(turn.sent, _BETA)).difference(listed(headers, _BETA))):
            yield "the request to the upstream lacks betas of the client", sorted(lost), sorted(listed(headers, _BETA))


def listed(headers: Mapping[str, str], name: str) -> list[str]:
    """Return the values of a header that has a list."""
    return [one.strip() for one in headers.get(name, "").split(",") if one.strip()]
