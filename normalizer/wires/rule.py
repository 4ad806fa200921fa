"""A provider's own rules for a request, as data: each with an id, its reason, and a check that runs before sending.

The rules of a wire stand in its package (`normalizer/wires/<wire>/rules.py`, table ``RULES``). Writers are tested
against them, and emulated providers refuse by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct


class Violation(Struct, frozen=True, gc=False):
    """A place in a request body that breaks a rule. ``path``: like ``messages[3].content[0]``."""

    rule: str
    path: str
    message: str


class Rule(Struct, frozen=True):
    """``reason``: why the provider refuses; ``source``: its documentation or the failure that reports it.

    ``check(body)`` yields (path, message) for each place that breaks the rule; it never raises, whatever the body.
    ``providers``: who holds it, null for all of the wire; ``unless``: but they. ``status`` and ``error_type``: how they
    refuse.
    """

    id: str
    reason: str
    source: str
    check: Callable[[Any], Iterator[tuple[str, str]]]
    providers: frozenset[str] | None = None
    status: int = 400
    error_type: str = "invalid_request_error"
    unless: frozenset[str] = frozenset()


def violations(body: Any, rules: tuple[Rule, ...], provider: str | None = None) -> list[Violation]:
    """Every violation of the rules that hold for a provider, in the rules' order."""
    return [
        Violation(rule.id, path, message)
        for rule in rules
        if (rule.providers is None or provider in rule.providers) and provider not in rule.unless
        for path, message in rule.check(body)
    ]
