"""Token usage of the wires of OpenAI, whose servers differ in the members and in the meaning of the output."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ..model import Usage


class UsageMembers(Struct, frozen=True):
    """The members of a wire's usage object. If several are listed, the first one that is an int counts.

    ``cached``, ``written``, ``reasoning``: members for figures that the details lack.
    """

    input: tuple[str, ...]
    output: tuple[str, ...]
    input_details: str
    output_details: str
    cached: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()


def read_usage(figures: dict[str, Any] | None, members: UsageMembers) -> Usage | None:
    """Return the canonical usage; None if there is none.

    Output tokens include reasoning as documented. If ``total_tokens`` shows that they do not, as on xAI, reasoning is
    added.
    """
    if not figures:
        return None
    get = figures.get
    input, output = get(members.input[0]), get(members.output[0])
    read, wrote = get(members.input_details), get(members.output_details)
    if type(read) is dict is type(wrote) and type(input) is int is type(output):  # fast path: the documented form
        cached, written, reasoning = (
            read.get("cached_tokens"),
            read.get("cache_write_tokens"),
            wrote.get("reasoning_tokens"),
        )
        known = type(cached) is int is type(reasoning) and (written is None or type(written) is int)
        if known and (not reasoning or get("total_tokens") != input + output + reasoning):
            if written is None:
                written = first_int(figures, *members.written)
            return Usage(input, output, reasoning, cached, written, figures)
    input, output = first_int(figures, *members.input), first_int(figures, *members.output)
    cached = written = reasoning = None
    if type(read) is dict:
        cached, written = first_int(read, "cached_tokens"), first_int(read, "cache_write_tokens")
    if type(wrote) is dict:
        reasoning = first_int(wrote, "reasoning_tokens")
    if cached is None:
        cached = first_int(figures, *members.cached)
    if written is None:
        written = first_int(figures, *members.written)
    if reasoning is None:
        reasoning = first_int(figures, *members.reasoning)
    if reasoning and None not in (input, output) and first_int(figures, "total_tokens") == input + output + reasoning:  # type: ignore[operator]
        output += reasoning  # type: ignore[operator]
    return Usage(input, output, reasoning, cached, written, figures)


def first_int(figures: dict[str, Any], *names: str) -> int | None:
    """Return the first of the named figures that is an int, or None."""
    for name in names:
        figure = figures.get(name)
        if type(figure) is int:
            return figure
    return None
