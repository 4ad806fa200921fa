"""The scanner: refuses cassettes that still contain a secret.

Both read what a secret is in `toolparity.turns.secrets`, so that the scrubber replaces what the scanner would refuse.
They decode a cassette with separate code, so that the scanner refuses a secret that the scrubber did not reach. The
scanner decodes JSON, reassembled events, protobuf fields and compressed data, and searches everything for the
environment's keys. What only looks like a secret needs an entry in the allow-list (`allowed`), which the refusal names.

    leaks = scan(cassette)           # a list, empty if nothing was found
    refuse(cassette, where=path)     # raises SecretsLeft if anything was found

    before = secrets_in(raw)         # the secrets before scrubbing: no part of them may remain
    refuse(scrubbed, found_before=before)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolparity.cassettes.errors import SecretsLeft

from .scan import SecretLeak, scan, secrets_in

__all__ = ["SecretLeak", "allowing", "next_step", "refuse", "scan", "secrets_in"]

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
        raise SecretsLeft(
            "; ".join(str(leak) for leak in leaks[:_SHOWN]) + more,
            leaks=tuple(leaks),
            where=where,
            hint=next_step(leaks),
        )


def next_step(leaks: Sequence[SecretLeak]) -> str:
    """Return what to do about leaks that cannot be written."""
    return f"nothing was written; scrub the data, or {allowing(leak.entry for leak in leaks[:_SHOWN])}"


def allowing(entries: Iterable[str]) -> str:
    """Return how to add entries to the allow-list."""
    lines = ", ".join(f'"{entry}" = "reason"' for entry in entries)
    return (
        f"allow what is not a secret in pyproject.toml: [tool.toolparity.allow-secrets] {lines} "
        '(page "Cassette maintenance", "Values that only look like secrets")'
    )
