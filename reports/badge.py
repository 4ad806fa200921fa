"""Badge: the headline of a run as a small self-contained SVG, and as JSON for badge services."""

from __future__ import annotations

from typing import NamedTuple
from xml.sax.saxutils import escape

from toolparity.normalizer import json_codec

from .kill_matrix import surviving_mutants
from .results import BAD, Report, Run
from .sentences import passing_text, population_text
from .statistics import Figures, count_verdicts
from .subject_groups import leading

LABEL = "tool calls"

#: Colour name of badge services -> hex value. White text on each has a contrast of at least 4.5 to 1.
COLOURS = {"brightgreen": "#2f7d12", "yellow": "#8f6a00", "red": "#c0341d", "lightgrey": "#6a6a6a"}

#: Widths in pixels of the characters in an 11 pixel sans-serif face. Other characters count as the widest.
_WIDTHS = {
    **dict.fromkeys("0123456789", 7.0),
    **dict.fromkeys("acdeghknopsuvxyz", 6.8),
    **dict.fromkeys("bq", 6.9),
    **dict.fromkeys("rt", 4.6),
    **dict.fromkeys("fijl", 3.6),
    **dict.fromkeys(" ,.", 4.0),
}
_WIDEST, _PADDING = 10.0, 6


class BadgeText(NamedTuple):
    """The text of a badge. ``colour`` is a key of `COLOURS`; ``failed`` is True if the run fails.

    ``label``: the left half, which names the subjects that the right half is about.
    """

    label: str
    text: str
    colour: str
    failed: bool


def badge_text(run: Run, counts: Figures) -> BadgeText:
    """Return how many of the applicable cases pass, of the implementations if the run has any.

    Failures that a baseline expects do not pass.
    """
    subjects = leading(run, counts)
    label = ": ".join(filter(None, (LABEL, population_text(subjects))))
    failed = any(counts.total.get(outcome) for outcome in BAD) or bool(surviving_mutants(run))
    applicable = sum(item.cases.applicable for item in subjects)
    if not applicable and not run.kills:
        return BadgeText(label, "nothing ran", "lightgrey", failed)
    text = passing_text(subjects) if applicable else _killed(run)
    if counts.total["stale"]:
        text += ", stale baseline"
    whole = not any(item.cases.lacking for item in subjects)
    return BadgeText(label, text, "red" if failed else "brightgreen" if whole else "yellow", failed)


def _killed(run: Run) -> str:
    return f"{len(run.kills) - len(surviving_mutants(run)):,} of {len(run.kills):,} known-bad subjects caught"


def render(report: Report) -> bytes:
    """Render the badge as SVG, 20 pixels high."""
    badge = badge_text(report.run, count_verdicts(report.run))
    left, right = _width(badge.label), _width(badge.text)
    title = escape(f"{badge.label}: {badge.text}")
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{title}">
  <title>{title}</title>
  <clipPath id="round"><rect width="{left + right}" height="20" rx="3"/></clipPath>
  <g clip-path="url(#round)">
    <rect width="{left}" height="20" fill="#444"/>
    <rect x="{left}" width="{right}" height="20" fill="{COLOURS[badge.colour]}"/>
  </g>
  <g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">
    {_text(badge.label, left / 2, left)}
    {_text(badge.text, left + right / 2, right)}
  </g>
</svg>
""".encode()


def render_endpoint(report: Report) -> bytes:
    """Render the badge as the JSON of shields.io's endpoint badge (https://shields.io/badges/endpoint-badge).

    With ``isError`` set, the user of the badge cannot override the colour of a failed run.
    """
    badge = badge_text(report.run, count_verdicts(report.run))
    members = {"schemaVersion": 1, "label": badge.label, "message": badge.text, "color": badge.colour}
    return json_codec.encode(members | ({"isError": True} if badge.failed else {})) + b"\n"


def _text(text: str, middle: float, width: int) -> str:
    """Return a text element that is stretched to the computed width, whatever the font is."""
    return f'<text x="{middle:g}" y="14" textLength="{width - 2 * _PADDING}">{escape(text)}</text>'


def _width(text: str) -> int:
    return round(sum(_WIDTHS.get(character, _WIDEST) for character in text)) + 2 * _PADDING
