"""Parsers of calls in Python syntax: ``name(key="value")``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ... import json_codec
from ...arguments import overflows
from ..scan_events import CallParsed
from ..tags import HOLD, after_gap, literal
from .call_parser import CallSink, as_invalid

#: An opening parenthesis with the name before it, and a name whose parenthesis may follow.
NAMED = re.compile(r"([A-Za-z_][\w.]{0,127})\(")
NAME_SO_FAR = re.compile(r"[A-Za-z_][\w.]{0,127}")
#: Names that models write in place of Python's literals.
_LITERALS = {"true": True, "false": False, "null": None}
_QUOTE_OR_PAREN = re.compile(r"""['"()\\]""")


class PythonCall:
    """Parser of literal keyword arguments in Python syntax, up to the closing parenthesis.

    ``end_call``: receives the call; by default the sink.
    """

    def __init__(self, sink: CallSink, name: str, end_call: Callable[[CallParsed], None] | None = None) -> None:
        self._sink = sink
        self._end_call = end_call or sink.end_call
        self._name = name
        self._text: list[str] = []
        self._quote = ""
        self._escaped = False
        self._depth = 1
        self.done = False
        sink.begin_call(name, None)

    def feed(self, buf: str, at: int, final: bool) -> int:
        start = at
        while at < len(buf) and self._depth:
            if self._escaped:
                self._escaped = False
                at += 1
                continue
            match = _QUOTE_OR_PAREN.search(buf, at)
            if match is None:
                at = len(buf)
                break
            at = match.end()
            char = match.group()
            if char == "\\":
                self._escaped = bool(self._quote)
            elif self._quote:
                self._quote = "" if char == self._quote else self._quote
            elif char in "'\"":
                self._quote = char
            else:
                self._depth += 1 if char == "(" else -1
        self._text.append(buf[start:at])
        if not self._depth:
            self.done = True
            source = "".join(self._text)[:-1]
            arguments = keyword_arguments(source)
            if arguments is None:
                self._end_call(CallParsed(self._name, None, source, "invalid", corrected=True))
            else:
                text = json_codec.text(arguments)
                self._sink.add_arguments(text)
                self._end_call(CallParsed(self._name, None, text, respelled=True))
        return at

    def finish(self) -> None:
        self._end_call(CallParsed(self._name, None, "".join(self._text), "truncated", unclosed=True, corrected=True))
        self.done = True

    def awaits(self, tag: str, held: str) -> bool:
        return False


class PythonCalls:
    """Parser of calls, in a list or on lines, up to ``closer``. The opening tag ensured that one begins."""

    def __init__(self, sink: CallSink, closer: str) -> None:
        self._sink = sink
        self._closer = closer
        self._call: PythonCall | None = None
        self._ended: CallParsed | None = None
        self._bracket = ""
        self.done = False

    def feed(self, buf: str, at: int, final: bool) -> int:
        while at < len(buf) and not self.done:
            if self._call is not None:
                at = self._call.feed(buf, at, final)
                if not self._call.done:
                    return at
                self._call = None
                continue
            ahead = after_gap(buf, at, final)
            if ahead is HOLD:
                return at
            new = self._next(buf, ahead, final) if isinstance(ahead, int) and ahead < len(buf) else self._stop(at)
            if new is None:
                return at
            at = new
        return at

    def _next(self, buf: str, at: int, final: bool) -> int | None:
        """Process what is between two calls and return the index after it; None if the next chunk decides."""
        closed = literal(self._closer, buf, at, final)
        if closed is HOLD:
            return None
        if closed:
            self._flush()
            self.done = True
            return at + len(self._closer)
        if buf[at] in "[],":
            self._bracket = buf[at] if buf[at] != "," else self._bracket
            return at + 1
        named = NAMED.match(buf, at)
        if named is None:
            return None if not final and NAME_SO_FAR.fullmatch(buf, at) is not None else self._stop(at)
        self._flush()
        if not self._sink.admit(named[1]):
            self.done = True
            return at
        self._call = PythonCall(self._sink, named[1], self._hold)
        return named.end()

    def _hold(self, ended: CallParsed) -> None:
        self._ended = ended

    def _flush(self) -> None:
        if self._ended is not None:
            self._sink.end_call(self._ended)
        self._ended = None

    def _stop(self, at: int) -> int:
        """Process other text: the closing tag is missing, or the text makes an open list unreliable."""
        if self._ended is not None:
            closed = self._bracket == "]"
            self._ended = replace(self._ended, unclosed=True) if closed else as_invalid(self._ended)
        self._flush()
        self.done = True
        return at

    def finish(self) -> None:
        if self._call is not None:
            self._call.finish()
        elif self._ended is not None:
            self._ended = replace(self._ended, unclosed=True)
        self._flush()
        self.done = True

    def awaits(self, tag: str, held: str) -> bool:
        return self._call is None and tag == self._closer


class _JsonLiterals(ast.NodeTransformer):
    """Replaces the names of JSON's literals by these."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_LITERALS[node.id]) if node.id in _LITERALS else node


def keyword_arguments(source: str) -> dict[str, Any] | None:
    """Return the keyword arguments of a Python call; None unless all are JSON-serializable literals."""
    try:
        call = ast.parse(f"f({source})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            return None
        values = {word.arg: _JsonLiterals().visit(word.value) for word in call.keywords if word.arg is not None}
        arguments = {name: ast.literal_eval(value) for name, value in values.items()}
        if len(arguments) < len(call.keywords) or overflows(arguments):
            return None
        decoded = json_codec.decode(json_codec.encode(arguments))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    return decoded if isinstance(decoded, dict) else None
