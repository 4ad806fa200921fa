"""The JSON from which badge services make a badge.

The members are those of shields.io's endpoint badge (https://shields.io/badges/endpoint-badge): ``isError`` keeps
others from giving the badge of a failed run another colour.
"""

from __future__ import annotations

from toolparity.normalizer import json_codec

from .badge import label, message
from .results import Report


def render(report: Report) -> bytes:
    """An object with what the badge says, and its colour by name."""
    said = message(report.run)
    told: dict[str, object] = {
        "schemaVersion": 1,
        "label": label(report.run),
        "message": said.text,
        "color": said.colour,
    }
    if said.failed:
        told["isError"] = True
    return json_codec.encode(told) + b"\n"
