"""The header fields that an intermediary forwards (RFC 9110, section 7.6.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

RawHeaders = list[tuple[bytes, bytes]]

#: Fields that concern one connection only. `Trailer` announces trailers, which are not forwarded.
_HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the fields to forward, in order: all but those of the connection and those that `Connection` names.

    It must not name fields for all recipients (RFC 9110, section 7.6.1). Without its length, a body would be lost.
    """
    fields = list(headers)
    dropped = _HOP_BY_HOP | (tokens_of(fields, b"connection") - {b"content-length", b"host"})
    return ((name, value) for name, value in fields if name.lower() not in dropped)


def to_upstream(headers: Iterable[tuple[bytes, bytes]], host: bytes) -> RawHeaders:
    """Return the fields of a request for the upstream ``host``.

    A body of unknown length keeps its chunked coding. `Expect` is left out, because the server has answered it.
    """
    fields = list(headers)
    forwarded = [(name, value) for name, value in end_to_end(fields) if name.lower() not in (b"host", b"expect")]
    if any(name.lower() == b"transfer-encoding" for name, _ in fields):
        forwarded = [(name, value) for name, value in forwarded if name.lower() != b"content-length"]
        forwarded.append((b"transfer-encoding", b"chunked"))
    return [(b"host", host), *forwarded]


def has_two_lengths(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a request has a length and a transfer coding, after which its connection must be closed.

    RFC 9112, section 6.1: another server could take the length for the one that counts.
    """
    names = {name.lower() for name, _ in headers}
    return {b"content-length", b"transfer-encoding"} <= names


def value_of(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str | None:
    """Return the first value of a field, or None."""
    return next((value.decode("latin-1") for field, value in headers if field.lower() == name), None)


def text_pairs(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    """Return the fields as text."""
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]


def text_lists(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    """Return the values of each field as text, by its name in lower case."""
    lists: dict[str, list[str]] = {}
    for name, value in text_pairs(headers):
        lists.setdefault(name.lower(), []).append(value)
    return lists


def tokens_of(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> set[bytes]:
    """Return the elements of all fields of a name, in lower case."""
    values = (value for field, value in headers if field.lower() == name)
    return {token.strip().lower() for value in values for token in value.split(b",")}
