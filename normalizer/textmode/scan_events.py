"""Steps that a scanner returns for a text: fragments of text and reasoning, and the parts of calls.

The concatenated steps do not depend on how the text was split into chunks (law `any-split`).
"""

from __future__ import annotations

from msgspec import Struct

from ..model import CallStatus


class TextFragment(Struct, frozen=True, gc=False):
    """Unchanged text for the user."""

    text: str


class ReasoningFragment(Struct, frozen=True, gc=False):
    """Text between ``<think>`` and its closing tag."""

    text: str


class ReasoningEnded(Struct, frozen=True, gc=False):
    """The reasoning ended; later reasoning is another block."""


class RevisedToReasoning(Struct, frozen=True, gc=False):
    """All content since the beginning of the text, or since the last reasoning ended, was reasoning.

    Only its closing tag is in the text. ``text``: the exact content, including markup.
    """

    text: str


class CallOpened(Struct, frozen=True, gc=False):
    """A call begins. ``name``: None if it follows the arguments."""

    name: str | None = None
    id: str | None = None


class ArgumentsFragment(Struct, frozen=True, gc=False):
    """A fragment of the argument text, as JSON. It is a preview that `CallParsed` may correct."""

    text: str


class CallParsed(Struct, frozen=True, gc=False):
    """A call ended.

    ``text``: its argument text, which is the JSON in the text or compact JSON of the parameters (``respelled``); for
    malformed markup, the raw content of the call. ``status``: "complete" unless the markup contradicts it.
    ``unclosed``: its closing tag is missing. ``endless``: it has no closing tag and ends with the text. ``corrected``:
    ``text`` differs from the concatenated `ArgumentsFragment` steps.
    """

    name: str
    id: str | None
    text: str
    status: CallStatus = "complete"
    respelled: bool = False
    unclosed: bool = False
    endless: bool = False
    corrected: bool = False


class FindingReported(Struct, frozen=True, gc=False):
    """A finding: a code of `toolparity.normalizer.findings` and its message."""

    code: str
    message: str


class CallsDoubted(Struct, frozen=True, gc=False):
    """Later text shows that earlier calls may be wrong. ``calls``: the number of last calls concerned; None for all."""

    message: str
    calls: int | None = None


class CallOverLimit(Struct, frozen=True, gc=False):
    """A call over the limit begins; the scanner ignores the rest.

    ``number``: the number of the call, 2 for the second. ``name``: "" if only its opening tag arrived.
    """

    number: int
    name: str


ScanEvent = (
    TextFragment
    | ReasoningFragment
    | ReasoningEnded
    | RevisedToReasoning
    | CallOpened
    | ArgumentsFragment
    | CallParsed
    | FindingReported
    | CallsDoubted
    | CallOverLimit
)
