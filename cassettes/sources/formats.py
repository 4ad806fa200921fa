"""Recognition of the format of a file, by its name and its beginning."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import UnreadableSource
from . import logs, raw_http, recordings, tables, text_logs, traffic_marks
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
    ".httprr": "raw-http",
    ".parquet": "table",
    ".csv": "table",
    ".tsv": "table",
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
    "raw-http": "raw-http",
    "table": "table",
    "text": "text",
} | dict.fromkeys(logs.FORMATS, "log")

#: Byte order marks of UTF-16, which PowerShell's ``>`` writes.
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")

#: First members of a cassette, in the recorder's order or sorted.
_YAML = (b"interactions:", b"http_interactions:", b"metadata:", b"recorded_with:", b"version:", b"---")

#: The beginning of a flow of mitmproxy: its length, and the length of the first member's name.
_FLOWS = re.compile(rb"\A\d{2,12}:\d{1,3}:[a-z_]+;")

_LEADING_COMMENTS = re.compile(rb"\A(?:\s*#[^\n]*\n)*\s*")


class Recognized(NamedTuple):
    """The reader of a file, and the rule by which its format was recognized."""

    reader: str
    rule: str


def reader_of(file: Opened) -> Recognized:
    """Recognize a file by its name, or by its beginning if the name does not decide. Raises UnreadableSource."""
    head = file.head
    if not head.strip():
        raise UnreadableSource("the file contains only white space" if head else "the file is empty")
    if head.startswith(_UTF_16):
        raise UnreadableSource("the file is UTF-16", hint="write it as UTF-8")
    name = plain_name(file.path)
    suffix, reader = next(((suffix, how) for suffix, how in SUFFIXES.items() if name.endswith(suffix)), ("", None))
    start = head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1]
    if reader is None and tables.is_table(head):
        return Recognized("table", "its first bytes are those of a table")
    if reader is None and _FLOWS.match(head):
        return Recognized("mitmproxy", "its first bytes are those of a flow")
    if reader is None and _LEADING_COMMENTS.sub(b"", head).startswith(_YAML):
        return Recognized("yaml", "its first member is one of a cassette")
    if reader in (None, "body") and raw_http.claims(head):
        return Recognized("raw-http", "it begins as a trace of HTTP messages")
    if reader in (None, "lines", "body") and (rule := text_logs.rule_of(head)):
        return Recognized("text", rule)
    if reader == "lines" or (reader is None and start == b"{"):
        if recordings.looks_like_rows(head):
            return Recognized("lines", "lines at its beginning are entries")
        other = "body" if reader == "lines" else "json"
        return Recognized(other, "it begins with a JSON object, and its lines are not entries")
    if reader is not None:
        return Recognized(reader, f"its name ends with {suffix}")
    return Recognized("body", "nothing in it shows another format")


def shows_traffic(path: str) -> bool:
    """Return whether a file without exchanges should have had some: its beginning looks like traffic or is unreadable.

    A walk through a directory skips any other file without a fault.
    """
    try:
        with opened(path) as file:
            return traffic_marks.in_file(file.head)
    except UnreadableSource:
        return True
