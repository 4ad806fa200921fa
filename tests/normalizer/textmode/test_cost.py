"""Reading a text costs time linear in its length and holds back no more than a tag, whatever the text is made of.

Nothing here is timed. What is counted is the work: calls of functions, in Python and below, and the characters that the
scanner is handed. Both are the same in every run.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.normalizer.textmode.texts import AT_ONCE, OPENINGS, TOKENS, dialects
from tests.support.counting import function_calls
from tests.support.events import cut
from toolparity.normalizer import json_codec
from toolparity.normalizer.textmode import DIALECTS
from toolparity.normalizer.textmode.dialect import WrittenCall, WrittenResult
from toolparity.normalizer.textmode.parsers.coercion import tool_schemas
from toolparity.normalizer.textmode.scan_events import ArgumentsFragment, CallParsed
from toolparity.normalizer.textmode.scanner import Scanner
from toolparity.normalizer.textmode.tags import LONGEST_GAP, LONGEST_TAG

#: What may be held back: a wrapping tag, the white space behind it and a tag; two of each where a call ends in both.
MOST_HELD = 2 * (LONGEST_TAG + LONGEST_GAP) + 64
#: White space beside markup, which is layout there.
MOST_LAYOUT = 4096
MEGABYTE = 1_000_000
LINE = 'if a < b: print("x", {1: [2]})  # <b> &amp; `c` \\n is no line break\n'


#: What is not markup, and makes a scanner look twice.
HARD = [*" \n<`aé", "</", "~~~", "```\n", "`` ", "<think>", "</think>\n", '"', "\\", "{", "[T", "word "]


class Counted(Scanner):
    """A scanner that counts the characters it looks at."""

    characters = 0

    def _run(self, final: bool) -> None:
        self.characters += len(self._buf)
        super()._run(final)


def read(name: str, text: str, size: int) -> tuple[Counted, list[Any]]:
    scanner = Counted(dialects(name), tool_schemas(None))
    steps = []
    for piece in cut(text, size or len(text)):
        steps += scanner.feed(piece)
    return scanner, steps + scanner.finish()


def work(name: str, text: str, size: int) -> int:
    """How many functions the reading of a text calls, those written in C too."""
    return function_calls(lambda: read(name, text, size))


def written(name: str, size: int) -> tuple[str, dict[str, str]]:
    """A call with one argument of a size."""
    given = {"content": (LINE * (size // len(LINE) + 1))[:size]}
    return DIALECTS[name].write_calls([WrittenCall("functions.f:0", "f", given, json_codec.text(given))]), given


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("name", TOKENS)
def test_a_parameter_of_a_megabyte_is_read_whole_and_little_is_held_back(name: str) -> None:
    text, given = written(name, MEGABYTE)
    for size in (0, 1000):
        scanner, steps = read(name, text, size)
        (ended,) = (step for step in steps if isinstance(step, CallParsed))
        assert json_codec.decode(ended.text) == given
        assert ended.status == "complete"
        assert scanner.longest_held <= 64
        assert scanner.characters <= len(text) + (len(text) // (size or len(text)) + 2) * scanner.longest_held


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("size", [0, 3], ids=["whole", "in small pieces"])
def test_twice_the_parameter_is_twice_the_work(name: str, size: int) -> None:
    small, large = (work(name, written(name, length)[0], size) for length in (8000, 16000))
    assert large <= 2.1 * small + 100


@pytest.mark.parametrize("name", [name for name in OPENINGS if name not in AT_ONCE])
def test_arguments_grow_while_they_arrive(name: str) -> None:
    scanner = Scanner(dialects(name), tool_schemas(None))
    scanner.feed(OPENINGS[name])
    for letter in "abcdefgh":
        (step,) = scanner.feed(letter)
        assert step == ArgumentsFragment(letter)


def floods() -> list[Any]:
    return [
        pytest.param(name, lead, unit, id=f"{name}: {lead[:12]!r} {unit!r}")
        for name, own in TOKENS.items()
        for lead in ("", OPENINGS[name])
        for unit in dict.fromkeys([*own, *HARD, OPENINGS[name]])
    ]


@pytest.mark.thorough(keep=2, per="{name}")
@pytest.mark.parametrize(("name", "lead", "unit"), floods())
def test_no_flood_of_one_thing_costs_more_than_its_length(name: str, lead: str, unit: str) -> None:
    """Any tag, or what looks like the beginning of one, over and over: outside of calls and inside a value."""
    texts = [lead + unit * (size // len(unit)) for size in (600, 1200)]
    for size in (0, 5):
        small, large = (work(name, text, size) for text in texts)
        assert large <= 2.3 * small + 300
    for size in (0, 1):
        scanner, _ = read(name, texts[0], size)
        assert scanner.longest_held <= MOST_HELD + (MOST_LAYOUT if unit.isspace() else 0)
        assert scanner.characters <= len(texts[0]) + (len(texts[0]) // (size or len(texts[0])) + 2) * MOST_HELD


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("name", TOKENS)
def test_results_are_read_in_a_time_linear_in_their_length(name: str) -> None:
    """Whatever a tool returned: as many results as it likes, JSON that does not end, and deep JSON."""
    form = DIALECTS[name]
    one = form.write_results([WrittenResult("functions.f:0", "f", "a", False)])
    opened = form.write_results([WrittenResult("functions.f:0", "f", '{"a": [', False)])
    for unit in (one, opened, one[: len(one) // 2], '{"a": "', "[", "</tool_name><stdout>"):
        made = [
            form.write_results([WrittenResult("functions.f:0", "f", unit * count, False)])
            for count in (200, 400, 20_000)
        ]
        small, large = (function_calls(lambda text=text: form.parse_results(text)) for text in made[:2])
        assert large <= 2.3 * small + 300, unit
        form.parse_results(made[2])
