"""Recognition of the format of a file, by its name and its beginning."""

from __future__ import annotations

import re

from ..errors import UnreadableSource
from . import logs, recordings, tables
from .files import Opened, opened, plain_name

#: File suffix -> reader. A walk through a directory takes files with these suffixes, see `files.walk`.
SUFFIXES: dict[str, str] = {
    ".jsonl": "lines",
    ".ndjson": "lines",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".har": "json",
    ".mitm": "mitmproxy",
    ".flow": "mitmproxy",
    ".flows": "mitmproxy",
    ".parquet": "table",
    ".sqlite": "table",
    ".db": "table",
    ".sse": "body",
    ".txt": "body",
}

#: Name of a format that a caller can force -> the reader of its files; of logs: the reader "log".
FORMATS: dict[str, str] = {
    "recordings": "lines",
    "cassette": "yaml",
    "json": "json",
    "body": "body",
    "mitmproxy": "mitmproxy",
    "table": "table",
} | dict.fromkeys(logs.FORMATS, "log")

#: Text found only in traffic: the top of a cassette, HAR file or recording, members of an answer, stream events.
_TRAFFIC = re.compile(
    rb"""^"?(?:http_)?interactions"?\s*:|^\s*\{\s*"(?:http_)?interactions"\s*:|"log"\s*:\s*\{.*"entries"\s*:"""
    rb"""|"frames"\s*:|"error"\s*:\s*\{[^{}]*"message"\s*:"""
    # In JSON inside a text, quotes are escaped.
    rb"""|\\*"(?:choices|tool_calls|tool_use|finish_reason|stop_reason|function_call|candidates|functionCall|finishReason)\\*"\s*:"""
    rb"""|\\*"(?:toolUse|stopReason|done_reason|toolCalls|tool_plan|requires_action)\\*"\s*:"""
    rb"""|"object"\s*:\s*"(?:chat\.completion|response")|"type"\s*:\s*"(?:message_start|response\.)"""
    rb"""|^\s*\{.*"(?:request|body)"\s*:.*"(?:response|wire|status)"\s*:|^data:\s*[{\[]""",
    re.MULTILINE | re.DOTALL,
)

#: Byte order marks of UTF-16, which PowerShell's ``>`` writes.
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")

#: First members of a cassette, in the recorder's order or sorted.
_YAML = (b"interactions:", b"http_interactions:", b"metadata:", b"recorded_with:", b"version:", b"---")

#: The beginning of a flow of mitmproxy: its length, and the length of the first member's name.
_FLOWS = re.compile(rb"\A\d{2,12}:\d{1,3}:[a-z_]+;")

_LEADING_COMMENTS = re.compile(rb"\A(?:\s*#[^\n]*\n)*\s*")


def reader_of(file: Opened) -> str:
    """Return the reader for a file, by its name, or by its beginning if the name does not decide."""
    head = file.head
    if not head.strip():
        raise UnreadableSource("the file contains only white space" if head else "the file is empty")
    if head.startswith(_UTF_16):
        raise UnreadableSource("the file is UTF-16", hint="write it as UTF-8")
    name = plain_name(file.path)
    reader = next((how for suffix, how in SUFFIXES.items() if name.endswith(suffix)), None)
    start = head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1]
    if reader == "lines" or (reader is None and start == b"{"):
        if recordings.looks_like_rows(head):
            return "lines"
        return "body" if reader == "lines" else "json"
    if reader is not None:
        return reader
    if tables.is_table(head):
        return "table"
    if _FLOWS.match(head):
        return "mitmproxy"
    if _LEADING_COMMENTS.sub(b"", head).startswith(_YAML):
        return "yaml"
    return "body"


def shows_traffic(path: str) -> bool:
    """Return whether a file without exchanges should have had some: its beginning looks like traffic or is unreadable.

    A walk through a directory skips any other file without a fault.
    """
    try:
        with opened(path) as file:
            # UTF-16 cannot be read, but it counts as traffic.
            return _TRAFFIC.search(file.head.replace(b"\0", b"")) is not None
    except UnreadableSource:
        return True
