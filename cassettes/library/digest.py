"""Digest of a cassette's interactions: independent of the YAML layout, different for any other content.

Text and its UTF-8 bytes hash the same, because vcrpy converts between the two when it writes and reads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from ..errors import UnreadableCassette


def digest(interactions: Iterable[Any]) -> str:
    """Return ``sha256:<hex>`` over plain data, such as the ``interactions`` of a cassette.

    Each value is hashed after its kind and length; members are hashed in the order of their names. Raises
    UnreadableCassette for a value that is not plain data.
    """
    machine = hashlib.sha256(b"toolparity interactions 1\n")
    stack: list[Any] = [list(interactions)]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            value = value.encode("utf-8", "surrogatepass")
        if isinstance(value, (bytes, bytearray)):
            machine.update(b"s%d:" % len(value))
            machine.update(value)
        elif isinstance(value, list):
            machine.update(b"l%d:" % len(value))
            stack.extend(reversed(value))
        elif isinstance(value, dict):
            machine.update(b"m%d:" % len(value))
            for name in sorted(value, reverse=True):
                stack.append(value[name])
                stack.append(name)
        elif value is None or isinstance(value, (bool, int, float, date, datetime)):
            shown = f"{type(value).__name__} {value!r}".encode()
            machine.update(b"v%d:" % len(shown))
            machine.update(shown)
        else:
            raise UnreadableCassette(f"a {type(value).__name__} is no plain data")
    return f"sha256:{machine.hexdigest()}"
