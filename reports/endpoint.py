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
    badge = badge_text(report.run)
    members: dict[str, object] = {
        "schemaVersion": 1,
        "label": label(report.run),
        "message": badge.text,
        "color": badge.colour,
    }
    if badge.failed:
        members["isError"] = True
    return json_codec.encode(members) + b"\n"
