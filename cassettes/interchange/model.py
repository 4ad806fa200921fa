"""The common form of all formats: HTTP interactions with exact bytes.

Two interactions are equal if a replaying client cannot distinguish them: the order of headers with different names does
not count (RFC 9110, section 5.3), their spelling, the order of equal names, and every byte of the bodies do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

#: Names and values, in the order of the file. A name may be repeated.
Headers = list[tuple[str, str]]


class Request(Struct):
    """A request. ``body`` is None if the format says that there is none."""

    method: str
    uri: str
    headers: Headers
    body: bytes | None


class Response(Struct):
    """A response. ``reason``: the text beside the status; ``version``: of HTTP, such as "1.1"; each None if unknown."""

    status: int
    headers: Headers
    body: bytes
    reason: str | None = None
    version: str | None = None


class Interaction(Struct):
    """A request and its response. ``recorded_at``: RFC 3339 in UTC, or None.

    ``rest``: members of the source that have no place here, as JSON data by the name of the format.
    """

    request: Request
    response: Response
    recorded_at: str | None = None
    rest: dict[str, Any] = field(default_factory=dict)


class CassetteContent(Struct):
    """The content of a file. ``rest``: its members beside the interactions, by the name of the format."""

    interactions: list[Interaction]
    rest: dict[str, Any] = field(default_factory=dict)


def grouped(headers: Headers) -> dict[str, list[str]]:
    """Return the values of each name, in the order in which the names first appear."""
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name, []).append(value)
    return values


def listed(headers: dict[str, list[str]]) -> Headers:
    """Return the pairs of a mapping of names to values."""
    return [(name, value) for name, values in headers.items() for value in values]


def first(headers: Headers, name: str) -> str | None:
    """Return the first value of a header, in any spelling of its name."""
    return next((value for key, value in headers if key.lower() == name), None)


def differences(old: CassetteContent, new: CassetteContent) -> Iterator[str]:
    """Yield what differs between the contents of two files, as places: "interaction 2, request body"."""
    if len(old.interactions) != len(new.interactions):
        yield f"{len(old.interactions):,} interactions became {len(new.interactions):,}"
        return
    for number, (before, after) in enumerate(zip(old.interactions, new.interactions, strict=True), 1):
        for place, a, b in _parts(before, after):
            if a != b:
                yield f"interaction {number}, {place}"
    if old.rest != new.rest:
        yield "the members beside the interactions"


def _parts(a: Interaction, b: Interaction) -> Iterator[tuple[str, Any, Any]]:
    yield "request method", a.request.method, b.request.method
    yield "request address", a.request.uri, b.request.uri
    yield "request headers", grouped(a.request.headers), grouped(b.request.headers)
    yield "request body", a.request.body or b"", b.request.body or b""
    yield "status", a.response.status, b.response.status
    yield "reason of the status", a.response.reason, b.response.reason
    yield "version of HTTP", a.response.version, b.response.version
    yield "response headers", grouped(a.response.headers), grouped(b.response.headers)
    yield "response body", a.response.body, b.response.body
    yield "time of the recording", a.recorded_at, b.recorded_at
    yield "members of its format", a.rest, b.rest
