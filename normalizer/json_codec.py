"""JSON in and out, where msgspec's strictness would lose something.

msgspec refuses half surrogate pairs, NaN and numbers beyond 64-bit floats; real traffic holds all of them
(failures UNI-02, NUM-02). Both directions try msgspec first.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .errors import MalformedBody

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def decode(data: bytes | str) -> Any:
    """Any JSON value. Raises ValueError where it is no JSON, is nested too deep, or holds a number too large."""
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeError):
        import json  # rarely needed, and not free to load

        try:
            return json.loads(data if isinstance(data, str) else data.decode("utf-8", "replace"))
        except RecursionError:
            raise ValueError("nested too deep") from None
    except RecursionError:
        raise ValueError("nested too deep") from None


def encode(value: Any) -> bytes:
    """Compact JSON of canonical structs or plain values; half surrogate pairs are escaped, never an error."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        import json

        plain = msgspec.to_builtins(value)
        return json.dumps(plain, separators=(",", ":")).encode()


def spelled(value: Any) -> bytes:
    """Compact JSON of what a caller passes as a JSON value. Raises MalformedBody where JSON cannot hold it."""
    try:
        return encode(value)
    except RecursionError:
        raise MalformedBody(f"a {type(value).__name__} is nested too deep to be written as JSON", body=value) from None
    except (TypeError, ValueError, OverflowError) as error:
        raise MalformedBody(f"a {type(value).__name__} cannot be written as JSON: {error}", body=value) from None


def text(value: Any) -> str:
    """Compact JSON as text; half surrogate pairs stay escaped. Raises MalformedBody where JSON cannot hold it."""
    return spelled(value).decode()
