"""The badge, and the JSON from which services make one: the same message in both."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import jsonschema

from toolparity.reports import badge
from toolparity.reports.results import Kill, LawInfo, Report, Run

from .golden import result, run, verdict

SVG = "{http://www.w3.org/2000/svg}"
COLOURS = ["brightgreen", "green", "yellowgreen", "yellow", "orange", "red", "blue", "lightgrey"]
#: The members of shields.io's endpoint badge that may be given, with their types.
ENDPOINT = {
    "type": "object",
    "properties": {
        "schemaVersion": {"const": 1},
        "label": {"type": "string"},
        "message": {"type": "string", "minLength": 1},
        "color": {"enum": COLOURS},
        "isError": {"type": "boolean"},
    },
    "required": ["schemaVersion", "label", "message"],
    "additionalProperties": False,
}


def cases(**counts: int) -> Run:
    """A run with so many cases of each outcome. ``passed``: those that pass."""
    outcomes = [outcome.replace("passed", "pass") for outcome, count in counts.items() for _ in range(count)]
    return run(*(result(verdict(outcome), scenario=f"s{number}") for number, outcome in enumerate(outcomes)))


def kills(by: dict[str, int]) -> Run:
    return Run("1", "", {}, [], [LawInfo("order", "Order.", "must")], [], [], kills=[Kill("a", "order", "A.", by)])


#: Run, message, colour.
RUNS: list[tuple[Run, str, str]] = [
    (cases(passed=3), "3 of 3 cases pass", "brightgreen"),
    (cases(passed=2, unsupported=9), "2 of 2 cases pass", "brightgreen"),
    (cases(passed=2, expected=1), "2 of 3 cases pass", "yellow"),
    (cases(passed=2, new=1), "2 of 3 cases pass", "yellow"),
    (cases(passed=1_200, fail=1), "1,200 of 1,201 cases pass", "red"),
    (cases(error=1), "0 of 1 cases pass", "red"),
    (cases(passed=1, stale=1), "2 of 2 cases pass, stale baseline", "red"),
    (run(), "nothing ran", "lightgrey"),
    (cases(unsupported=3), "nothing ran", "lightgrey"),
    (kills({"order": 1}), "1 of 1 known-bad subjects caught", "brightgreen"),
    (kills({}), "0 of 1 known-bad subjects caught", "red"),
]


def test_the_badge_and_the_endpoint_of_badge_services_have_one_message_and_colour() -> None:
    for made, message, colour in RUNS:
        label = "tool calls: mine" if made.subjects else "tool calls"
        endpoint = json.loads(badge.render_endpoint(Report(made)))
        jsonschema.validate(endpoint, ENDPOINT)
        assert (endpoint["label"], endpoint["message"], endpoint["color"]) == (label, message, colour)
        assert endpoint.get("isError", False) is (colour == "red")
        root = ElementTree.fromstring(badge.render(Report(made)))
        assert [one.text for one in root.iter(f"{SVG}text")] == [label, message]
        assert root.findtext(f"{SVG}title") == root.get("aria-label") == f"{label}: {message}"
        assert root.get("role") == "img"
        assert badge.COLOURS[colour] in {one.get("fill") for one in root.iter(f"{SVG}rect")}


def test_the_texts_lie_inside_their_halves() -> None:
    root = ElementTree.fromstring(badge.render(Report(cases(passed=1_234, fail=1))))
    halves = [one for one in root.iter(f"{SVG}rect") if one.get("fill")]
    for half, text in zip(halves, root.iter(f"{SVG}text"), strict=True):
        left, width = int(half.get("x", "0")), int(half.get("width", ""))
        middle, length = float(text.get("x", "")), int(text.get("textLength", ""))
        assert left + 5 <= middle - length / 2
        assert middle + length / 2 <= left + width - 5


def test_white_is_legible_on_each_colour() -> None:
    """By the contrast of WCAG 2.1: 4.5 to 1 for small text."""
    for name, colour in badge.COLOURS.items():
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        assert 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) >= 4.5, name
