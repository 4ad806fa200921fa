"""The header by which emulated providers mark each response, and the check of cassettes against it.

The recorder keeps the header in every interaction, so a cassette whose metadata is relabelled still contains the
marker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: A response header, or gRPC metadata. The replaying server also sends it, with the origin of the cassette.
HEADER = "x-toolparity-origin"
EMULATED = "emulated"

#: Members of an interaction that hold headers. A failed gRPC call has only trailers.
_MEMBERS = ("headers", "trailers")


def proof(response: Mapping[str, Any]) -> str | None:
    """Return the origin that a recorded response declares, or None if it declares none, as with real providers."""
    return next(_declared_origins(response), None)


def contradictions(origin: str, responses: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a message for each interaction whose marker contradicts the cassette's origin.

    In an emulated cassette, an interaction without a marker is also reported. Interactions are numbered from 1.
    """
    for number, response in enumerate(responses, 1):
        declared = proof(response)
        if declared is not None and declared != origin:
            yield f"interaction {number} is marked {declared}, but the cassette is {origin}"
        elif declared is None and origin == EMULATED:
            yield f"interaction {number} lacks the header {HEADER}, which the emulated providers send"


def _declared_origins(response: Mapping[str, Any]) -> Iterator[str]:
    for member in _MEMBERS:
        for name, values in (response.get(member) or {}).items():
            if str(name).lower() == HEADER:
                yield from map(str, values if isinstance(values, list) else [values])
