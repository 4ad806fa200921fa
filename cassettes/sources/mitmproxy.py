"""Flow files of mitmproxy: a sequence of tnetstrings, each a mapping with ``request`` and ``response``.

A tnetstring is ``<length>:<data><type>``. The types are ``,`` bytes, ``;`` text, ``#`` integer, ``^`` float, ``!``
boolean, ``~`` null, ``}`` mapping, and ``]`` list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..errors import UnreadableSource
from . import http
from .entries import problem_of
from .files import MAX_RECORD_BYTES, Opened
from .model import Exchange, Problem, ReadItem

_LONGEST_LENGTH = 12
_DEEPEST = 50


def exchanges(file: Opened) -> Iterator[ReadItem]:
    """Yield the exchange of each HTTP flow. Flows without a response and other protocols hold none.

    A damaged end is a problem, as the flows behind it are lost.
    """
    number = 0
    while True:
        source = f"{file.path}#{number + 1}"
        try:
            flow = _next(file)
        except UnreadableSource as error:
            yield Problem(source, error.what, error.hint)
            return
        if flow is None:
            return
        number += 1
        request, response = flow.get("request"), flow.get("response")
        if isinstance(request, dict) and isinstance(response, dict):
            try:
                yield _exchange(source, request, response)
            except Exception as error:  # one flow must not hide the others
                yield problem_of(error, "an HTTP flow", source, None)


def _exchange(source: str, request: dict[str, Any], response: dict[str, Any]) -> Exchange:
    scheme, host, path = (_text(request.get(name)) for name in ("scheme", "host", "path"))
    port = request.get("port")
    status = response.get("status_code")
    return http.exchange(
        source,
        None,
        method=_text(request.get("method")) or None,
        url=f"{scheme}://{host}:{port}{path}",
        request_headers=_headers(request),
        request=_bytes(request.get("content")),
        status=status if isinstance(status, int) else None,
        headers=_headers(response),
        body=_bytes(response.get("content")),
    )


def _headers(message: dict[str, Any]) -> dict[str, str]:
    pairs = message.get("headers")
    pairs = [pair for pair in pairs if isinstance(pair, list) and len(pair) == 2] if isinstance(pairs, list) else []
    return http.headers_of((_text(name), _text(value)) for name, value in pairs)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def _bytes(value: Any) -> bytes | None:
    return value if isinstance(value, bytes) else None


def _next(file: Opened) -> dict[str, Any] | None:
    """Read the next flow; None at the end. Raises UnreadableSource if the data is damaged or cut."""
    digits = b""
    while True:
        byte = file.stream.read(1)
        if not byte and not digits:
            return None
        if byte == b":":
            break
        if not byte.isdigit() or len(digits) >= _LONGEST_LENGTH:
            raise UnreadableSource("damaged or truncated flows: no length where a flow should begin")
        digits += byte
    length = int(digits or b"0")
    if length > MAX_RECORD_BYTES:
        raise UnreadableSource(f"a flow is longer than {MAX_RECORD_BYTES >> 20} MB")
    data = file.stream.read(length + 1)
    if len(data) != length + 1:
        raise UnreadableSource("damaged or truncated flows: the file ends within a flow")
    value = _value(data[:-1], data[-1:], 0)
    if not isinstance(value, dict):
        raise UnreadableSource("damaged or truncated flows: a flow is not a mapping")
    return value


def _value(data: bytes, kind: bytes, depth: int) -> Any:
    if depth > _DEEPEST:
        raise UnreadableSource("damaged or truncated flows: nested too deeply")
    if kind == b"}":
        values = list(_values(data, depth))
        return {_text(key): value for key, value in zip(values[::2], values[1::2], strict=False)}
    if kind == b"]":
        return list(_values(data, depth))
    read = _PLAIN.get(kind)
    if read is None:
        raise UnreadableSource(f"damaged or truncated flows: unknown type {kind!r}")
    try:
        return read(data)
    except ValueError as error:
        raise UnreadableSource(f"damaged or truncated flows: {error}") from None


def _values(data: bytes, depth: int) -> Iterator[Any]:
    start = 0
    while start < len(data):
        colon = data.find(b":", start, start + _LONGEST_LENGTH + 1)
        digits = data[start:colon]
        end = colon + 1 + int(digits) if colon >= 0 and digits.isdigit() else len(data)
        if end >= len(data):
            raise UnreadableSource("damaged or truncated flows: a value exceeds its container")
        yield _value(data[colon + 1 : end], data[end : end + 1], depth + 1)
        start = end + 1


_PLAIN: dict[bytes, Callable[[bytes], Any]] = {
    b",": bytes,
    b";": lambda data: data.decode("utf-8", "replace"),
    b"#": int,
    b"^": float,
    b"!": lambda data: data == b"true",
    b"~": lambda data: None,
}
