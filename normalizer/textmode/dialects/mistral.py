"""``[TOOL_CALLS]`` and a list of objects, or ``name[ARGS]{…}``: dialect of Mistral.

The second form exists since tokenizer 11; some versions add ``[CALL_ID]``. A call has no closing tag: it ends with its
JSON. Text or another ``[TOOL_CALLS]`` may follow (failure MIS-01). Results: ``[TOOL_RESULTS]``.
"""

from __future__ import annotations

import re

from ... import json_codec
from ..dialect import ParsedResult, TextDialect, WrittenCall, WrittenResult, contents, json_member
from ..parsers.call_parser import CallParser, CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.header_calls import HeaderCall
from ..parsers.json_calls import JsonCalls
from ..tags import HOLD, LONGEST_TAG, Hold, Tag, TagMatch, after_gap

_MARK = Tag("[TOOL_CALLS]")
#: `_HEADER`: name, optional id, optional mark of the arguments. `_SO_FAR`: an incomplete header.
_HEADER = re.compile(r"([\w.\-]{1,128})\s*(?:\[CALL_ID\]\s*([\w\-]{1,64})\s*)?(?:\[ARGS\]\s*)?(?=\{)")
_SO_FAR = re.compile(r"[\w.\-]{1,128}\s*(?:\[[A-Z_]*\]?\s*[\w\-]*\s*){0,2}")
_RESULTS = ("[TOOL_RESULTS]", "[/TOOL_RESULTS]")


class Mistral(TextDialect):
    name = "mistral"
    heads = (_MARK.head,)
    several = True
    tails = ("</s>",)
    section = ("[TOOL_CALLS] [", "]")
    separator = ", "
    results_separator = ""

    def opening(self, buf: str, at: int, final: bool) -> TagMatch | Hold | None:
        mark = _MARK.match(buf, at, final)
        if not isinstance(mark, TagMatch):
            return mark
        ahead = after_gap(buf, mark.end, final)
        if not isinstance(ahead, int):
            return ahead
        if buf.startswith(("[{", "{"), ahead):
            return TagMatch(ahead)
        if buf.startswith("[", ahead):
            inner = after_gap(buf, ahead + 1, final)
            if isinstance(inner, int):
                return TagMatch(ahead) if buf.startswith("{", inner) else None
            return inner
        header = _HEADER.match(buf, ahead)
        if header is not None and header.end() - ahead < LONGEST_TAG:
            return TagMatch(header.end(), header[1], header[2] or "")
        open_ended = not final and len(buf) - ahead < LONGEST_TAG
        return HOLD if open_ended and _SO_FAR.fullmatch(buf, ahead) is not None else None

    def parser(self, sink: CallSink, match: TagMatch, tools: ToolSchemas) -> CallParser:
        if not match.name:
            return JsonCalls(sink)
        sink.admit(match.name)
        return HeaderCall(sink, "", "", lambda _: (match.name, match.more or None))

    def write_call(self, call: WrittenCall, index: int) -> str:
        return f'{{"name": {json_codec.text(call.name)}, "arguments": {call.json}, "id": {json_codec.text(call.id)}}}'

    def write_result(self, result: WrittenResult, index: int) -> str:
        return f"{_RESULTS[0]} {json_codec.text({'content': result.marked, 'call_id': result.id})}{_RESULTS[1]}"

    def parse_results(self, text: str) -> list[ParsedResult] | None:
        results = []
        for content in contents(text, *_RESULTS) or ():
            parsed = json_member(content.strip(), "content")
            if parsed is None:
                return None
            results.append((str(parsed[0].get("call_id", "")), parsed[1], False))
        return results or None
