"""Text with the messages of HTTP: files of Go's httprr, and what ``curl -v``, ``--trace`` and ``--trace-ascii`` write.

``curl -v`` writes no bodies of requests; those of responses are on standard output, so that they are read from files
with both (``curl -v … > FILE 2>&1``). ``--trace-ascii`` replaces each byte that it does not print by a dot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import UnreadableSource
from . import http, traffic_marks
from .entries import problem_of
from .files import Opened
from .model import Exchange, Problem, ReadItem

_HTTPRR = re.compile(rb"httprr trace v1\r?\n")
_LENGTHS = re.compile(rb"(\d{1,12}) (\d{1,12})\r?\n")
#: What curl's options --trace-time and --trace-ids put before a line.
_PREFIX = rb"^(?:\d\d:\d\d:\d\d\.\d+ )?(?:\[[\w-]+\] )?"
_TRACED = re.compile(
    _PREFIX + rb"(?:(=>|<=) (?:Send|Recv) (header|data)|[=<>]{2} [^,:\n]+)(?:, (\d{1,12}) bytes|:).*", re.M
)
_HEX = re.compile(rb"(?:[0-9a-f]{2} ){1,16} *(?<=.{48}).")
_DUMPED = re.compile(rb"([0-9a-f]{4,8}): (.*)")
_SHOWN = re.compile(_PREFIX + rb"([<>*]) (.*?)\r?\n?$", re.S)
_START = re.compile(
    rb"\A" + _HTTPRR.pattern + rb"|" + _PREFIX + rb"(?:=> Send header, \d+ bytes|> [A-Z]+ \S+ HTTP/)", re.M
)
#: What curl writes between the parts of a body, which may end within a line: its progress, the sizes of the parts, the
#: end of a transfer, and the beginning of the next one.
_BETWEEN = re.compile(
    rb"[\r\n][ \d.kMGTP]{40,50}(?: [ \d:dh-]{8}){3} [ \d.]{4}[\dkMGTP]\n?"
    rb"|  % Total +% Received[^\n]*\n[^\n]*Dload[^\n]*\n"
    rb"|(?:\d\d:\d\d:\d\d\.\d+ )?(?:\[[\w-]+\] )?(?:[{}] \[\d+ bytes data\]\r?\n"
    rb"|\* (?:(?:Connection #|[Cc]losing|[Ss]hutting down)|(  Trying |Host \S+ was|Found bundle|Re-?using ))[^\n]*\n)"
)
_REQUEST_LINE = re.compile(r"([A-Z]+) (\S+) HTTP/")
_STATUS = re.compile(r"HTTP/[\d.]+ (\d{3})")
_CHUNK = re.compile(rb"([0-9a-fA-F]+)[ \t]*(?:;[^\r\n]*)?\r\n")
#: In text that has dots for unprinted bytes: a string, the name of an event, a number, or a dot outside of these.
_DOTTED = re.compile(rb'"(?:[^"\\]|\\.)*+"?|event: [\w.]{1,80}?\.(?=data: )|\d+\.\d|\.')


class _Piece(NamedTuple):
    """A part of a request or of a response. ``is_text``: `_DOTTED` applies to it."""

    content: bytes
    is_sent: bool
    is_head: bool
    is_text: bool = False


class _Pair:
    """The bytes of a request and of its response. ``dotted``: `_DOTTED` applies to their bodies."""

    def __init__(self, sent: bytes = b"", received: bytes = b"") -> None:
        self.sent = bytearray(sent)
        self.received = bytearray(received)
        self.dotted = False
        self.has_body = False


def claims(head: bytes) -> bool:
    """Return whether a text has such messages, by its beginning."""
    return _START.search(head) is not None


def exchanges(file: Opened) -> Iterator[ReadItem]:
    """Yield the exchanges of a file. Raises UnreadableSource if it is damaged, or holds none."""
    data = file.read_all()
    number = 0
    if _HTTPRR.match(data):
        pairs = _httprr(data)
    else:
        is_trace = _is_trace(data)
        pairs = _paired(_traced(data) if is_trace else _shown(data))
        if traffic_marks.in_entry(_beside(data, is_trace=is_trace)):
            yield Problem(file.path, "text beside the messages of HTTP shows traffic", "pass it as another file")
    for pair in pairs:
        number += 1
        source = f"{file.path}#{number}"
        try:
            if not pair.sent.startswith(b"CONNECT "):  # the tunnel of a proxy
                yield _exchange(source, pair)
        except Exception as error:  # one exchange must not hide the others
            yield problem_of(error, "an exchange", source, None)
    if not number:
        raise UnreadableSource("no traffic: no messages of HTTP in the file")


def _beside(data: bytes, *, is_trace: bool) -> bytes:
    """Return the lines of a log of curl that belong to no message: those of other programs, and curl's remarks."""
    lines = data.split(b"\n")
    if is_trace:
        return b"\n".join(line for line in lines if not (_DUMPED.match(line) or _TRACED.match(line)))
    first = next((number for number, line in enumerate(lines) if line.startswith(b"<")), len(lines))
    shown = [_SHOWN.match(line) for line in lines]
    is_beside = ((match[1] == b"*" if match else number < first) for number, match in enumerate(shown))
    return b"\n".join(line for line, beside in zip(lines, is_beside, strict=True) if beside)


def _exchange(source: str, pair: _Pair) -> Exchange:
    first, request_headers, request = _parts(bytes(pair.sent))
    start, headers, body = _parts(bytes(pair.received))
    asked, status = _REQUEST_LINE.match(first), _STATUS.match(start)
    method, target = asked.groups() if asked else (None, "")
    if pair.dotted:
        body = _restored(body, headers)
        try:
            request = _restored(request, request_headers)
        except UnreadableSource:
            request = b""
    length = headers.get("content-length", "")
    if length.isdecimal() and "content-encoding" not in headers and traffic_marks.in_entry(body[int(length) :]):
        raise UnreadableSource("text after the response shows traffic", hint="pass it as another file")
    if not body.strip() and headers.get("content-length") != "0" and method != "HEAD" and not start.endswith(" 204"):
        raise UnreadableSource("the response has no body", hint="with curl -v, write standard output into the file")
    made = http.exchange(
        source,
        None,
        method=method,
        url=target if "://" in target else f"//{request_headers.get('host', '')}{target}",
        request_headers=request_headers,
        request=request,
        status=int(status[1]) if status else None,
        headers=headers,
        body=body,
    )
    http.count_calls(made)
    return made


def _parts(message: bytes) -> tuple[str, dict[str, str], bytes]:
    """Return the first line, the headers and the body of a message."""
    head, _, body = message.partition(b"\r\n\r\n")
    if head.startswith(b"HTTP/") and body.lstrip().startswith(b"HTTP/"):
        return _parts(body.lstrip())  # with curl -i, the head is there again
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = http.headers_of((name, value.strip()) for name, colon, value in map(_split, lines) if colon)
    return first, headers, _dechunked(body) if "chunked" in headers.get("transfer-encoding", "") else body


def _split(line: str) -> tuple[str, str, str]:
    return line.partition(":")


def _dechunked(body: bytes) -> bytes:
    """Undo the chunks of a body. A body without them stays: curl removes them from what it writes."""
    parts = []
    position = 0
    while chunk := _CHUNK.match(body, position):
        size = int(chunk[1], 16)
        position = chunk.end() + size + 2
        if position > len(body) and size:
            raise UnreadableSource("the file ends within a chunk of the body")
        parts.append(body[chunk.end() : chunk.end() + size])
        if not size:
            return b"".join(parts)
    if parts:
        raise UnreadableSource("the body ends without its last chunk")
    return body


def _restored(body: bytes, headers: dict[str, str]) -> bytes:
    """Return a body with line breaks where it has dots for them. Raises UnreadableSource if other bytes may be lost."""

    def restore(match: re.Match[bytes]) -> bytes:
        text = match[0]
        if text.startswith(b'"') and b".." in text:
            raise UnreadableSource("two dots can be a character that is not ASCII", hint=hint)
        return b"\n" if text == b"." else text[:-1] + b"\n" if text.startswith(b"event: ") else text

    hint = "record with curl --trace, which writes every byte"
    if "content-encoding" in headers:
        raise UnreadableSource("the compressed body is not in the file", hint=hint)
    return _DOTTED.sub(restore, body)


def _httprr(data: bytes) -> Iterator[_Pair]:
    """Yield the pairs after the lengths of both, in bytes (internal/httprr/rr.go of golang.org/x/oscar)."""
    header = _HTTPRR.match(data)
    position = header.end() if header else 0
    while position < len(data):
        lengths = _LENGTHS.match(data, position)
        middle = lengths.end() + int(lengths[1]) if lengths else 0
        end = middle + int(lengths[2]) if lengths else 0
        if not lengths or end > len(data):
            raise UnreadableSource("damaged file of httprr: a length is wrong", hint="check it out without autocrlf")
        yield _Pair(data[lengths.end() : middle], data[middle:end])
        position = end


def _is_trace(data: bytes) -> bool:
    return any(match[1] for match in _TRACED.finditer(data))


def _paired(pieces: Iterator[_Piece]) -> Iterator[_Pair]:
    """Yield the pairs in a log. Where a line is missing, another pair begins rather than that two become one."""
    pair = _Pair()
    for piece in pieces:
        is_status = piece.is_head and not piece.is_sent and piece.content.startswith(b"HTTP/")
        is_request = piece.is_sent and piece.is_head and pair.received
        if is_request or (pair.has_body and (piece.is_sent or is_status)):
            yield pair
            pair = _Pair()
        elif is_status:
            pair.received.clear()  # 100 Continue
        (pair.sent if piece.is_sent else pair.received).extend(piece.content)
        pair.dotted |= piece.is_text
        pair.has_body |= not piece.is_sent and not piece.is_head
    yield pair


def _traced(data: bytes) -> Iterator[_Piece]:
    """Yield what ``--trace`` and ``--trace-ascii`` write (dump in src/tool_cb_dbg.c of curl)."""
    heads = [*_TRACED.finditer(data)]
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        if head[1] is not None:
            lines = data[head.end() : following.start() if following else len(data)].split(b"\n")
            content, is_text = _dumped([match for line in lines if (match := _DUMPED.match(line))], int(head[3] or -1))
            yield _Piece(content, head[1] == b"=>", head[2] == b"header", is_text)


def _dumped(lines: list[re.Match[bytes]], size: int) -> tuple[bytes, bool]:
    """Return the bytes of a dump, and whether it is one of text. Raises UnreadableSource if a line is missing."""
    content = bytearray()
    is_text = not all(_HEX.match(line[2]) for line in lines)
    for line in lines:
        if int(line[1], 16) - len(content) == 2 and is_text:  # a line ends at CRLF
            content += b"\r\n"
        if int(line[1], 16) != len(content):
            raise UnreadableSource("a line of the trace is missing")
        content += line[2] if is_text else bytes.fromhex(line[2][:48].decode())
    if size - len(content) == 2 and is_text:
        content += b"\r\n"
    if len(content) != size:
        raise UnreadableSource("a line of the trace is missing")
    return bytes(content), is_text


def _shown(data: bytes) -> Iterator[_Piece]:
    """Yield what ``curl -v`` writes: lines with > are sent, those with < received, and the body follows them."""
    begun = False
    for line in _BETWEEN.sub(lambda match: b"\n" if match[1] else b"", data).splitlines(keepends=True):
        shown = _SHOWN.match(line)
        if shown is not None:
            begun |= shown[1] == b"<"
            if shown[1] != b"*":
                yield _Piece(shown[2] + b"\r\n", shown[1] == b">", is_head=True)
        elif begun:
            yield _Piece(line, is_sent=False, is_head=False)
