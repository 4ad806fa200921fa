"""gRPC metadata as the headers of a cassette and back.

Names ending in ``-bin`` carry bytes, in a cassette as base64; all others carry text. The order of the values of one
name is kept, that among names is not (nor does gRPC keep it).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import UnreadableInteraction

#: Name and value, in order; the value is bytes where the name ends in -bin.
Pairs = tuple[tuple[str, str | bytes], ...]


def pairs_of(metadata: Iterable[Any] | None) -> Pairs:
    """Whatever grpc takes or gives as metadata."""
    return tuple((str(name), value) for name, value in metadata or ())


def to_headers(pairs: Pairs) -> dict[str, list[str]]:
    """A response's headers or trailers, as vcrpy writes them: names to lists of values."""
    headers: dict[str, list[str]] = {}
    for name, value in pairs:
        headers.setdefault(name.lower(), []).append(_to_text(name, value))
    return headers


def to_request_headers(pairs: Pairs) -> dict[str, str]:
    """A request's headers. vcrpy keeps one value a name there; gRPC lets several be joined by commas."""
    return {name: ("," if name.endswith("-bin") else ", ").join(values) for name, values in to_headers(pairs).items()}


def from_headers(headers: Any, where: str) -> Pairs:
    """Raises UnreadableInteraction where it is no mapping, or a -bin value is no base64."""
    if headers is None:
        return ()
    if not isinstance(headers, Mapping):
        raise UnreadableInteraction("its headers are no mapping", where=where)
    return tuple(
        (str(name).lower(), _from_text(str(name), value, where))
        for name, values in headers.items()
        for value in (values if isinstance(values, list) else [values])
    )


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
        raise UnreadableInteraction(f"the value of {name} is no base64: {error}", where=where) from None
