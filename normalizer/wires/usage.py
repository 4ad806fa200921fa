"""Token usage of the wires of OpenAI, whose servers differ in the members and in the meaning of the output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..model import Usage


def usage_reader(
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    input_details: str,
    output_details: str,
    *,
    cached: tuple[str, ...] = (),
    written: tuple[str, ...] = (),
    reasoning: tuple[str, ...] = (),
) -> Callable[[dict[str, Any] | None], Usage | None]:
    """Return a function that converts the usage object of a wire to the canonical usage; None if there is none.

    The arguments are members of the usage object. If several are listed, the first one that is an int counts.
    ``cached``, ``written``, ``reasoning``: members for figures that the details lack.

    Output tokens include reasoning as documented. If ``total_tokens`` shows that they do not, as on xAI, reasoning is
    added.
    """
    documented_input, documented_output = inputs[0], outputs[0]
    undocumented = frozenset((*inputs[1:], *outputs[1:], *cached, *written, *reasoning))

    def usage(figures: dict[str, Any] | None) -> Usage | None:
        if not figures:
            return None
        get = figures.get
        read, wrote = get(input_details), get(output_details)
        in_count, out_count = get(documented_input), get(documented_output)
        if type(in_count) is int is type(out_count) and undocumented.isdisjoint(figures):  # fast path
            from_cache = to_cache = thought = None
            if type(read) is dict:
                from_cache, to_cache = read.get("cached_tokens"), read.get("cache_write_tokens")
            if type(wrote) is dict:
                thought = wrote.get("reasoning_tokens")
            if (
                (from_cache is None or type(from_cache) is int)
                and (to_cache is None or type(to_cache) is int)
                and (thought is None or type(thought) is int)
                and (not thought or get("total_tokens") != in_count + out_count + thought)
            ):
                return Usage(in_count, out_count, thought, from_cache, to_cache, figures)
        return general(figures)

    def general(figures: dict[str, Any]) -> Usage:
        read, wrote = figures.get(input_details), figures.get(output_details)
        in_count, out_count = first_int(figures, inputs), first_int(figures, outputs)
        from_cache = to_cache = thought = None
        if type(read) is dict:
            from_cache, to_cache = first_int(read, ("cached_tokens",)), first_int(read, ("cache_write_tokens",))
        if type(wrote) is dict:
            thought = first_int(wrote, ("reasoning_tokens",))
        if from_cache is None:
            from_cache = first_int(figures, cached)
        if to_cache is None:
            to_cache = first_int(figures, written)
        if thought is None:
            thought = first_int(figures, reasoning)
        if thought and in_count is not None and out_count is not None:
            total = first_int(figures, ("total_tokens",))
            out_count += thought if total == in_count + out_count + thought else 0
        return Usage(in_count, out_count, thought, from_cache, to_cache, figures)

    return usage


def first_int(figures: dict[str, Any], names: tuple[str, ...]) -> int | None:
    """Return the first of the named figures that is an int, or None."""
    for name in names:
        figure = figures.get(name)
        if type(figure) is int:
            return figure
    return None
