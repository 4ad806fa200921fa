"""Importers of logs: one module for each tool that keeps requests and responses in its own notation.

A module has ``claims(item)``, which recognizes a JSON object, and one of

    exchanges(source, line, item) -> Iterator[ReadItem]    if each object is independent
    Reader()                                               if a file is one sequence: `LogReader`. ``IS_OPEN``: other
                                                           files can complete its objects

They yield exchanges, and raise if an object cannot be read. A module whose objects hold several entries reads each of
them with `readable`, so that one problem does not hide the other entries.

To add a format, write a module and list it in `FORMATS`. The first module that claims an object reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Protocol

from toolparity.normalizer import json_codec

from ..entries import readable
from ..model import ReadItem

#: Name of the format -> its module.
FORMATS = {
    "openai-batch": "openai_batch",
    "anthropic-batch": "anthropic_batch",
    "litellm": "litellm",
    "langfuse": "langfuse",
    "langsmith": "langsmith",
    "helicone": "helicone",
    "otlp": "otlp",
    "spans": "span_rows",
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini-cli": "gemini_cli",
    "inspect": "inspect_ai",
    "sdk-spans": "sdk_spans",
}


#: Formats that hold what was displayed, from which the requests are reconstructed.
TRANSCRIPTS = frozenset(("claude-code", "codex", "gemini-cli"))
_OTLP = re.compile(rb"\A[\xef\xbb\xbf\s]*\{\s*\"resource(?:Spans|Logs)\"\s*:")


class LogReader(Protocol):
    """Reads the objects of one file in order.

    ``others``: the objects of the other files of this format in the input. They are read only if the reader needs them.
    """

    def add(self, source: str, line: int | None, item: dict[str, Any]) -> Iterator[ReadItem]: ...
    def finish(self, others: Iterable[dict[str, Any]]) -> Iterator[ReadItem]: ...


def format_of(item: dict[str, Any]) -> str | None:
    """Return the format of a JSON object of a log, or None."""
    return next((name for name in FORMATS if _module(name).claims(item)), None)


def sequence_of(head: bytes) -> str | None:
    """Return the sequence format of a file, by its first bytes, or None."""
    if _OTLP.match(head):  # a document of OTLP may be longer than the head
        return "otlp"
    for line in head.split(b"\n"):
        if not line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
            continue
        try:
            item = json_codec.decode(line)
        except (ValueError, RecursionError):
            continue
        name = format_of(item) if isinstance(item, dict) else None
        if name is not None:
            return name if is_sequence(name) else None
    return None


def is_sequence(format: str) -> bool:
    """Return whether the objects of a file depend on each other, so that the file cannot be split."""
    return hasattr(_module(format), "Reader")


def is_open(format: str) -> bool:
    """Return whether other files can complete the objects of a file."""
    return hasattr(_module(format), "IS_OPEN")


def reader(format: str, path: str) -> LogReader:
    """Return a new reader for the file at ``path``, of a sequence format. Its methods never raise."""
    return _SafeReader(format, path, _module(format).Reader())


def exchanges(format: str, source: str, line: int | None, item: dict[str, Any]) -> Iterator[ReadItem]:
    """Yield the exchanges of one object, and a problem for each entry in it that cannot be read. Never raises."""
    if is_sequence(format):
        one = reader(format, source)
        yield from one.add(source, line, item)
        yield from one.finish(())
    else:
        yield from readable(format, source, line, _module(format).exchanges(source, line, item))


class _SafeReader:
    def __init__(self, format: str, path: str, reader: LogReader) -> None:
        self._format = format
        self._path = path
        self._reader = reader

    def add(self, source: str, line: int | None, item: dict[str, Any]) -> Iterator[ReadItem]:
        return readable(self._format, source, line, self._reader.add(source, line, item))

    def finish(self, others: Iterable[dict[str, Any]]) -> Iterator[ReadItem]:
        return readable(self._format, self._path, None, self._reader.finish(others))


def _module(format: str) -> Any:
    return import_module(f"{__package__}.{FORMATS[format]}")
