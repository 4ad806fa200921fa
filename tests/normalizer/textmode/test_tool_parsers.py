"""The page about the tool parsers of servers: each of its notations is read, reported or words, as its rows say."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest

from tests.conformance.pages import DOCS
from tests.normalizer.failures.test_textmode import F, answer, read
from tests.normalizer.textmode.texts import page_calls, pieces, scanned
from tests.support.decoding import codes, shapes
from toolparity.normalizer.textmode import DIALECTS, detect, report
from toolparity.normalizer.textmode.detect import SIGNS
from toolparity.normalizer.textmode.scanner import THINKING

TEXT = (DOCS / "tool-parsers.md").read_text("utf-8")
PARSERS = re.findall(r"^\| (vLLM|SGLang) \| `(\S+)` \| `([\w-]+)` \| ([\w ]+) \| `\w+` \|$", TEXT, re.MULTILINE)
#: Notation -> its dialect, or what a finding calls it, or "", and a call.
NOTATIONS = {name: (name, call) for name, call in page_calls().items()} | {
    name: (dialect, call.replace("\\|", "|"))
    for name, dialect, call in re.findall(r"^\| `([\w-]+)` \| `?([\w-]*)`? ?\| `([^`]+)` \|$", TEXT, re.MULTILINE)
}


def result(notation: str) -> str:
    dialect, _ = NOTATIONS[notation]
    return "read" if dialect in DIALECTS else "reported" if dialect else "no distinct markup"


def test_the_page_has_every_parser_of_both_lists_and_says_what_happens_to_its_calls() -> None:
    assert Counter(server for server, *_ in PARSERS) == {"vLLM": 46, "SGLang": 39}
    assert len({(server, parser) for server, parser, *_ in PARSERS}) == len(PARSERS)
    assert [row[3] for row in PARSERS] == [result(row[2]) for row in PARSERS]


@pytest.mark.parametrize("notation", NOTATIONS)
def test_TEXT_32_a_notation_is_read_reported_or_text_as_the_page_states(notation: str) -> None:
    dialect, call = NOTATIONS[notation]
    assert [leak.dialect for leak in detect(call)] == [dialect] * bool(dialect)
    assert codes(report(answer(call))) == ["leaked-markup"] * bool(dialect)
    if result(notation) == "read":
        for name in (dialect, None):
            assert (shapes(read(call, name)), read(call, name).text) == (F, "")
    else:
        assert dialect in ("", *SIGNS)
        response = read(f"{call}", None)
        assert (response.calls, response.text) == ([], call)
        assert codes(response) == ["leaked-markup"] * bool(dialect)
    for name in (dialect if dialect in DIALECTS else None, None):
        whole, _ = scanned(name, [call])
        assert all(scanned(name, pieces(call, Random(seed)))[0] == whole for seed in range(9))
        assert scanned(name, [*call])[0] == whole


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_quoted_call_and_a_call_in_reasoning_are_never_executed(notation: str) -> None:
    dialect, call = NOTATIONS[notation]
    quoted = [
        f"```xml\n{call}\n```\nDone.",
        f"- ~~~\n  {call}\n  ~~~\n",
        f"Write `` {call} ``." if "\n" not in call else "",
    ]
    drafts = [f"{start}{call}{end}\nDone." for start, end in THINKING.items()]
    drafts += [f"{call}{end}\nDone." for end in THINKING.values()]
    for text in (*quoted, *drafts):
        for name in (dialect if dialect in DIALECTS else None, None):
            assert [call for call in read(text, name).calls if call.status == "complete"] == [], text


@pytest.mark.parametrize("notation", [name for name in NOTATIONS if result(name) == "read"])
def test_a_call_whose_outer_opening_tag_is_missing_is_read(notation: str) -> None:
    """Its closing tag is there (ollama#16686)."""
    dialect, call = NOTATIONS[notation]
    grammars = getattr(DIALECTS[dialect], "grammars", ())
    for opening in sorted((tag for grammar in grammars for tag in grammar.opens), key=len, reverse=True):
        if call.startswith(opening):
            assert shapes(read(call.removeprefix(opening), dialect)) == F
            assert shapes(read(f"{call.removeprefix(opening)}\n{call}", dialect)) == F + F
            break
