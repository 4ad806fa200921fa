"""Canonical events that a stream decoder returns while a response arrives.

Use events to display a response, never to run calls: only the `Response` that ``finish()`` returns determines which
calls may run. ``choice`` is the index of the choice. ``key`` identifies a block for the duration of the stream: 0, 1, …
in order of first appearance within its choice. The block's index in the final response can differ on wires that do not
order their blocks (openai.chat).
"""

from __future__ import annotations

from msgspec import Struct

from .model import Error, Reasoning, Stop, Usage


class BlockStart(Struct, tag="block_start", tag_field="type", frozen=True, gc=False):
    """A block begins. ``block`` is its canonical type; a call also has its ``id`` and ``name`` if they are known."""

    choice: int
    key: int
    block: str
    id: str | None = None
    name: str | None = None


class BlockDelta(Struct, tag="block_delta", tag_field="type", frozen=True, gc=False):
    """The next part of a block: text, reasoning, refusal, or the next fragment of a call's argument text."""

    choice: int
    key: int
    text: str


class BlockReset(Struct, tag="block_reset", tag_field="type", frozen=True, gc=False):
    """``text`` replaces the content of this block so far, because the server repeats it instead of continuing."""

    choice: int
    key: int
    text: str


class BlockStop(Struct, tag="block_stop", tag_field="type", frozen=True, gc=False):
    """The wire reported that this block is complete.

    ``sealed``: the parts of a reasoning block that only the provider can read (`Reasoning.signature`, ``encrypted``);
    its ``text`` is empty, since the deltas had it. None if there are none, and for all other blocks.
    """

    choice: int
    key: int
    sealed: Reasoning | None = None


class ChoiceStop(Struct, tag="choice_stop", tag_field="type", frozen=True, gc=False):
    """The wire reported a stop reason. ``stop`` is its canonical form, before the content of the choice corrects it."""

    choice: int
    stop: Stop


class UsageUpdate(Struct, tag="usage", tag_field="type", frozen=True, gc=False):
    """Token counts so far."""

    usage: Usage


class StreamError(Struct, tag="error", tag_field="type", frozen=True, gc=False):
    """The provider, or a proxy in front of it, reported an error."""

    error: Error


Event = BlockStart | BlockDelta | BlockReset | BlockStop | ChoiceStop | UsageUpdate | StreamError
