"""The proof of emulation: what the emulated providers send with every answer, and what cassettes keep of it.

It stands among the interactions, where the recorder found it on the line: a cassette that is relabelled still holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: A response header, or metadata of gRPC. The replaying server tells the origin of what it gives by it, too.
HEADER = "x-toolparity-origin"
EMULATED = "emulated"

#: Where an interaction keeps headers: gRPC's refusals have nothing but trailers.
_MEMBERS = ("headers", "trailers")


def proof(response: Mapping[str, Any]) -> str | None:
    """What a recorded response says of its own origin; null where it says nothing, as real providers do."""
    return next(_told(response), None)


def contradictions(origin: str, responses: list[dict[str, Any]]) -> Iterator[str]:
    """Interactions that say another origin than the cassette does, and those of an emulated one that say nothing."""
    for number, response in enumerate(responses, 1):
        told = proof(response)
        if told is not None and told != origin:
            yield f"interaction {number} says that it is {told}, and the cassette that it is {origin}"
        elif told is None and origin == EMULATED:
            yield f"interaction {number} lacks the header {HEADER}, which our servers send"


def _told(response: Mapping[str, Any]) -> Iterator[str]:
    for member in _MEMBERS:
        for name, values in (response.get(member) or {}).items():
            if str(name).lower() == HEADER:
                yield from map(str, values if isinstance(values, list) else [values])
