"""Parser of Gemma's arguments: ``{key:<|"|>text<|"|>,other:[1,{inner:true}]}``, without quotes around keys."""

from __future__ import annotations

import re
from typing import Any

from ... import json_codec
from ...arguments import overflows
from ..scan_events import CallParsed
from ..tags import HOLD, after_gap, finder, literal
from .call_parser import CallSink
from .coercion import ToolSchemas, value_of

_KEY = re.compile(r"\s*([^\s:,{}\[\]<>][^:,{}\[\]<>]{0,255}?)\s*:\s*")
_SCALAR = re.compile(r"[^,{}\[\]<>]+")


class GemmaCall:
    """Parser of the arguments after their first brace, and of ``closer``. ``quote``: the token around a text."""

    def __init__(self, sink: CallSink, name: str, quote: str, closer: str, tools: ToolSchemas) -> None:
        self._sink = sink
        self._name = name
        self._quote = quote
        self._closer = closer
        self._tools = tools
        self._find = finder(quote, closer, *"{}[]")
        self._find_quote = finder(quote)
        self._text: list[str] = []
        self._quoted = False
        self._depth = 1
        self.done = False
        sink.begin_call(name, None)

    def feed(self, buf: str, at: int, final: bool) -> int:
        while at < len(buf) and self._depth:
            search = self._find_quote if self._quoted else self._find
            position, token = search.find(buf, at, final)
            self._text.append(buf[at:position])
            if not token:
                return position
            if token == self._closer:  # a bracket is missing
                self._end("invalid")
                return position + len(token)
            self._text.append(token)
            at = position + len(token)
            if token == self._quote:
                self._quoted = not self._quoted
            else:
                self._depth += 1 if token in "{[" else -1
        ahead = after_gap(buf, at, final)
        closed = literal(self._closer, buf, ahead, final) if isinstance(ahead, int) else ahead
        if at == len(buf) or closed is HOLD:
            return at
        self._end(unclosed=not closed)
        return ahead + len(self._closer) if closed and isinstance(ahead, int) else at

    def _end(self, status: str = "complete", unclosed: bool = False) -> None:
        source = "".join(self._text)
        arguments = None if status == "invalid" else self._arguments("{" + source)
        self.done = True
        if arguments is None:
            self._sink.end_call(CallParsed(self._name, None, source, "invalid", unclosed=unclosed, corrected=True))
            return
        text = json_codec.text(arguments)
        self._sink.add_arguments(text)
        self._sink.end_call(CallParsed(self._name, None, text, respelled=True, unclosed=unclosed))

    def _arguments(self, source: str) -> dict[str, Any] | None:
        try:
            parsed, end = _Values(self._quote).value(source, 0)
        except (ValueError, RecursionError):
            return None
        if end != len(source) or not isinstance(parsed, dict) or overflows(parsed):
            return None
        for key, value in parsed.items():
            if isinstance(value, str):
                parsed[key], problems = value_of(self._tools, self._name, key, [value], None)
                for code, problem in problems:
                    self._sink.report(code, f"{key!r} of {self._name}: {problem}")
        return parsed

    def finish(self) -> None:
        if not self._depth:
            self._end(unclosed=True)
            return
        self.done = True
        text = "".join(self._text)
        self._sink.end_call(CallParsed(self._name, None, text, "truncated", unclosed=True, corrected=True))

    def awaits(self, tag: str, held: str) -> bool:
        return not self._depth and tag == self._closer


class _Values:
    """Parser of complete values. Each returns a value and the index after it, or raises ValueError."""

    def __init__(self, quote: str) -> None:
        self._quote = quote

    def value(self, text: str, at: int) -> tuple[Any, int]:
        if text.startswith(self._quote, at):
            return self._quoted(text, at)
        if text.startswith("{", at):
            return self._object(text, at + 1)
        if text.startswith("[", at):
            return self._list(text, at + 1)
        scalar = _SCALAR.match(text, at)
        if scalar is None:
            raise ValueError(at)
        return json_codec.decode(scalar[0].strip()), scalar.end()

    def _quoted(self, text: str, at: int) -> tuple[str, int]:
        start = at + len(self._quote)
        end = text.index(self._quote, start)
        return text[start:end], end + len(self._quote)

    def _object(self, text: str, at: int) -> tuple[dict[str, Any], int]:
        made: dict[str, Any] = {}
        at = _after(text, at)
        while not text.startswith("}", at):
            if text.startswith(self._quote, at):
                key, at = self._quoted(text, at)
                at = _expected(text, at, ":")
            else:
                found = _KEY.match(text, at)
                if found is None:
                    raise ValueError(at)
                key, at = found[1], found.end()
            if key in made:
                raise ValueError(at)
            made[key], at = self.value(text, at)
            at = _after(text, at)
            if not text.startswith("}", at):
                at = _expected(text, at, ",")
        return made, at + 1

    def _list(self, text: str, at: int) -> tuple[list[Any], int]:
        made: list[Any] = []
        at = _after(text, at)
        while not text.startswith("]", at):
            item, at = self.value(text, at)
            made.append(item)
            at = _after(text, at)
            if not text.startswith("]", at):
                at = _expected(text, at, ",")
        return made, at + 1


def _after(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _expected(text: str, at: int, mark: str) -> int:
    at = _after(text, at)
    if not text.startswith(mark, at):
        raise ValueError(at)
    return _after(text, at + 1)
