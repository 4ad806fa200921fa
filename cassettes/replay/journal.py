"""Journal of the last requests: what was asked, which cassette answered, or why none did."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from itertools import count
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import instructions

#: How many requests are kept.
KEPT = 200
_STATE = "journal.entry"


class JournalEntry(Struct):
    """One request. ``status``: the HTTP status or the gRPC status code, None until the response begins.

    ``cassette``: the location of the response in the library. ``why``: why no cassette answered.
    """

    number: int
    time: str
    method: str
    path: str
    scenario: str | UnsetType = UNSET
    fault: str | UnsetType = UNSET
    surface: str | UnsetType = UNSET
    status: int | str | None = None
    cassette: str | UnsetType = UNSET
    why: str | UnsetType = UNSET


class Journal:
    """The last requests of a server."""

    def __init__(self) -> None:
        self._entries: deque[JournalEntry] = deque(maxlen=KEPT)
        self._numbers = count(1)

    def begin(self, method: str, path: str, scenario: str | None = None, fault: str | None = None) -> JournalEntry:
        """Add a request and return its entry, to be completed."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        entry = JournalEntry(next(self._numbers), now, method, path, scenario or UNSET, fault or UNSET)
        self._entries.append(entry)
        return entry

    @property
    def entries(self) -> list[JournalEntry]:
        """The entries, the last one first."""
        return list(reversed(self._entries))


class KeepsJournal:
    """Middleware that adds each request to a journal. Requests for the page and of CORS are left out."""

    def __init__(self, app: ASGIApp, journal: Journal) -> None:
        self._app = app
        self._journal = journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == "/" or scope["method"] == "OPTIONS":
            await self._app(scope, receive, send)
            return
        ordered = instructions.of(scope)
        fault = ordered.fault.text if ordered.fault is not None else None
        entry = self._journal.begin(scope["method"], scope["path"], ordered.scenario, fault)
        scope["state"][_STATE] = entry

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                entry.status = message["status"]
            await send(message)

        await self._app(scope, receive, noting)


def entry_of(scope: Scope) -> JournalEntry:
    """Return the entry of a request."""
    entry: Any = scope["state"].get(_STATE)
    return entry if isinstance(entry, JournalEntry) else JournalEntry(0, "", scope["method"], scope["path"])
