"""Request rules: why a provider refuses a request, and a check that finds the violation before sending.

Each wire lists its rules as ``RULES`` in `normalizer/wires/<wire>/rules.py`. A rule is a function with the decorator
`rule`. The tests check the request writers against the rules, and emulated providers use them to refuse requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from ..errors import MalformedBody

#: The path and the message of each violation.
Violations = Iterator[tuple[str, str]]
Check = Callable[[Any], Violations]

#: Former id -> id, on every wire. `Violation.breaks` accepts both until release 0.3.
FORMER = {
    **dict.fromkeys(("messages-empty", "messages", "contents"), "messages-present"),
    **dict.fromkeys(("model", "model-missing"), "model-present"),
    "tool-strict": "strict-schema",
    **dict.fromkeys(("role", "roles", "role-unknown"), "role-known"),
    **dict.fromkeys(("content", "content-missing", "parts"), "content-present"),
    **dict.fromkeys(("block-type", "content-type", "content-known"), "part-type"),
    "file-source": "media-source",
    **dict.fromkeys(("answered", "call-unanswered", "calls-answered"), "call-answered"),
    **dict.fromkeys(("result-orphan", "output-asked-for", "answer-asked-for"), "result-asked-for"),
    **dict.fromkeys(("result-duplicate", "one-answer"), "answered-once"),
    **dict.fromkeys(("id-repeated", "unique-ids", "call-ids"), "id-unique"),
    **dict.fromkeys(("unique-names", "unique-tools", "tool-name-once", "name-once"), "tool-unique"),
    **dict.fromkeys(("name-pattern", "name-form", "tool-name"), "name-format"),
    **dict.fromkeys(("name-reserved", "tool-name-free"), "name-free"),
    **dict.fromkeys(("choice-undeclared", "allowed-name"), "choice-declared"),
    **dict.fromkeys(("choice-unknown", "tool-choice-form", "choice-word", "tool-mode"), "tool-choice"),
    "choice-unknown-mistral": "tool-choice-mistral",
    "call-name": "call-named",
    "call-text": "arguments-text",
    "parameters": "parameters-object",
    **dict.fromkeys(("input-object", "arguments"), "arguments-object"),
    **dict.fromkeys(("schema", "tool", "tool-keywords"), "tool-schema"),
}


class Violation(Struct, frozen=True, gc=False):
    """One violation of a rule. ``rule``: the rule's id. ``path``: its position, such as ``messages[3].content[0]``."""

    rule: str
    path: str
    message: str

    def breaks(self, id: str) -> bool:
        """Return whether the violation breaks the rule with this id, which may be a former one (`FORMER`)."""
        return self.rule in (id, FORMER.get(id))


class Rule(Struct, frozen=True):
    """A request rule of a provider.

    ``reason``: why the provider refuses. ``source``: its documentation, or the failure that reports it.
    ``check(body)``: yields (path, message) for each violation. It raises nothing for a body of any type, except
    RecursionError for one that is nested too deeply.
    ``providers``: the providers that enforce the rule; None means all of the wire. ``unless``: providers that do not.
    ``status`` and ``error_type``: the HTTP status and error type of the refusal.
    ``whole``: the rule needs the whole history, as it counts or compares what several rounds have. A request whose
    messages are objects breaks another rule only if one of its rounds does with everything before the first answer.
    """

    id: str
    reason: str
    source: str
    check: Check
    providers: frozenset[str] | None = None
    unless: frozenset[str] = frozenset()
    status: int = 400
    error_type: str = "invalid_request_error"
    whole: bool = False


def rule(id: str, source: str, providers: Iterable[str] | None = None, **more: Any) -> Callable[[Check], Rule]:
    """Make a rule of the decorated check, whose docstring is the reason. ``more``: other members of `Rule`."""

    def decorated(check: Check) -> Rule:
        enforcing = None if providers is None else frozenset(providers)
        return Rule(id, " ".join((check.__doc__ or "").split()), source, check, enforcing, **more)

    return decorated


def rules_in(namespace: dict[str, Any]) -> tuple[Rule, ...]:
    """Return the rules of a module, given its ``globals()``, in the order of their definition."""
    return tuple(value for value in namespace.values() if isinstance(value, Rule))


def violations(body: Any, rules: tuple[Rule, ...], provider: str | None = None) -> list[Violation]:
    """Return every violation of the rules that apply to ``provider``, in the order of ``rules``.

    Raises MalformedBody if the body is nested too deeply.
    """
    try:
        return [
            Violation(rule.id, path, message)
            for rule in rules
            if (rule.providers is None or provider in rule.providers) and provider not in rule.unless
            for path, message in rule.check(body)
        ]
    except RecursionError:
        raise MalformedBody("the request is nested too deeply", body=body) from None
