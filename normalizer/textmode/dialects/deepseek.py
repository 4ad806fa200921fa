"""``<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}<｜tool▁call▁end｜><｜tool▁calls▁end｜>``.

Dialect of DeepSeek V3.1. V3 and R1 write ``function`` before the separator, and the name and fenced JSON after it. For
V3.2 and later, see `dsml`. Results: ``<｜tool▁output▁begin｜>``.
"""
# ruff: noqa: RUF001, RUF002 - the model uses full-width bars

from __future__ import annotations

from ..dialect import ParsedResult, TextDialect, WrittenCall, match_in_section
from ..parsers.call_parser import CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.header_calls import HeaderCall
from ..tags import Hold, Tag, TagMatch

_BEGIN, _SEPARATOR, _END = Tag("<｜tool▁call▁begin｜>"), "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"


class DeepSeek(TextDialect):
    name = "deepseek"
    section = ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>")
    results_section = ("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>")
    result_tags = ("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>")
    separator = results_separator = ""
    heads = (section[0], _BEGIN.head)
    ends = (section[1],)
    strays = (Tag(_END),)
    tails = ("<｜end▁of▁sentence｜>",)

    def opening(self, buf: str, at: int, final: bool) -> TagMatch | Hold | None:
        return match_in_section(_BEGIN, self.section[:1], buf, at, final)

    def parser(self, sink: CallSink, match: TagMatch, tools: ToolSchemas) -> HeaderCall:
        return HeaderCall(sink, _SEPARATOR, _END, lambda header: (header, None), named_after=True)

    def write_call(self, call: WrittenCall, index: int) -> str:
        return f"{_BEGIN.head}{call.name}{_SEPARATOR}{call.json}{_END}"

    def parse_results(self, text: str) -> list[ParsedResult] | None:
        start, end = self.results_section
        return super().parse_results(text.strip().removeprefix(start).removesuffix(end))
