"""Findings about a conversation, each with the two exchanges and an excerpt that shows it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from toolparity.normalizer.findings import Severity

from .codes import CODES
from .links import Link
from .records import CallRecord, MessageRecord

#: How many results and calls of one message an excerpt shows.
_SHOWN = 8

Mark = Literal["", "subject", "evidence"]


class Line(Struct, frozen=True):
    """One line of the excerpt of a conversation.

    ``role``: "user", "model", "application" (the history that the next request repeats) or "tool". ``id``: of the call
    or the result. ``mark``: "subject" marks the call that the finding is about, "evidence" what shows it.
    """

    role: Literal["user", "model", "application", "tool"]
    text: str
    id: str | None = None
    mark: Mark = ""


class ConversationFinding(Struct, frozen=True):
    """A finding about what the application did with a response.

    ``response_place`` and ``request_place``: the exchange with the response, and the exchange with the next request.
    ``call_id`` and ``call_name``: the call, if the finding concerns one. ``response_shows`` and ``request_shows``: the
    text on the wire on both sides, cut after 160 characters. ``lines``: an excerpt of the conversation.
    """

    code: str
    severity: Severity
    message: str
    wire: str
    response_place: str
    request_place: str
    call_id: str | None = None
    call_name: str | None = None
    response_shows: str = ""
    request_shows: str = ""
    lines: list[Line] = []


def finding(
    code: str,
    message: str,
    link: Link,
    *,
    call: CallRecord | None = None,
    evidence: str | None = None,
    response_shows: str = "",
    request_shows: str = "",
) -> ConversationFinding:
    """Return a finding about a link. ``evidence``: the id of the result or call in the request that shows it."""
    parent, child = link.parent.record, link.child.record
    return ConversationFinding(
        code,
        CODES[code].severity,
        message,
        child.wire,
        parent.place,
        child.place,
        None if call is None else call.id,
        None if call is None else call.name,
        response_shows or ("" if call is None else f"{call.id} {call.name} {call.text}"),
        request_shows,
        _lines(link, call, evidence),
    )


def _lines(link: Link, call: CallRecord | None, evidence: str | None) -> list[Line]:
    """Return the question, the response, and what the next request made of it."""
    asked = [m for m in link.parent.record.messages or () if m.role == "user"][-1:]
    lines = [Line("user", message.text) for message in asked]
    subject = None if call is None else call.id
    response = link.response
    if response is not None:
        lines += _assistant("model", response, subject, None)
    if link.kept is not None:
        lines += _assistant("application", link.kept, None, evidence)
    for message in link.following[:3]:
        if message.role == "user":
            lines.append(Line("user", message.text))
        elif message.role == "assistant":
            lines += _assistant("application", message, None, evidence)
        for result in message.results[:_SHOWN]:
            lines.append(Line("tool", result.text, result.call_id, "evidence" if result.call_id == evidence else ""))
    return lines


def _assistant(
    role: Literal["model", "application"], message: MessageRecord, subject: str | None, evidence: str | None
) -> list[Line]:
    lines = [Line(role, message.text)] if message.text else []
    for call in message.calls[:_SHOWN]:
        mark: Mark = "subject" if call.id == subject else "evidence" if call.id == evidence else ""
        lines.append(Line(role, f"{call.name} {call.text}", call.id, mark))
    return lines
