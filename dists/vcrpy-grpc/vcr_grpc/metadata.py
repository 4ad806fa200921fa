"""Conversion between gRPC metadata and cassette headers.

Names ending in ``-bin`` carry bytes, stored as base64; all others carry text. Headers keep the order of the values of
one name. For an order of names that is not the alphabetical one of cassettes, a list of the names is recorded.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import UnreadableInteraction

#: Names and values, in order. The value is bytes if the name ends in -bin.
Pairs = tuple[tuple[str, str | bytes], ...]


def pairs_of(metadata: Iterable[Any] | None) -> Pairs:
    """Convert any form of metadata that grpc accepts or returns."""
    return tuple((str(name), value) for name, value in metadata or ())


def to_headers(pairs: Pairs) -> dict[str, list[str]]:
    """Return a response's headers or trailers as vcrpy writes them: name -> list of values."""
    headers: dict[str, list[str]] = {}
    for name, value in pairs:
        headers.setdefault(name.lower(), []).append(_to_text(name, value))
    return headers


def order_of(pairs: Pairs) -> list[str]:
    """Return the names in their order, or an empty list if it is the alphabetical one."""
    names = [name.lower() for name, _ in pairs]
    return names if names != sorted(names) else []


def to_request_headers(pairs: Pairs) -> dict[str, str]:
    """Return a request's headers. vcrpy keeps one value per name, and gRPC allows several to be comma-separated."""
    return {name: ("," if name.endswith("-bin") else ", ").join(values) for name, values in to_headers(pairs).items()}


def from_headers(headers: Any, where: str, order: Any = ()) -> Pairs:
    """Convert headers to metadata. ``order``: what `order_of` returned; names that are not in it follow.

    Raises UnreadableInteraction for a non-mapping or invalid base64 in a -bin value.
    """
    if headers is None:
        return ()
    if not isinstance(headers, Mapping):
        raise UnreadableInteraction("its headers are not a mapping", where=where)
    rest = [
        (str(name).lower(), _from_text(str(name), value, where))
        for name, values in headers.items()
        for value in (values if isinstance(values, list) else [values])
    ]
    pairs = []
    for name in order if isinstance(order, list) else ():
        at = next((n for n, pair in enumerate(rest) if pair[0] == name), None)
        if at is not None:
            pairs.append(rest.pop(at))
    return (*pairs, *rest)


def _to_text(name: str, value: str | bytes) -> str:
    if name.lower().endswith("-bin"):
        return base64.b64encode(value if isinstance(value, bytes) else value.encode()).decode("ascii")
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def _from_text(name: str, value: Any, where: str) -> str | bytes:
    if not name.lower().endswith("-bin"):
        return str(value)
    try:
        return base64.b64decode(str(value), validate=True)
    except (binascii.Error, ValueError) as error:
        raise UnreadableInteraction(f"the value of {name} is not base64: {error}", where=where) from None
