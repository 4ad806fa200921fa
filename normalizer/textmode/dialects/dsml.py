"""Dialect of DeepSeek V3.2 and later: the tags of `invoke` with a mark before each name.

The attribute ``string`` of a parameter states whether its value is text or JSON. V4 names the section ``tool_calls``.
Results: ``<function_results>`` with one ``<result>`` per call.
"""
# ruff: noqa: RUF001 - the model uses full-width bars

from __future__ import annotations

from ..dialect import Dialect, WrittenResult, opening_in_section
from .invoke import grammar, strays, writer
from .results import contents, result_text
from .tagged import parser_of

_PREFIX = "｜DSML｜"
_GRAMMAR = grammar(_PREFIX, f"{_PREFIX}function_calls", f"{_PREFIX}tool_calls")
_OPENS, _ENDS = zip(*_GRAMMAR.sections, strict=True)


def write_results(results: list[WrittenResult]) -> str:
    lines = [f"<result>{result_text(result)}</result>" for result in results]
    return "\n".join(["<function_results>", *lines, "</function_results>"])


def parse_results(text: str) -> list[tuple[str, str, bool]] | None:
    around = contents(text, "<function_results>", "</function_results>")
    if around is None or len(around) != 1:
        return None
    found = contents(around[0], "<result>", "</result>")
    return None if found is None else [("", one, False) for one in found]


DIALECT = Dialect(
    name="dsml",
    heads=(*_OPENS, _GRAMMAR.call.head),
    opening=opening_in_section(_GRAMMAR.call.match, *_OPENS),
    parser=parser_of(_GRAMMAR),
    write_calls=writer(_PREFIX, typed=True),
    write_results=write_results,
    parse_results=parse_results,
    ends=_ENDS,
    strays=strays(_PREFIX),
    doubts=True,
    tails=("<｜end▁of▁sentence｜>",),
)
