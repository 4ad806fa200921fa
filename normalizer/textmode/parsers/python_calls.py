"""Parser of calls in Python syntax: ``name.call(key="value")``."""

from __future__ import annotations

import ast
import re
from typing import Any

from ... import json_codec
from ..scan_events import CallParsed
from .call_parser import CallSink

_QUOTE_OR_PAREN = re.compile(r"""['"()\\]""")


class PythonCall:
    """Parser of literal keyword arguments in Python syntax, up to the closing parenthesis."""

    def __init__(self, sink: CallSink, name: str) -> None:
        self._sink = sink
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
                self._sink.end_call(CallParsed(self._name, None, source, "invalid", corrected=True))
            else:
                text = json_codec.text(arguments)
                self._sink.add_arguments(text)
                self._sink.end_call(CallParsed(self._name, None, text, respelled=True))
        return at

    def finish(self) -> None:
        self._sink.end_call(
            CallParsed(self._name, None, "".join(self._text), "truncated", unclosed=True, corrected=True)
        )
        self.done = True

    def awaits(self, tag: str, held: str) -> bool:
        return False


def keyword_arguments(source: str) -> dict[str, Any] | None:
    """Return the keyword arguments of a Python call; None unless all are JSON-serializable literals."""
    try:
        call = ast.parse(f"f({source})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            return None
        arguments = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg is not None}
        if len(arguments) < len(call.keywords):
            return None
        decoded = json_codec.decode(json_codec.encode(arguments))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    return decoded if isinstance(decoded, dict) else None
