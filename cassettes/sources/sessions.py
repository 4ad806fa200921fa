"""Sessions over WebSocket: each response becomes an exchange of the wire that the format of the session is based on.

{"wire": "websocket", "url", "messages": [{"direction", "text", …}, …], …}     a line of `toolparity proxy`
- {kind: message, direction: sent | received, data: …}                         interactions of Pydantic AI's tests
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.sessions import SESSIONS, Session
from toolparity.normalizer.sessions.table import format_at, format_of

from .. import emulation_marker
from .endpoints import classify
from .model import WEBSOCKET, Exchange, Problem, ReadItem

#: A message: its direction, and its content as parsed JSON or text.
Message = tuple[str, Any]


def is_message(item: Any) -> bool:
    """Return whether an interaction of a cassette is a message of a session."""
    return isinstance(item, dict) and item.get("kind") == "message" and {"data", "direction"} <= item.keys()


def of_row(source: str, line: int | None, row: dict[str, Any]) -> Iterator[ReadItem]:
    """Yield the exchanges of a line that `toolparity proxy` wrote."""
    listed, omitted, url = row.get("messages"), row.get("omitted"), row.get("url")
    messages = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    messages = [each for each in messages if each.get("type") != "close"]
    texts = [(str(each.get("direction")), each["text"]) for each in messages if isinstance(each.get("text"), str)]
    counts = [n for n in omitted.values() if isinstance(n, int)] if isinstance(omitted, dict) else []
    missing = sum(counts) + len(messages) - len(texts)
    yield from exchanges(source, line, texts, url if isinstance(url, str) else "", missing)


def exchanges(
    source: str, line: int | None, messages: list[Message], url: str = "", missing: int = 0, *, first: int | None = None
) -> Iterator[ReadItem]:
    """Yield the responses of a session as exchanges, or one exchange of no wire if it cannot be read.

    ``missing``: how many messages are not there. ``first``: the number of the first exchange in the file ``source``;
    None if ``source`` is the place of all of them.
    """
    address = classify(url)
    provider = address.provider if url else None
    names = (format_of(json_codec.decode_or_text(d.encode()) if isinstance(d, str) else d) for _, d in messages)
    name = format_at(address.url) or next(filter(None, names), None)
    session = None if name is None else Session(name, provider=provider, kept=True)
    faults: dict[str, None] = {}  # each once, since every event of a response that is too large has one
    if session is not None:
        steps: list[Callable[[], Any]] = []
        for direction, data in messages:
            steps.append(partial(session.sent if direction == "sent" else session.received, data))
        for step in (*steps, session.finish):
            try:
                step()
            except ToolparityError as error:
                faults[str(error)] = None
    if session is None or (session.findings and not session.exchanges):
        yield Exchange(source=source, line=line, wire=WEBSOCKET, provider=provider, url=address.url, stream=True)
        return
    if missing:
        yield Problem(source, f"a session without {missing:,} of its messages", line=line)
    for fault in faults:
        yield Problem(source, f"a message of a session was not read: {fault}"[:500], line=line)
    placed = [found for each in session.exchanges for found in each.findings]
    for number, each in enumerate(session.exchanges, 1):
        notes = [*each.findings]
        if number == len(session.exchanges):
            notes += [found for found in session.findings if found not in placed]
        yield Exchange(
            source=source if first is None else f"{source}#{first + number - 1}",
            line=line,
            id=each.response.id,
            provider=provider,
            wire=SESSIONS[session.name].wire,
            stream=True,
            model=each.response.model,
            method="POST",
            url=address.url or None,
            origin=emulation_marker.EMULATED,  # no server sent it in this form, so it becomes no cassette
            request=each.request,
            body=each.body,
            steps=(f"response of a session {session.name}",),
            notes=tuple(notes),
        )
