"""The result of judging one exchange. It contains no credential: its texts are scrubbed by the rules of recordings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from toolparity.normalizer.findings import Severity
from toolparity.normalizer.model import Policy
from toolparity.reports.escape import visible

from ..conversations import Line
from .copies import Ending, ExchangeCopy, Skipped
from .headers import value_of

#: Why an exchange is not judged. "queue-full": the judge is too slow. "worker-lost": the judge died or took too long.
#: "no-answer": there was no response. "unknown-wire": not an exchange of a supported wire. "websocket": a session of
#: an unknown format. "fault": the judge failed.
Unjudged = Skipped | Literal["queue-full", "worker-lost", "no-answer", "unknown-wire", "websocket", "fault"]


class JudgeOptions(Struct, frozen=True):
    """How responses are judged: the policy by which the application selects calls, and its limit."""

    policy: Policy = "all"
    limit: int | None = None


class JudgedCall(Struct, frozen=True):
    """A client call of the response."""

    id: str
    name: str
    arguments: str


class JudgedFinding(Struct, frozen=True):
    """A finding about the response, the request or the conversation.

    ``exchange``: of a finding about the conversation, the number of the exchange with the response; ``call_id``: of the
    call, if it concerns one.
    """

    code: str
    severity: Severity
    message: str
    about: Literal["response", "request", "conversation"] = "response"
    exchange: int | None = None
    call_id: str | None = None


class RevokedFinding(Struct, frozen=True):
    """A finding about the conversation that does not hold any more, because the call was answered after all.

    ``number``: that of the exchange with the finding.
    """

    number: int
    code: str
    call_id: str | None = None


class Judgement(Struct):
    """What is known of one exchange. ``number``, ``started`` and ``ending``: as in `ExchangeCopy`.

    ``seconds``: from the start to the end; ``waited``: to the header section of the response. ``unjudged``: why the
    exchange was not judged, else None. ``traceparent``: the trace context of the request. ``conversation``: the number
    of its first exchange. ``continues``: that of the exchange whose response the request continues. ``revoked``:
    earlier findings that this exchange disproves. ``lines``: what is new in the request, and the response, as excerpts.
    ``sent``, ``received``: the messages of the client and of the upstream in a WebSocket session, else None.
    """

    number: int
    started: float
    seconds: float
    method: str
    path: str
    ending: Ending
    status: int | None = None
    waited: float | None = None
    unjudged: Unjudged | None = None
    traceparent: str | None = None
    provider: str | None = None
    wire: str | None = None
    model: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    stream: bool = False
    stop: str | None = None
    error: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    calls: list[JudgedCall] = []
    findings: list[JudgedFinding] = []
    conversation: int | None = None
    continues: int | None = None
    revoked: list[RevokedFinding] = []
    lines: list[Line] = []
    sent: int | None = None
    received: int | None = None


def shown(judgement: Judgement) -> Judgement:
    """Return a judgement whose texts cannot forge a line, control a terminal or reverse the direction of writing.

    Models, tools, names of paths and ids come from others. Line breaks remain in excerpts only.
    """
    plain = msgspec.to_builtins(judgement)
    lines = _mapped(plain["lines"], lambda text: visible(text, "\n"))
    return msgspec.convert(_mapped(plain, visible) | {"lines": lines}, Judgement)


def without_surrogates(judgement: Judgement) -> Judgement:
    """Return a judgement whose lone surrogates are escapes, because no UTF-8 contains them."""
    plain = _mapped(msgspec.to_builtins(judgement), lambda text: text.encode("utf-8", "backslashreplace").decode())
    return msgspec.convert(plain, Judgement)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {name: _mapped(member, change) for name, member in value.items()}
    if isinstance(value, list):
        return [_mapped(member, change) for member in value]
    return change(value) if isinstance(value, str) else value


def judgement_of(copy: ExchangeCopy, unjudged: Unjudged | None = None) -> Judgement:
    """Return a judgement with only the facts that need no decoding."""
    session = copy.session
    return Judgement(
        copy.number,
        copy.started,
        copy.ended - copy.started,
        copy.method,
        urlsplit(copy.url).path,
        copy.ending,
        copy.status,
        None if copy.responded is None else copy.responded - copy.started,
        unjudged,
        value_of(copy.request_headers, b"traceparent"),
        sent=None if session is None else session.sent,
        received=None if session is None else session.received,
    )
