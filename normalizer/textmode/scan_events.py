"""What a scanner says of a text, piece by piece: the words between two markups, and what the markups mean.

Joined, the steps of a text are the same however the text was cut (law `any-split`).
"""

from __future__ import annotations

from msgspec import Struct

from ..model import CallStatus


class Words(Struct, frozen=True, gc=False):
    """Words for the user, exactly as they stood."""

    text: str


class Thought(Struct, frozen=True, gc=False):
    """Words between ``<think>`` and its closing tag."""

    text: str


class ThoughtEnd(Struct, frozen=True, gc=False):
    """The thinking is over; what is thought later is another block."""


class Withdrawn(Struct, frozen=True, gc=False):
    """All that was said since the text began, or since thinking ended, was thinking: its opening tag stood before it.

    ``text``: exactly what stood there, markup and all.
    """

    text: str


class Began(Struct, frozen=True, gc=False):
    """A call begins. ``name``: null where it stands behind the arguments."""

    name: str | None = None
    id: str | None = None


class Grew(Struct, frozen=True, gc=False):
    """More of the call's argument text, as JSON; a preview, which `Ended` may correct."""

    text: str


class Ended(Struct, frozen=True, gc=False):
    """A call is over.

    ``text``: its arguments: the JSON that stood there, or compact JSON of the parameters (``respelled``); of a call
    whose markup is broken, what stood in it. ``status``: "complete", unless the markup itself says otherwise.
    ``unclosed``: its closing tag is missing; ``endless``: it has none, and goes on to the end of the text.
    ``corrected``: ``text`` is not what the steps before it add up to.
    """

    name: str
    id: str | None
    text: str
    status: CallStatus = "complete"
    respelled: bool = False
    unclosed: bool = False
    endless: bool = False
    corrected: bool = False


class Noted(Struct, frozen=True, gc=False):
    """Something to tell: a code of `toolparity.normalizer.findings` and its message."""

    code: str
    message: str


class Doubted(Struct, frozen=True, gc=False):
    """What follows shows that calls are none, or did not end where they seemed to: the last so many; null for all."""

    message: str
    calls: int | None = None


class Over(Struct, frozen=True, gc=False):
    """A tool over the limit begins: nothing after it is read. ``name``: "" where only its opening tag was seen."""

    number: int
    name: str


Step = Words | Thought | ThoughtEnd | Withdrawn | Began | Grew | Ended | Noted | Doubted | Over
