"""``<|python_tag|>``, then objects with ``name`` and ``parameters``, ``tool.call(key="value")`` or code.

Dialect of Llama 3.1 to 4. Semicolons separate objects. Code is a call of ``code_interpreter``. Results: an object with
the member ``output``.
"""

from __future__ import annotations

import re

from ... import json_codec
from ..dialect import Dialect, WrittenCall, WrittenResult
from ..parsers.call_parser import CallParser, CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.json_calls import JsonCalls
from ..parsers.python_calls import PythonCall
from ..scan_events import CallEnded
from ..tags import HOLD, LONGEST_TAG, Finder, Hold, Tag, TagMatch, after_gap
from .hermes import object_of
from .results import json_member, result_text

_MARK = Tag("<|python_tag|>")
_ENDS = ("<|eom_id|>", "<|eot_id|>")
_CALL = re.compile(r"([A-Za-z_][\w.]{0,127})\.call\(")
_SO_FAR = re.compile(r"[A-Za-z_][\w.]{0,132}\(?")
CODE = "code_interpreter"


def opening(buf: str, at: int, final: bool) -> TagMatch | Hold | None:
    mark = _MARK.match(buf, at, final)
    if not isinstance(mark, TagMatch):
        return mark
    ahead = after_gap(buf, mark.end, final)
    if ahead is HOLD:
        return HOLD
    if not isinstance(ahead, int) or ahead == len(buf):
        return TagMatch(mark.end, CODE, "code")
    if buf.startswith(("{", "["), ahead):
        return TagMatch(ahead)
    call = _CALL.match(buf, ahead)
    if call is not None:
        return TagMatch(call.end(), call[1], "call")
    waits = not final and len(buf) - ahead < LONGEST_TAG and _SO_FAR.fullmatch(buf, ahead) is not None
    return HOLD if waits else TagMatch(mark.end, CODE, "code")


def parser(sink: CallSink, hit: TagMatch, tools: ToolSchemas) -> CallParser:
    if not hit.name:
        return JsonCalls(sink, again=";")
    sink.admit(hit.name)
    return PythonCall(sink, hit.name) if hit.more == "call" else CodeCall(sink)


class CodeCall:
    """Parser of code up to the control token or the end of the text."""

    def __init__(self, sink: CallSink) -> None:
        self._sink = sink
        self._find = Finder(*_ENDS)
        self._text: list[str] = []
        self.done = False
        sink.begin_call(CODE, None)

    def feed(self, buf: str, at: int, final: bool) -> int:
        place, found = self._find.find(buf, at, final)
        self._text.append(buf[at:place])
        if found:
            self._end()
        return place

    def finish(self) -> None:
        self._end(endless=True)

    def _end(self, endless: bool = False) -> None:
        text = json_codec.text({"code": "".join(self._text)})
        self._sink.add_arguments(text)
        self._sink.end_call(CallEnded(CODE, None, text, respelled=True, endless=endless))
        self.done = True

    def awaits(self, tag: str, held: str) -> bool:
        return False


def write_calls(calls: list[WrittenCall]) -> str:
    return "<|python_tag|>" + "; ".join(object_of(call, "parameters") for call in calls)


def write_results(results: list[WrittenResult]) -> str:
    return "\n".join(json_codec.text({"output": result_text(result)}) for result in results)


def parse_results(text: str) -> list[tuple[str, str, bool]] | None:
    found = []
    for line in text.strip().split("\n"):
        told = json_member(line, "output")
        if told is None or told[0].keys() != {"output"}:
            return None
        found.append(("", told[1], False))
    return found or None


DIALECT = Dialect(
    name="llama",
    heads=(_MARK.head,),
    opening=opening,
    parser=parser,
    write_calls=write_calls,
    write_results=write_results,
    parse_results=parse_results,
    several=True,
    tails=_ENDS,
)
