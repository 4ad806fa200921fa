"""The badge, and the JSON from which services make one: one message, reported right, for everyone to read."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import jsonschema
import pytest

from toolparity.reports import badge
from toolparity.reports.results import Kill, LawInfo, Report, Run
from toolparity.reports.statistics import count_verdicts

from .golden import golden, result, run, verdict

SVG = "{http://www.w3.org/2000/svg}"
LAWS = [LawInfo("order", "Order.", "must")]

#: The members of shields.io's endpoint badge that may be given, with their types.
ENDPOINT = {
    "type": "object",
    "properties": {
        "schemaVersion": {"const": 1},
        "label": {"type": "string"},
        "message": {"type": "string", "minLength": 1},
        "color": {"enum": ["brightgreen", "green", "yellowgreen", "yellow", "orange", "red", "blue", "lightgrey"]},
        "isError": {"type": "boolean"},
    },
    "required": ["schemaVersion", "label", "message"],
    "additionalProperties": False,
}


def cases(**counts: int) -> Run:
    """So many cases with each outcome."""
    places = [outcome for outcome, count in counts.items() for _ in range(count)]
    return run(*(result(verdict(outcome), scenario=f"s{number}") for number, outcome in enumerate(places)))


RUNS: dict[str, tuple[Run, str, str, bool]] = {
    "all well": (cases(**{"pass": 3}), "3 of 3 cases pass", "brightgreen", False),
    "what is not claimed does not count": (
        cases(**{"pass": 2, "unsupported": 9}),
        "2 of 2 cases pass",
        "brightgreen",
        False,
    ),
    "an expected failure is no pass": (cases(**{"pass": 2, "expected": 1}), "2 of 3 cases pass", "yellow", False),
    "a new failure is no pass": (cases(**{"pass": 2, "new": 1}), "2 of 3 cases pass", "yellow", False),
    "a failure": (cases(**{"pass": 1_200, "fail": 1}), "1,200 of 1,201 cases pass", "red", True),
    "a fault": (cases(error=1), "0 of 1 cases pass", "red", True),
    "a stale baseline": (cases(**{"pass": 1, "stale": 1}), "2 of 2 cases pass, stale baseline", "red", True),
    "nothing": (run(), "nothing ran", "lightgrey", False),
    "only what is not claimed": (cases(unsupported=3), "nothing ran", "lightgrey", False),
    "the kill matrix": (
        Run("1", "", {}, [], LAWS, [], [], kills=[Kill("a", "order", "A.", {"order": 1})]),
        "1 of 1 known-bad subjects caught",
        "brightgreen",
        False,
    ),
    "a hole in it": (
        Run("1", "", {}, [], LAWS, [], [], kills=[Kill("a", "order", "A.", {})]),
        "0 of 1 known-bad subjects caught",
        "red",
        True,
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_endpoint_says_how_it_went_in_the_form_of_badge_services(name: str) -> None:
    made, text, colour, failed = RUNS[name]
    badge_data = json.loads(badge.render_endpoint(Report(made)))
    jsonschema.validate(badge_data, ENDPOINT)
    assert badge_data["label"] == ("tool calls: mine" if made.subjects else "tool calls")
    assert (badge_data["message"], badge_data["color"], badge_data.get("isError", False)) == (text, colour, failed)


@pytest.mark.parametrize("name", RUNS)
def test_the_badge_says_the_same_and_says_it_to_who_cannot_see_it(name: str) -> None:
    made, text, colour, _ = RUNS[name]
    root = ElementTree.fromstring(badge.render(Report(made)))
    assert [one.text for one in root.iter(f"{SVG}text")] == [badge.badge_text(made, count_verdicts(made)).label, text]
    assert root.findtext(f"{SVG}title") == f"{badge.badge_text(made, count_verdicts(made)).label}: {text}"
    assert root.get("role") == "img"
    assert root.get("aria-label") == f"{badge.badge_text(made, count_verdicts(made)).label}: {text}"
    assert badge.COLOURS[colour] in {one.get("fill") for one in root.iter(f"{SVG}rect")}


def test_the_texts_lie_inside_their_halves() -> None:
    root = ElementTree.fromstring(badge.render(Report(cases(**{"pass": 1_234, "fail": 1}))))
    halves = [one for one in root.iter(f"{SVG}rect") if one.get("fill")]
    for half, text in zip(halves, root.iter(f"{SVG}text"), strict=True):
        left, width = int(half.get("x", "0")), int(half.get("width", ""))
        middle, length = float(text.get("x", "")), int(text.get("textLength", ""))
        assert left + 5 <= middle - length / 2
        assert middle + length / 2 <= left + width - 5


def test_the_badge_loads_nothing() -> None:
    text = badge.render(Report(golden())).decode()
    assert text.count("http") == 1  # the name of SVG
    assert "<script" not in text
    assert "href" not in text


@pytest.mark.parametrize("colour", badge.COLOURS.values())
def test_white_is_legible_on_each_colour(colour: str) -> None:
    """By the contrast of WCAG 2.1: 4.5 to 1 for small text."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    assert 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) >= 4.5
