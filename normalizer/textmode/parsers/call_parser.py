"""Interfaces between the scanner and the parsers of calls."""

from __future__ import annotations

import re
from typing import Protocol

from msgspec.structs import replace

from ..scan_events import CallParsed
from ..tags import HOLD, Hold, literal

#: Superfluous brackets and quotes that models write between the end of the JSON and the closing tag.
_SURPLUS = re.compile(r"[\s}\]\",;`]{1,64}")


class CallSink(Protocol):
    """Receiver of the results of a call parser; the scanner implements it."""

    def begin_call(self, name: str | None, id: str | None) -> None: ...
    def add_arguments(self, text: str) -> None: ...

    def admit(self, name: str) -> bool:
        """Count a new call and return True; return False if the limit is reached, after which parsing stops."""

    def end_call(self, ended: CallParsed) -> None: ...
    def report(self, code: str, message: str) -> None: ...

    def doubt_later_calls(self, message: str) -> None:
        """Mark each later call as uncertain when it ends, together with all calls before it."""

    def withdraw(self, text: str) -> None:
        """Withdraw the call: the opening tag and ``text`` after it are plain text."""

    def doubt_earlier_calls(self, message: str) -> None:
        """Mark the calls that ended before this position as uncertain."""


class CallParser(Protocol):
    """Parser of the content of a call, or of several calls that share their tags."""

    done: bool

    def feed(self, buf: str, at: int, final: bool) -> int:
        """Parse from an index and return the index after the consumed text.

        The parser leaves text unconsumed if it ended or if the next chunk has to decide.
        """

    def finish(self) -> None:
        """Report the open call at the end of the text."""

    def awaits(self, tag: str, held: str) -> bool:
        """Return whether only this closing tag is missing, because a stop sequence cut it off.

        ``held``: the text that arrived and is not consumed yet.
        """


def after_surplus(closer: str, buf: str, at: int, final: bool) -> int | Hold | None:
    """Return the index after superfluous characters, at which the closing tag is; None if it is not there."""
    surplus = _SURPLUS.match(buf, at)
    if surplus is None:
        return None
    if surplus.end() == len(buf) and not final:
        return HOLD
    closed = literal(closer, buf, surplus.end(), final)
    return HOLD if closed is HOLD else surplus.end() if closed else None


def as_invalid(ended: CallParsed) -> CallParsed:
    """Return the call with the status "invalid", because its markup is malformed."""
    return replace(ended, status="invalid")
