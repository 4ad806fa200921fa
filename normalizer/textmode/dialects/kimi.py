"""``<|tool_calls_section_begin|><|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>…``.

Dialect of Kimi K2. The model generates the id, which contains the name and is written back unchanged (failures ID-15,
ID-20). Results: ``## Return of functions.name:0`` and the text after it. The section tags also occur in the singular.
"""

from __future__ import annotations

import re

from ..dialect import Dialect, WrittenCall, WrittenResult, opening_in_section
from ..parsers.call_parser import CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.header_calls import HeaderCall
from ..tags import Tag, TagMatch
from .results import result_text

_SECTION = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>")
_SPELLINGS = [tuple(tag.replace("calls", word) for tag in _SECTION) for word in ("calls", "call")]
_SECTIONS, _SECTION_ENDS = zip(*_SPELLINGS, strict=True)
_BEGIN, _ARGUMENTS, _END = Tag("<|tool_call_begin|>"), "<|tool_call_argument_begin|>", "<|tool_call_end|>"
_ID = re.compile(r"(?:functions\.)?(.+?)(?::\d+)?", re.DOTALL)
_RETURN = re.compile(r"^## Return of ([^\n]+)\n", re.MULTILINE)


def name_and_id(header: str) -> tuple[str, str | None]:
    found = _ID.fullmatch(header)
    return (found[1] if found is not None else header), header or None


def parser(sink: CallSink, hit: TagMatch, tools: ToolSchemas) -> HeaderCall:
    return HeaderCall(sink, _ARGUMENTS, _END, name_and_id)


def write_calls(calls: list[WrittenCall]) -> str:
    written = []
    for place, call in enumerate(calls):
        id = native(call.id, call.name, place)
        written.append(f"{_BEGIN.head}{id}{_ARGUMENTS}{call.text.strip() or '{}'}{_END}")
    return f"{_SECTION[0]}{''.join(written)}{_SECTION[1]}"


def native(id: str, name: str, place: int) -> str:
    """Return the id if it has the format of the model, else a new id in that format."""
    return id if re.fullmatch(rf"(?:functions\.)?{re.escape(name)}:\d+", id) else f"functions.{name}:{place}"


def write_results(results: list[WrittenResult]) -> str:
    return "\n".join(
        f"## Return of {native(result.id, result.name, place)}\n{result_text(result)}"
        for place, result in enumerate(results)
    )


def parse_results(text: str) -> list[tuple[str, str, bool]] | None:
    heads = list(_RETURN.finditer(text))
    if not heads or text[: heads[0].start()].strip():
        return None
    ends = [*(head.start() - 1 for head in heads[1:]), len(text)]
    return [(head[1].strip(), text[head.end() : end], False) for head, end in zip(heads, ends, strict=True)]


DIALECT = Dialect(
    name="kimi",
    heads=(*_SECTIONS, _BEGIN.head),
    opening=opening_in_section(_BEGIN.match, *_SECTIONS),
    parser=parser,
    write_calls=write_calls,
    write_results=write_results,
    parse_results=parse_results,
    ends=_SECTION_ENDS,
    strays=(Tag(_END),),
    tails=("<|im_end|>",),
)
