"""``<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}<｜tool▁call▁end｜><｜tool▁calls▁end｜>``.

Dialect of DeepSeek V3.1. V3 and R1 write ``function`` before the separator, and the name and fenced JSON after it. For
V3.2 and later, see `dsml`. Results: ``<｜tool▁output▁begin｜>``.
"""
# ruff: noqa: RUF001, RUF002 - the model uses full-width bars

from __future__ import annotations

from ..dialect import Dialect, WrittenCall, WrittenResult, opening_in_section
from ..parsers.call_parser import CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.header_calls import HeaderCall
from ..tags import Tag, TagMatch
from .results import contents, result_text

_SECTION = ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>")
_BEGIN, _SEPARATOR, _END = Tag("<｜tool▁call▁begin｜>"), "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"
_OUTPUTS = ("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>")
_OUTPUT = ("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>")


def parser(sink: CallSink, hit: TagMatch, tools: ToolSchemas) -> HeaderCall:
    return HeaderCall(sink, _SEPARATOR, _END, lambda header: (header, None), named_after=True)


def write_calls(calls: list[WrittenCall]) -> str:
    written = (f"{_BEGIN.head}{call.name}{_SEPARATOR}{call.text.strip() or '{}'}{_END}" for call in calls)
    return f"{_SECTION[0]}{''.join(written)}{_SECTION[1]}"


def write_results(results: list[WrittenResult]) -> str:
    written = (f"{_OUTPUT[0]}{result_text(result)}{_OUTPUT[1]}" for result in results)
    return f"{_OUTPUTS[0]}{''.join(written)}{_OUTPUTS[1]}"


def parse_results(text: str) -> list[tuple[str, str, bool]] | None:
    text = text.strip().removeprefix(_OUTPUTS[0]).removesuffix(_OUTPUTS[1])
    found = contents(text, *_OUTPUT)
    return None if found is None else [("", one, False) for one in found]


DIALECT = Dialect(
    name="deepseek",
    heads=(_SECTION[0], _BEGIN.head),
    opening=opening_in_section(_BEGIN.match, _SECTION[0]),
    parser=parser,
    write_calls=write_calls,
    write_results=write_results,
    parse_results=parse_results,
    ends=(_SECTION[1],),
    strays=(Tag(_END),),
    tails=("<｜end▁of▁sentence｜>",),
)
