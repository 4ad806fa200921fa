"""``<tag>[name(key="value")]</tag>``: the dialects that write calls in Python syntax between tags.

The sources of the formats are in docs/pages/tool-parsers.md. Values are literals of Python or JSON. LFM2 also writes
JSON; Olmo 3 writes one call per line. Results: ``<tool_response>``.
"""

from __future__ import annotations

from ... import json_codec
from ..dialect import TextDialect, WrittenCall
from ..parsers.call_parser import CallParser, CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.json_calls import JsonCalls
from ..parsers.python_calls import NAME_SO_FAR, NAMED, PythonCalls
from ..tags import HOLD, Hold, TagMatch, after_gap, any_literal


class Pythonic(TextDialect):
    """One such dialect. ``listed``: whether calls are written as a list; else they are on separate lines."""

    several = True

    def __init__(self, name: str, opening: str, closer: str, listed: bool = True) -> None:
        self.name, self.heads = name, (opening,)
        self._closer = closer
        self.section = (f"{opening}[", f"]{closer}") if listed else (f"{opening}\n", f"\n{closer}")
        self.separator = ", " if listed else "\n"

    def opening(self, buf: str, at: int, final: bool) -> TagMatch | Hold | None:
        """Match the tag before a call, an object, or a list of them."""
        end = any_literal(self.heads, buf, at, final)
        ahead = after_gap(buf, end, final) if isinstance(end, int) else end
        if isinstance(end, int) and isinstance(ahead, int) and buf.startswith("[", ahead):
            ahead = after_gap(buf, ahead + 1, final)
        if not isinstance(ahead, int) or not isinstance(end, int) or ahead == len(buf):
            return HOLD if ahead is HOLD else None
        if buf[ahead] == "{":
            return TagMatch(end, more="json")
        if NAMED.match(buf, ahead) is not None:
            return TagMatch(end)
        return HOLD if not final and NAME_SO_FAR.fullmatch(buf, ahead) is not None else None

    def parser(self, sink: CallSink, match: TagMatch, tools: ToolSchemas) -> CallParser:
        return JsonCalls(sink, self._closer) if match.more else PythonCalls(sink, self._closer)

    def write_call(self, call: WrittenCall, index: int) -> str:
        words = (f"{key}={json_codec.text(value)}" for key, value in call.parameters)
        return f"{call.name}({', '.join(words)})"


PYTHONIC = (
    Pythonic("lfm2", "<|tool_call_start|>", "<|tool_call_end|>"),
    Pythonic("llama-pythonic", "<|python_start|>", "<|python_end|>"),
    Pythonic("olmo", "<function_calls>", "</function_calls>", listed=False),
)
