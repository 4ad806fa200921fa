"""``<tool_call>{"name": …, "arguments": {…}}</tool_call>``: dialect of Hermes, Qwen 2.5 and 3, and derived models.

Results: ``<tool_response>``, with name and content as JSON for Hermes, and only the content for Qwen.
"""

from __future__ import annotations

from ... import json_codec
from ..dialect import ParsedResult, TextDialect, WrittenCall, WrittenResult, contents, json_member
from ..parsers.call_parser import CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.json_calls import JsonCalls
from ..parsers.xml_calls import without_layout
from ..tags import Hold, Tag, TagMatch

_OPEN, _CLOSE = Tag("<tool_call>"), "</tool_call>"


class Hermes(TextDialect):
    name = "hermes"
    heads = (_OPEN.head,)
    several = True
    strays = (Tag(_CLOSE),)
    tails = ("<|im_end|>",)

    def opening(self, buf: str, at: int, final: bool) -> TagMatch | Hold | None:
        return _OPEN.match(buf, at, final)

    def parser(self, sink: CallSink, match: TagMatch, tools: ToolSchemas) -> JsonCalls:
        return JsonCalls(sink, _CLOSE, opening=_OPEN.head)

    def write_call(self, call: WrittenCall, index: int) -> str:
        return f"<tool_call>\n{call_object(call)}\n</tool_call>"

    def write_result(self, result: WrittenResult, index: int) -> str:
        content = json_codec.text({"name": result.name, "content": result.marked})
        return f"<tool_response>\n{content}\n</tool_response>"

    def parse_results(self, text: str) -> list[ParsedResult] | None:
        results = []
        for content in contents(text, "<tool_response>", "</tool_response>") or ():
            parsed = json_member(content.strip(), "content")
            if parsed is not None and parsed[0].keys() == {"name", "content"} and isinstance(parsed[0]["name"], str):
                results.append((parsed[0]["name"], parsed[1], False))
            else:
                results.append(("", without_layout(content, "each"), False))
        return results or None


def call_object(call: WrittenCall, arguments: str = "arguments", name: str = "name") -> str:
    """Write a call as an object that contains the unchanged argument text, even if that is not JSON."""
    return f'{{"{name}": {json_codec.text(call.name)}, "{arguments}": {call.json}}}'
