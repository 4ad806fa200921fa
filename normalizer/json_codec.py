"""JSON decoding and encoding that accepts more than msgspec does.

msgspec rejects half surrogate pairs, NaN and numbers beyond 64-bit floats, which real traffic contains (failures
UNI-02, NUM-02). Both directions try msgspec first and fall back to the `json` module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import msgspec

from .errors import MalformedBody

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_T = TypeVar("_T")
_BUILDING = Lock()


def decoder(kind: type[_T]) -> Callable[[bytes | bytearray | memoryview | str], _T]:
    """Return msgspec's decoder of JSON to a type. Use it instead of ``msgspec.json.decode(data, type=…)``.

    msgspec keeps its description of a struct in the struct's class, and stores it there before it is complete. Two
    threads that decode or convert to the same struct for the first time then crash the process (msgspec 0.22). Here one
    thread at a time builds descriptions, and types that other modules build are built while these are imported.
    """
    found: Callable[[bytes | bytearray | memoryview | str], _T] = _decoder(kind)  # type: ignore[arg-type]
    return found


@cache
def _decoder(kind: Any) -> Callable[[bytes | bytearray | memoryview | str], Any]:
    with _BUILDING:
        return msgspec.json.Decoder(kind).decode


def convert(value: Any, kind: Any) -> Any:
    """Return `msgspec.convert` of a value, for types whose first use may be in several threads. See `decoder`."""
    decoder(kind)
    return msgspec.convert(value, kind)


def decode(data: bytes | str) -> Any:
    """Decode any JSON value. Raises ValueError if it is not JSON, is nested too deep or contains too large a number."""
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeError):
        import json  # imported here because it is rarely needed and slows down the import

        try:
            return json.loads(data if isinstance(data, str) else data.decode("utf-8", "replace"))
        except RecursionError:
            raise ValueError("nested too deeply") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def decode_or_text(data: bytes) -> Any:
    """Decode any JSON value; return the text if `decode` raises ValueError."""
    try:
        return decode(data)
    except ValueError:
        return data.decode("utf-8", "replace")


def encode_line(value: Any) -> bytes:
    """Return a value as a line of JSON, for a log or a terminal.

    JSON may contain any character above U+001F as it is, also those that control a terminal or reverse the direction of
    writing. Here they are escapes of JSON, which any reader turns back.
    """
    data = encode(value)
    if not (data.isascii() and b"\x7f" not in data) and not (text := data.decode()).isprintable():
        import json

        data = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text).encode()
    return data + b"\n"


def encode(value: Any) -> bytes:
    """Encode canonical structs or plain values as compact JSON. Half surrogate pairs are escaped, not rejected."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        import json

        plain = msgspec.to_builtins(value)
        return json.dumps(plain, separators=(",", ":")).encode()


def bytes_of(value: Any) -> bytes:
    """Encode a caller's value as compact JSON. Raises MalformedBody if it is not JSON-serializable."""
    try:
        return encode(value)
    except RecursionError:
        raise MalformedBody(
            f"a {type(value).__name__} is nested too deeply to be written as JSON", body=value
        ) from None
    except (TypeError, ValueError, OverflowError) as error:
        raise MalformedBody(f"a {type(value).__name__} cannot be written as JSON: {error}", body=value) from None


def text(value: Any) -> str:
    """Encode a value as compact JSON in a str, like `bytes_of`. Raises MalformedBody if it is not JSON-serializable."""
    try:
        return _encode(value).decode()
    except (UnicodeEncodeError, RecursionError, TypeError, ValueError, OverflowError):
        return bytes_of(value).decode()


def shown(value: Any) -> str:
    """Encode a value like `text`, for people: NaN and infinities, which JSON lacks, remain and do not become null."""
    import json

    exact = text(value)
    if "null" not in exact:
        return exact
    plain = msgspec.to_builtins(value)
    try:
        json.dumps(plain, allow_nan=False)
    except ValueError:
        return json.dumps(plain, separators=(",", ":"))
    return exact
