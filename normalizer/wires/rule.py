"""Request rules as data: why a provider refuses a request, and a check that finds the violation before sending.

Each wire lists its rules in the table ``RULES`` of `normalizer/wires/<wire>/rules.py`. The tests check the request
writers against them, and emulated providers use them to refuse requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct


class Violation(Struct, frozen=True, gc=False):
    """One violation of a rule. ``rule``: the rule's id. ``path``: its position, such as ``messages[3].content[0]``."""

    rule: str
    path: str
    message: str


class Rule(Struct, frozen=True):
    """A request rule of a provider.

    ``reason``: why the provider refuses. ``source``: its documentation, or the failure that reports it.
    ``check(body)``: yields (path, message) for each violation, and never raises, whatever the body.
    ``providers``: the providers that enforce the rule; None means all of the wire. ``unless``: providers that do not.
    ``status`` and ``error_type``: the HTTP status and error type of the refusal.
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
    """Return every violation of the rules that apply to ``provider``, in the order of ``rules``."""
    return [
        Violation(rule.id, path, message)
        for rule in rules
        if (rule.providers is None or provider in rule.providers) and provider not in rule.unless
        for path, message in rule.check(body)
    ]
