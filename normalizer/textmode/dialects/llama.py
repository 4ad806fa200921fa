"""``<|python_tag|>``, then objects with ``name`` and ``parameters``, ``tool.call(key="value")`` or code.

Dialect of Llama 3.1 to 4. Semicolons separate objects. Code is a call of ``code_interpreter``. Results: an object with
the member ``output``.
"""

from __future__ import annotations

import re

from ... import json_codec
from ..dialect import ParsedResult, TextDialect, WrittenCall, WrittenResult, json_member
from ..parsers.call_parser import CallParser, CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.json_calls import JsonCalls
from ..parsers.python_calls import PythonCall
from ..scan_events import CallParsed
from ..tags import HOLD, LONGEST_TAG, Finder, Hold, Tag, TagMatch, after_gap
from .hermes import call_object

_MARK = Tag("<|python_tag|>")
_ENDS = ("<|eom_id|>", "<|eot_id|>")
_CALL = re.compile(r"([A-Za-z_][\w.]{0,127})\.call\(")
_SO_FAR = re.compile(r"[A-Za-z_][\w.]{0,132}\(?")
CODE = "code_interpreter"


class CodeCall:
    """Parser of code up to the control token or the end of the text. White space alone stays text."""

    def __init__(self, sink: CallSink) -> None:
        self._sink = sink
        self._find = Finder(*_ENDS)
        self._text: list[str] = []
        self._begun = False
        self.done = False

    def feed(self, buf: str, at: int, final: bool) -> int:
        position, token = self._find.find(buf, at, final)
        code = buf[at:position]
        self._text.append(code)
        if not self._begun and code and not code.isspace():
            self._begun = True
            self._sink.begin_call(CODE, None)
        if token:
            self._end()
        return position

    def finish(self) -> None:
        self._end(endless=True)

    def _end(self, endless: bool = False) -> None:
        code, self.done = "".join(self._text), True
        if not self._begun:
            self._sink.withdraw(code)
            return
        text = json_codec.text({"code": code})
        self._sink.add_arguments(text)
        self._sink.end_call(CallParsed(CODE, None, text, respelled=True, endless=endless))

    def awaits(self, token: str, held: str) -> bool:
        return False


class Llama(TextDialect):
    name = "llama"
    heads = (_MARK.head,)
    several = True
    tails = _ENDS
    section = (_MARK.head, "")
    separator = "; "

    def opening(self, buf: str, at: int, final: bool) -> TagMatch | Hold | None:
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

    def parser(self, sink: CallSink, match: TagMatch, tools: ToolSchemas) -> CallParser:
        if not match.name:
            return JsonCalls(sink, again=";")
        sink.admit(match.name)
        return PythonCall(sink, match.name) if match.more == "call" else CodeCall(sink)

    def write_call(self, call: WrittenCall, index: int) -> str:
        return call_object(call, "parameters")

    def write_result(self, result: WrittenResult, index: int) -> str:
        return json_codec.text({"output": result.marked})

    def parse_results(self, text: str) -> list[ParsedResult] | None:
        results = []
        for line in text.strip().split("\n"):
            parsed = json_member(line, "output")
            if parsed is None or parsed[0].keys() != {"output"}:
                return None
            results.append(("", parsed[1], False))
        return results or None
