"""``<|tool_call>call:name{key:<|"|>text<|"|>}<tool_call|>``: dialect of Gemma 4, and that of FunctionGemma.

The sources of the formats are in docs/pages/tool-parsers.md. Keys have no quotes, texts are between tokens, other
values are as in JSON. Results: ``<tool_response>``.
"""

from __future__ import annotations

import re
from typing import Any

from ... import json_codec
from ..dialect import TextDialect, WrittenCall
from ..parsers.call_parser import CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.gemma_calls import GemmaCall
from ..tags import Hold, Tag, TagMatch


class Gemma(TextDialect):
    """One such dialect. ``quote``: the token around a text."""

    def __init__(self, name: str, opening: str, quote: str, closer: str) -> None:
        self.name = name
        self._call = Tag(f"{opening}call:", re.compile(r"([\w.\-]{1,128})"), "{", "< \n")
        self._quote, self._closer = quote, closer
        self.heads = (self._call.head,)
        self.strays = (Tag(closer),)
        self.separator = ""

    def opening(self, buf: str, at: int, final: bool) -> TagMatch | Hold | None:
        return self._call.match(buf, at, final)

    def parser(self, sink: CallSink, match: TagMatch, tools: ToolSchemas) -> GemmaCall:
        return GemmaCall(sink, match.name, self._quote, self._closer, tools)

    def write_call(self, call: WrittenCall, index: int) -> str:
        return f"{self._call.head}{call.name}{self._spelled(dict(call.parameters))}{self._closer}"

    def _spelled(self, value: Any) -> str:
        if isinstance(value, str):
            return f"{self._quote}{value}{self._quote}"
        if isinstance(value, dict):
            return "{" + ",".join(f"{key}:{self._spelled(item)}" for key, item in value.items()) + "}"
        if isinstance(value, list):
            return f"[{','.join(map(self._spelled, value))}]"
        return json_codec.text(value)


GEMMA = (
    Gemma("gemma", "<|tool_call>", '<|"|>', "<tool_call|>"),
    Gemma("functiongemma", "<start_function_call>", "<escape>", "<end_function_call>"),
)
