"""JSON for badge services.

The members are those of shields.io's endpoint badge (https://shields.io/badges/endpoint-badge). With ``isError`` set,
the user of the badge cannot override the colour of a failed run.
"""

from __future__ import annotations

from toolparity.normalizer import json_codec

from .badge import badge_text, label
from .results import Report


def render(report: Report) -> bytes:
    """Render the label, message and colour name of the badge as a JSON object."""
    said = badge_text(report.run)
    told: dict[str, object] = {
        "schemaVersion": 1,
        "label": label(report.run),
        "message": said.text,
        "color": said.colour,
    }
    if said.failed:
        told["isError"] = True
    return json_codec.encode(told) + b"\n"
