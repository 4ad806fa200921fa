"""``[TOOL_CALLS]`` and a list of objects, or ``name[ARGS]{…}``: dialect of Mistral.

The second form exists since tokenizer 11; some versions add ``[CALL_ID]``. A call has no closing tag: it ends with its
JSON. Text or another ``[TOOL_CALLS]`` may follow (failure MIS-01). Results: ``[TOOL_RESULTS]``.
"""

from __future__ import annotations

import re

from ... import json_codec
from ..dialect import Dialect, WrittenCall, WrittenResult
from ..parsers.call_parser import CallParser, CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.header_calls import HeaderCall
from ..parsers.json_calls import JsonCalls
from ..tags import HOLD, LONGEST_TAG, Hold, Tag, TagMatch, after_gap
from .results import contents, json_member, result_text

_MARK = Tag("[TOOL_CALLS]")
#: `_HEADER`: name, optional id, optional mark of the arguments. `_SO_FAR`: an incomplete header.
_HEADER = re.compile(r"([\w.\-]{1,128})\s*(?:\[CALL_ID\]\s*([\w\-]{1,64})\s*)?(?:\[ARGS\]\s*)?(?=\{)")
_SO_FAR = re.compile(r"[\w.\-]{1,128}\s*(?:\[[A-Z_]*\]?\s*[\w\-]*\s*){0,2}")
_RESULTS = ("[TOOL_RESULTS]", "[/TOOL_RESULTS]")


def opening(buf: str, at: int, final: bool) -> TagMatch | Hold | None:
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
    waits = not final and len(buf) - ahead < LONGEST_TAG and _SO_FAR.fullmatch(buf, ahead) is not None
    return HOLD if waits else None


def parser(sink: CallSink, hit: TagMatch, tools: ToolSchemas) -> CallParser:
    if not hit.name:
        return JsonCalls(sink)
    sink.admit(hit.name)
    return HeaderCall(sink, "", "", lambda _: (hit.name, hit.more or None))


def write_calls(calls: list[WrittenCall]) -> str:
    written = []
    for call in calls:
        name, id = json_codec.text(call.name), json_codec.text(call.id)
        written.append(f'{{"name": {name}, "arguments": {call.text.strip() or "{}"}, "id": {id}}}')
    return f"[TOOL_CALLS] [{', '.join(written)}]"


def write_results(results: list[WrittenResult]) -> str:
    contents = ({"content": result_text(result), "call_id": result.id} for result in results)
    return "".join(f"{_RESULTS[0]} {json_codec.text(content)}{_RESULTS[1]}" for content in contents)


def parse_results(text: str) -> list[tuple[str, str, bool]] | None:
    found = []
    for one in contents(text, *_RESULTS) or ():
        told = json_member(one.strip(), "content")
        if told is None:
            return None
        found.append((str(told[0].get("call_id", "")), told[1], False))
    return found or None


DIALECT = Dialect(
    name="mistral",
    heads=(_MARK.head,),
    opening=opening,
    parser=parser,
    write_calls=write_calls,
    write_results=write_results,
    parse_results=parse_results,
    several=True,
    tails=("</s>",),
)
