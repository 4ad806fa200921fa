"""The scanner: what still holds a secret is not written.

It shares nothing with the scrubber, neither code nor patterns, so that a mistake there does not hide itself here. It
reads a cassette its own way (parsed JSON, events put together, protobuf's fields, unpacked data), lets detect-secrets
and a few detectors of its own look at what it read, and searches everything for the values of the environment's keys.

    leaks = scan(cassette)           # a list; empty where nothing was found
    refuse(cassette, where=path)     # SecretsLeft where something was

    before = secrets_in(raw)         # what stood there before it was scrubbed: no part of it may be left
    refuse(scrubbed, found_before=before)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolparity.normalizer.errors import SecretsLeft

from .leak import Leak
from .scan import scan, secrets_in

__all__ = ["Leak", "refuse", "scan", "secrets_in"]

_SHOWN = 5


def refuse(
    cassette: Mapping[str, Any],
    *,
    where: str = "",
    environ: Mapping[str, str] | None = None,
    found_before: frozenset[str] = frozenset(),
) -> None:
    """Raise SecretsLeft where `scan` finds anything; its ``leaks`` hold all of it, its text the first few."""
    leaks = scan(cassette, environ, found_before=found_before)
    if leaks:
        more = f", and {len(leaks) - _SHOWN} more" if len(leaks) > _SHOWN else ""
        raise SecretsLeft("; ".join(str(leak) for leak in leaks[:_SHOWN]) + more, leaks=tuple(leaks), where=where)
