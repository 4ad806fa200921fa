"""The state diagram of a turn as SVG, drawn from the table of the state machine.

The positions are written here for each arrow, and the labels come from the table. The elements have classes instead of
colours, so that the style sheet of a page applies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from toolparity.turns.machine.state import TurnPhase
from toolparity.turns.machine.table import arrows

WIDTH, HEIGHT = 900, 330
_BOX_WIDTH, _BOX_HEIGHT, _LINE = 118, 44, 15
_MARKER = (
    'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"'
)
_CENTRES: dict[TurnPhase, tuple[int, int]] = {
    "new": (66, 180),
    "asking": (300, 180),
    "acting": (560, 180),
    "over": (830, 180),
}
_MEANINGS: dict[TurnPhase, str] = {
    "new": "not begun",
    "asking": "the model answers",
    "acting": "calls run or wait",
    "over": "the turn has ended",
}


class _Arrow(NamedTuple):
    """``path``: the line. ``x``, ``y``: the middle of the first line of its label."""

    path: str
    x: int
    y: int


_ARROWS: dict[tuple[TurnPhase, TurnPhase], _Arrow] = {
    ("new", "asking"): _Arrow("M125 180H239", 182, 158),
    ("asking", "acting"): _Arrow("M359 180H499", 429, 172),
    ("acting", "over"): _Arrow("M619 180H769", 697, 98),
    ("new", "over"): _Arrow("M66 158V40Q66 24 82 24H834Q850 24 850 40V156", 182, 18),
    ("asking", "over"): _Arrow("M300 158V66Q300 50 316 50H812Q828 50 828 66V156", 564, 68),
    ("acting", "asking"): _Arrow("M560 202V222Q560 238 544 238H330Q314 238 314 222V204", 437, 256),
    ("asking", "asking"): _Arrow("M270 202C240 262 292 262 286 204", 270, 268),
    ("acting", "acting"): _Arrow("M574 202C580 262 632 262 602 204", 668, 256),
}


def state_picture(style: str = "") -> str:
    """Return the diagram as an SVG document. ``style``: a style sheet to embed."""
    return "\n".join(_lines(style)) + "\n"


def _lines(style: str) -> Iterator[str]:
    label = "State diagram of a turn: new, asking, acting, over"
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
    if style:
        yield f"<style>{style}</style>"
    yield f'<defs><marker id="head" {_MARKER}><path d="M0 0L8 4L0 8z" class="head"/></marker></defs>'
    for (source, target), names in arrows().items():
        arrow = _ARROWS[source, target]
        yield f'<g class="arrow" data-from="{source}" data-to="{target}">'
        yield f'<path d="{arrow.path}" marker-end="url(#head)"/>'
        yield from _text(arrow.x, arrow.y, names)
        yield "</g>"
    for phase, (x, y) in _CENTRES.items():
        yield f'<g class="phase" data-phase="{phase}">'
        left, top = x - _BOX_WIDTH // 2, y - _BOX_HEIGHT // 2
        yield f'<rect x="{left}" y="{top}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="8"/>'
        yield f'<text x="{x}" y="{y - 3}" class="name">{phase}</text>'
        yield f'<text x="{x}" y="{y + 13}" class="meaning">{_MEANINGS[phase]}</text>'
        yield "</g>"
    yield "</svg>"


def _text(x: int, y: int, names: list[str]) -> Iterator[str]:
    for number, name in enumerate(names):
        yield f'<text x="{x}" y="{y + number * _LINE}">{name}</text>'
