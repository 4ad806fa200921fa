"""Judges copies of exchanges with the normalizer, in a worker process."""

from __future__ import annotations

from collections.abc import Iterator

from toolparity.cassettes.errors import UnreadableSource
from toolparity.cassettes.sources import WEBSOCKET, Exchange, Problem
from toolparity.cassettes.sources.http import exchange as http_exchange
from toolparity.cassettes.sources.http import headers_of
from toolparity.cassettes.sources.sessions import Message, exchanges
from toolparity.normalizer.model import Response, Wire
from toolparity.normalizer.policies import selection_of
from toolparity.normalizer.stream_form import check_stream
from toolparity.normalizer.wires.registry import is_wire

from ..exchange import DecodedExchange, decode
from ..records import record_of, violations_of
from .conversations import LiveConversations
from .copies import ExchangeCopy, SessionCopy
from .headers import text_pairs
from .judgement import JudgedCall, JudgedFinding, Judgement, JudgeOptions, judgement_of
from .redaction import Redactor

#: The length of an excerpt, in characters.
_EXCERPT = 500
#: The most excerpts of a session, the last ones.
_LINES = 50
#: The findings of the decoder about the form of a stream.
_FORM = frozenset(
    ("delta-misplaced", "event-after-end", "event-missing", "event-repeated", "index-reused", "stream-incomplete")
)


class Judge:
    """Judges exchanges in the order in which they ended. It does not raise."""

    def __init__(self, options: JudgeOptions) -> None:
        self._options = options
        self._conversations = LiveConversations()
        self._redactor = Redactor()

    def __call__(self, copy: ExchangeCopy) -> Judgement:
        judgement = judgement_of(copy)
        try:
            if copy.session is not None:
                self._session(copy, copy.session, judgement)
            else:
                self._judge(read(copy), judgement, self._conversations)
            return self._redactor.judgement(judgement, copy)
        except Exception:  # one exchange must not stop the others; the message may contain traffic
            return judgement_of(copy, "fault")

    def _session(self, copy: ExchangeCopy, session: SessionCopy, judgement: Judgement) -> None:
        """Judge a session as one conversation, whose exchanges have the numbers of its responses, from 1."""
        from .messages import read_messages  # needs more packages than the judge of bodies

        messages = [each for each in read_messages(session, copy.response_headers) if each.type != "close"]
        texts: list[Message] = [(each.direction, each.text) for each in messages if each.text is not None]
        missing = session.sent + session.received - len(texts)
        conversations = LiveConversations()
        revoked: set[tuple[int, str, str | None]] = set()
        findings: list[tuple[int, JudgedFinding]] = []
        last = None
        number = 0
        for exchange in exchanges(f"proxy#{copy.number}", None, texts, copy.url, missing):
            if isinstance(exchange, Problem):
                found = JudgedFinding("session-unread", "error", exchange.what)
                findings.append((0, found))
                continue
            if exchange.wire == WEBSOCKET:
                break
            number += 1
            last = made = judgement_of(copy)  # of this response only
            made.number = number
            self._judge(exchange, made, conversations)
            findings += [(number, each) for each in made.findings]
            revoked |= {(each.number, each.code, each.call_id) for each in made.revoked}
            judgement.calls += made.calls
            judgement.lines = [*judgement.lines, *made.lines][-_LINES:]
            judgement.input_tokens = _sum(judgement.input_tokens, made.input_tokens)
            judgement.output_tokens = _sum(judgement.output_tokens, made.output_tokens)
        if last is None:
            judgement.unjudged = "websocket"
            return
        for name in ("provider", "wire", "model", "response_model", "response_id", "stop", "error", "stream"):
            setattr(judgement, name, getattr(last, name))
        judgement.findings = [each for at, each in findings if (at, each.code, each.call_id) not in revoked]

    def _judge(self, exchange: Exchange, judgement: Judgement, conversations: LiveConversations) -> None:
        decoded = decode(exchange)
        judgement.provider, judgement.wire, judgement.model = exchange.provider, decoded.wire, exchange.model
        judgement.stream = bool(exchange.stream)
        if not is_wire(decoded.wire) or exchange.method != "POST":
            judgement.unjudged = "unknown-wire"
            return
        judgement.findings = [
            *self._about_response(exchange, decoded, judgement),
            *(_about_request(exchange, decoded.wire) if judgement.sent is None else ()),
            *self._about_conversation(exchange, decoded, judgement, conversations),
        ]

    def _about_response(
        self, exchange: Exchange, decoded: DecodedExchange, judgement: Judgement
    ) -> Iterator[JudgedFinding]:
        response = decoded.response
        if response is not None:
            _describe(response, judgement)
        for finding in decoded.findings:
            yield JudgedFinding(finding.code, finding.severity, finding.message[:_EXCERPT])
        if judgement.sent is None:  # rules for HTTP do not hold for a session
            yield from _about_form(exchange, decoded)
        if response is not None:
            selection = selection_of(response, self._options.policy, self._options.limit)
            for finding in selection.findings:
                yield JudgedFinding(finding.code, finding.severity, finding.message[:_EXCERPT])

    def _about_conversation(
        self, exchange: Exchange, decoded: DecodedExchange, judgement: Judgement, conversations: LiveConversations
    ) -> list[JudgedFinding]:
        record = record_of(exchange, decoded)
        if record is None:
            return []
        linked = conversations.add(record, judgement.number)
        judgement.conversation, judgement.continues = linked.conversation, linked.continues
        judgement.revoked, judgement.lines = linked.revoked, linked.lines
        return linked.findings


def _sum(before: int | None, more: int | None) -> int | None:
    return more if before is None else before + (more or 0)


def read(copy: ExchangeCopy) -> Exchange:
    """Return a copy as the exchange that the readers of recordings return. Raises UnreadableSource."""
    headers = headers_of(text_pairs(copy.response_headers))
    if copy.ending != "complete" and "content-encoding" in headers:
        raise UnreadableSource("the response broke off in compressed data")
    return http_exchange(
        f"proxy#{copy.number}",
        None,
        method=copy.method,
        url=copy.url,
        request_headers=headers_of(text_pairs(copy.request_headers)),
        request=copy.request,
        status=copy.status,
        headers=headers,
        body=b"".join(copy.chunks),
    )


def _describe(response: Response, judgement: Judgement) -> None:
    judgement.response_model, judgement.response_id = response.model, response.id
    judgement.stop = response.choices[0].stop.reason if response.choices else None
    judgement.error = None if response.error is None else response.error.type
    if response.usage is not None:
        judgement.input_tokens = response.usage.input_tokens
        judgement.output_tokens = response.usage.output_tokens
    judgement.calls = [JudgedCall(call.id, call.name, call.arguments_text[:_EXCERPT]) for call in response.calls]


def _about_form(exchange: Exchange, decoded: DecodedExchange) -> Iterator[JudgedFinding]:
    """Yield the first place where a stream departs from the grammar of its wire, unless the decoder reported one."""
    response, wire = decoded.response, decoded.wire
    if response is None or response.error is not None or not exchange.stream or not exchange.body or not is_wire(wire):
        return
    if any(finding.code in _FORM for finding in decoded.findings):
        return
    for violation in check_stream(exchange.body, wire, complete=response.complete)[:1]:
        yield JudgedFinding("stream-form", "warning", f"{violation.path} {violation.message}".strip()[:_EXCERPT])


def _about_request(exchange: Exchange, wire: Wire) -> Iterator[JudgedFinding]:
    if exchange.request is None:
        return
    for violation in violations_of(exchange, wire):
        message = f"{violation.path}: {violation.message}" if violation.path else violation.message
        yield JudgedFinding(violation.rule, "warning", message[:_EXCERPT], "request")
