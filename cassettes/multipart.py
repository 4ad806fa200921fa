"""Multipart bodies, such as uploads of files: a client chooses a random boundary for each, which means nothing.

A body is recognized by its own first and last lines, because aiohttp's requests and imported cassettes lack the header
that names the boundary. Parts are separated by CRLF, or by LF as in the uploads of google-api-python-client.
"""

from __future__ import annotations

import re
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import collapse_rfc2231_value
from typing import Any, NamedTuple

from vcr.request import Request
from vcr.util import read_body

#: RFC 2046, section 5.1.1: at most 70 characters, the last one not a blank.
_FIRST_LINE = re.compile(rb"--(?P<boundary>[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-])[ \t]*\r?\n")
_CONTENT_TYPE = "content-type"
_CONTENT_LENGTH = "content-length"


class Part(NamedTuple):
    """A part of a body. ``name``: that of the form's field, or ""."""

    name: str
    headers: dict[str, str]
    content: bytes


def boundary(body: Any) -> bytes | None:
    """Return the boundary of a multipart body, or None for any other body."""
    first = _FIRST_LINE.match(body) if isinstance(body, bytes) else None
    if first is None or not re.search(rb"\n--%s--\s*\Z" % re.escape(first["boundary"]), body):
        return None
    return first["boundary"]


def parts(body: Any) -> list[Part] | None:
    """Return the parts of a multipart body, or None for any other body."""
    separator = boundary(body)
    if separator is None:
        return None
    inner = re.split(rb"(?:\A|\r?\n)--%s(?:--\s*\Z|[ \t]*\r?\n)" % re.escape(separator), body)
    return [_part(each) for each in inner[1:-1]]


def with_boundary_of(recorded: Request, sent: Request) -> Request:
    """Return the request with the boundary of a recorded one, if both bodies are multipart."""
    original = read_body(sent)
    old, new = boundary(original), boundary(read_body(recorded))
    if old is None or new is None or old == new:
        return sent
    body = re.sub(rb"(?m)^--%s(?=(?:--)?\s*$)" % re.escape(old), lambda _: b"--" + new, original)
    headers = {name: _header(name, value, (old, new), (original, body)) for name, value in sent.headers.items()}
    return Request(sent.method, sent.uri, body, headers)


def _part(text: bytes) -> Part:
    found = re.search(rb"(?:\A|\r?\n)\r?\n", text)
    head, content = (text[: found.start()], text[found.end() :]) if found else (text, b"")
    message: Message = BytesHeaderParser().parsebytes(head)
    name = message.get_param("name", "", "content-disposition")
    return Part(collapse_rfc2231_value(name), {key.lower(): str(value) for key, value in message.items()}, content)


def _header(name: str, value: Any, boundaries: tuple[bytes, bytes], bodies: tuple[bytes, bytes]) -> Any:
    if name.lower() == _CONTENT_TYPE:
        old, new = (each.decode("ascii") for each in boundaries)
        return value.replace(old, new) if isinstance(value, str) else value.replace(*boundaries)
    if name.lower() == _CONTENT_LENGTH and str(value) == str(len(bodies[0])):
        return str(len(bodies[1]))
    return value
