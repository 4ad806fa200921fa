"""What reads the inside of calls, from an opening tag to its closing one, and whom it tells what it finds."""

from __future__ import annotations

import re
from typing import Protocol

from msgspec.structs import replace

from .jsonparts import Site as CallSite
from .scan_events import Ended

#: What models leave between the end of the JSON and the closing tag: brackets and quotes too many.
LEFT_OVER = re.compile(r"[\s}\]\",;`]{1,64}")


class Site(CallSite, Protocol):
    """Whom a body tells what it finds."""

    def admit(self, name: str) -> bool:
        """Whether one more call may begin: false where the limit is reached, and then nothing more is read."""

    def end(self, ended: Ended) -> None: ...
    def note(self, code: str, message: str) -> None: ...

    def doubt(self, message: str) -> None:
        """No call that ends later in this text is certain, nor is one before it."""

    def unread(self, text: str) -> None:
        """The opening tag was a word, as all behind it is: no call began."""

    def mistrust(self, message: str) -> None:
        """No call that ended before this place is certain."""


class Body(Protocol):
    """The inside of a call, or of several that share their tags."""

    done: bool

    def feed(self, buf: str, at: int, final: bool) -> int:
        """Take what belongs to the body; the place behind it. Less than all is taken where the next piece will tell."""

    def finish(self) -> None:
        """The text ended here: what was open is told as far as it came."""

    def awaits(self, tag: str, held: str) -> bool:
        """Whether this closing tag is all that is missing (a stop sequence keeps it from arriving).

        ``held``: what arrived and was not taken yet.
        """


def broken(ended: Ended) -> Ended:
    """The same call, its markup no longer to be trusted."""
    return replace(ended, status="invalid")
