"""What a stream decoder tells while the answer arrives: for showing, never for acting.

``key`` names a block for its life in the stream (0, 1, … in order of first appearance within its choice); the block's
place in the final response can differ on wires that do not order their blocks (openai.chat). Only the `Response` of
``finish()`` says which calls may run.
"""

from __future__ import annotations

from msgspec import Struct

from .model import Error, Stop, Usage


class BlockStart(Struct, tag="block_start", tag_field="type", frozen=True, gc=False):
    """A block begins. ``block``: its canonical type; ``id`` and ``name`` where it is a call and they are known."""

    choice: int
    key: int
    block: str
    id: str | None = None
    name: str | None = None


class BlockDelta(Struct, tag="block_delta", tag_field="type", frozen=True, gc=False):
    """More of a block: text, reasoning, refusal words, or the next piece of a call's argument text."""

    choice: int
    key: int
    text: str


class BlockReset(Struct, tag="block_reset", tag_field="type", frozen=True, gc=False):
    """What was shown of this block is replaced by ``text`` (a server that repeats instead of continuing)."""

    choice: int
    key: int
    text: str


class BlockStop(Struct, tag="block_stop", tag_field="type", frozen=True, gc=False):
    """The wire said that this block is whole."""

    choice: int
    key: int


class ChoiceStop(Struct, tag="choice_stop", tag_field="type", frozen=True, gc=False):
    """The wire gave a stop reason; ``stop`` is the wire's word mapped, before content is weighed against it."""

    choice: int
    stop: Stop


class UsageUpdate(Struct, tag="usage", tag_field="type", frozen=True, gc=False):
    """Token figures so far."""

    usage: Usage


class StreamError(Struct, tag="error", tag_field="type", frozen=True, gc=False):
    """The provider, or something on the way, reported an error."""

    error: Error


Event = BlockStart | BlockDelta | BlockReset | BlockStop | ChoiceStop | UsageUpdate | StreamError
