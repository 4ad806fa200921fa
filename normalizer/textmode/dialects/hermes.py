"""``<tool_call>{"name": …, "arguments": {…}}</tool_call>``: dialect of Hermes, Qwen 2.5 and 3, and derived models.

Results: ``<tool_response>``, with name and content as JSON for Hermes, and only the content for Qwen.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ..dialect import Dialect, WrittenCall, WrittenResult
from ..parsers.call_parser import CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.json_calls import JsonCalls
from ..parsers.xml_calls import without_layout
from ..tags import Tag, TagMatch
from .results import contents, json_member, result_text

_OPEN, _CLOSE = Tag("<tool_call>"), "</tool_call>"


def parser(sink: CallSink, hit: TagMatch, tools: ToolSchemas) -> JsonCalls:
    return JsonCalls(sink, _CLOSE, opening=_OPEN.head)


def object_of(call: WrittenCall, arguments: str = "arguments") -> str:
    """Write a call as an object that contains the unchanged argument text, even if that is not JSON."""
    return f'{{"name": {json_codec.text(call.name)}, "{arguments}": {call.text.strip() or "{}"}}}'


def write_calls(calls: list[WrittenCall]) -> str:
    return "\n".join(f"<tool_call>\n{object_of(call)}\n</tool_call>" for call in calls)


def write_results(results: list[WrittenResult]) -> str:
    written = []
    for result in results:
        content: dict[str, Any] = {"name": result.name, "content": result_text(result)}
        written.append(f"<tool_response>\n{json_codec.text(content)}\n</tool_response>")
    return "\n".join(written)


def parse_results(text: str) -> list[tuple[str, str, bool]] | None:
    found = []
    for one in contents(text, "<tool_response>", "</tool_response>") or ():
        told = json_member(one.strip(), "content")
        if told is not None and told[0].keys() == {"name", "content"} and isinstance(told[0]["name"], str):
            found.append((told[0]["name"], told[1], False))
        else:
            found.append(("", without_layout(one, "each"), False))
    return found or None


DIALECT = Dialect(
    name="hermes",
    heads=(_OPEN.head,),
    opening=_OPEN.match,
    parser=parser,
    write_calls=write_calls,
    write_results=write_results,
    parse_results=parse_results,
    several=True,
    strays=(Tag(_CLOSE),),
    tails=("<|im_end|>",),
)
