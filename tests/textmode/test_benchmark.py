"""What the benchmark of calls in the text reads is one whole call of the length that it says."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks import textmode
from benchmarks.cases import Case
from toolparity.normalizer.textmode import DIALECTS

pytestmark = pytest.mark.page("benchmarks")


@cache
def cases() -> dict[str, Case]:
    return {case.what: case for case in textmode.cases()}


@pytest.mark.thorough
def test_every_dialect_is_measured_in_two_lengths() -> None:
    assert len(cases()) == len(DIALECTS) * len(textmode.LENGTHS)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_call_is_read_whole(dialect: str) -> None:
    case = cases()[f"{dialect}, a parameter of 16 KB"]
    words, read = case.jobs[case.base](), case.jobs["ours"]()
    (call,) = read.calls
    assert call.status == "complete"
    assert len(call.arguments["content"]) == textmode.LENGTHS[0]
    assert words.calls == []
    assert len(words.text) > textmode.LENGTHS[0]
