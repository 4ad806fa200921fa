"""The scanner: refuses cassettes that still contain a secret.

It shares neither code nor patterns with the scrubber, so a mistake in one is not hidden by the other. It decodes a
cassette independently (JSON, reassembled events, protobuf fields, decompressed data), runs detect-secrets and some
custom detectors on the result, and searches everything for the values of the environment's keys.

    leaks = scan(cassette)           # a list, empty if nothing was found
    refuse(cassette, where=path)     # raises SecretsLeft if anything was found

    before = secrets_in(raw)         # the secrets before scrubbing: no part of them may remain
    refuse(scrubbed, found_before=before)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolparity.cassettes.errors import SecretsLeft

from .scan import SecretLeak, scan, secrets_in

__all__ = ["SecretLeak", "refuse", "scan", "secrets_in"]

_SHOWN = 5


def refuse(
    cassette: Mapping[str, Any],
    *,
    where: str = "",
    environ: Mapping[str, str] | None = None,
    found_before: frozenset[str] = frozenset(),
) -> None:
    """Raise SecretsLeft if `scan` finds anything. Its ``leaks`` hold all findings, its message the first few."""
    leaks = scan(cassette, environ, found_before=found_before)
    if leaks:
        more = f", and {len(leaks) - _SHOWN} more" if len(leaks) > _SHOWN else ""
        raise SecretsLeft("; ".join(str(leak) for leak in leaks[:_SHOWN]) + more, leaks=tuple(leaks), where=where)
