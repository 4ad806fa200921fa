"""``<|tool_calls_section_begin|><|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>…``.

Dialect of Kimi K2. The model generates the id, which contains the name and is written back unchanged (failures ID-15,
ID-20). Results: ``## Return of functions.name:0`` and the text after it. The section tags also occur in the singular.
"""

from __future__ import annotations

import re

from ..dialect import ParsedResult, TextDialect, WrittenCall, WrittenResult, match_in_section
from ..parsers.call_parser import CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.header_calls import HeaderCall
from ..tags import Hold, Tag, TagMatch

_SECTIONS = ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>")
_BEGIN, _ARGUMENTS, _END = Tag("<|tool_call_begin|>"), "<|tool_call_argument_begin|>", "<|tool_call_end|>"
_ID = re.compile(r"(?:functions\.)?(.+?)(?::\d+)?", re.DOTALL)
_RETURN = re.compile(r"^## Return of ([^\n]+)\n", re.MULTILINE)


class Kimi(TextDialect):
    name = "kimi"
    heads = (*_SECTIONS, _BEGIN.head)
    ends = ("<|tool_calls_section_end|>", "<|tool_call_section_end|>")
    strays = (Tag(_END),)
    tails = ("<|im_end|>",)
    section = (_SECTIONS[0], ends[0])
    separator = ""

    def opening(self, buf: str, at: int, final: bool) -> TagMatch | Hold | None:
        return match_in_section(_BEGIN, _SECTIONS, buf, at, final)

    def parser(self, sink: CallSink, match: TagMatch, tools: ToolSchemas) -> HeaderCall:
        return HeaderCall(sink, _ARGUMENTS, _END, _name_and_id)

    def write_call(self, call: WrittenCall, index: int) -> str:
        return f"{_BEGIN.head}{_native_id(call, index)}{_ARGUMENTS}{call.json}{_END}"

    def write_result(self, result: WrittenResult, index: int) -> str:
        return f"## Return of {_native_id(result, index)}\n{result.marked}"

    def parse_results(self, text: str) -> list[ParsedResult] | None:
        heads = list(_RETURN.finditer(text))
        if not heads or text[: heads[0].start()].strip():
            return None
        ends = [*(head.start() - 1 for head in heads[1:]), len(text)]
        return [(head[1].strip(), text[head.end() : end], False) for head, end in zip(heads, ends, strict=True)]


def _name_and_id(header: str) -> tuple[str, str | None]:
    match = _ID.fullmatch(header)
    return (match[1] if match is not None else header), header or None


def _native_id(call: WrittenCall | WrittenResult, index: int) -> str:
    """Return the id if it has the format of the model, else a new id in that format."""
    native = re.fullmatch(rf"(?:functions\.)?{re.escape(call.name)}:\d+", call.id)
    return call.id if native else f"functions.{call.name}:{index}"
