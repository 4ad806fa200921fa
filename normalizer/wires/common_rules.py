"""Rules that several wires have, each with one id and one implementation.

A wire passes a function that returns the places in its requests that the rule concerns, and the source:

    tool_unique = common_rules.tool_unique(_tool_names, "refusal: Tool names must be unique")

An id names what a request must have. `rule.FORMER` has the ids that the wires used before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from functools import wraps
from typing import Any, Literal, NamedTuple

from .rule import Rule, Violations, rule
from .traverse import items, member, objects


class Step(NamedTuple):
    """A call or a result in a history.

    ``kind``: "call" if the client must answer it, "served" if results may refer to it, "result". ``id``: the call's.
    """

    kind: Literal["call", "served", "result"]
    path: str
    id: Any


class Round(NamedTuple):
    """The calls of a turn and the results after it, in the order of the request.

    ``shared``: one result answers all calls with its id; otherwise each call has a separate result.
    """

    steps: list[Step]
    shared: bool = True


#: Path and value of each place.
Places = Iterable[tuple[str, Any]]


def message_list(body: Any) -> Places:
    """Return the list ``messages`` with its path."""
    return [("messages", member(body, "messages"))]


def messages_of(body: Any) -> Places:
    """Yield the items of the list ``messages``."""
    return ((f"messages[{number}]", message) for number, message in enumerate(items(body, "messages")))


def roles_of(body: Any) -> Places:
    """Yield the roles of the messages."""
    return ((f"{path}.role", message.get("role")) for path, message in objects(body, "messages"))


def calls_of(message: dict[str, Any], path: str) -> list[tuple[str, dict[str, Any]]]:
    """Return path and value of each call in ``tool_calls`` of an assistant message."""
    return [*objects(message, "tool_calls", path)] if message.get("role") == "assistant" else []


def message_rounds(body: Any) -> Iterator[Round]:
    """Yield each assistant message with ``tool_calls`` and the tool messages directly after it. An id is its `repr`."""
    steps: list[Step] = []
    for path, message in objects(body, "messages"):
        if message.get("role") == "tool":
            steps.append(Step("result", path, repr(message.get("tool_call_id"))))
        else:
            yield Round(steps)
            steps = [Step("call", place, repr(call.get("id"))) for place, call in calls_of(message, path)]
    yield Round(steps)


def _common(id: str) -> Callable[[Callable[..., Violations]], Callable[..., Rule]]:
    """Make a function that returns the rule of a wire. The decorated check gets the wire's places."""

    def decorated(check: Callable[..., Violations]) -> Callable[..., Rule]:
        def of_wire(
            places: Callable[[Any], Any],
            source: str,
            providers: Iterable[str] | None = None,
            *,
            unless: frozenset[str] = frozenset(),
            error_type: str = "invalid_request_error",
            whole: bool = False,
            **options: Any,
        ) -> Rule:
            made = rule(id, source, providers, unless=unless, error_type=error_type, whole=whole)

            @wraps(check)
            def checked(body: Any) -> Violations:
                return check(places(body), **options)

            return made(checked)

        return of_wire

    return decorated


@_common("messages-present")
def messages_present(lists: Places) -> Violations:
    """A request contains at least one message."""
    for path, messages in lists:
        if not (isinstance(messages, list) and messages):
            yield path, "at least one message is required"


@_common("message-object")
def message_object(messages: Places) -> Violations:
    """A message is an object."""
    for path, message in messages:
        if not isinstance(message, dict):
            yield path, "must be an object"


@_common("model-present")
def model_present(models: Places) -> Violations:
    """A request names its model."""
    for path, model in models:
        if not (isinstance(model, str) and model):
            yield path, "a model is required"


@_common("role-known")
def role_known(roles: Places, known: Container[Any]) -> Violations:
    """The role of a message is a documented one."""
    for path, role in roles:
        if not (isinstance(role, str | None) and role in known):
            yield path, f"unknown role: {role!r}"


@_common("call-answered")
def call_answered(rounds: Iterable[Round]) -> Violations:
    """Each call has a result after it, before the model continues."""
    for round in rounds:
        yield from ((path, f"call {id} has no result") for kind, path, id in _unpaired(round) if kind == "call")


@_common("result-asked-for")
def result_asked_for(rounds: Iterable[Round]) -> Violations:
    """A result belongs to a call of the turn before it."""
    for round in rounds:
        for kind, path, id in _unpaired(round):
            if kind == "orphan":
                yield path, f"there is no call {id} for this result"


@_common("answered-once")
def answered_once(rounds: Iterable[Round]) -> Violations:
    """A call has one result."""
    for round in rounds:
        yield from ((path, f"a second result for {id}") for kind, path, id in _unpaired(round) if kind == "second")


def _unpaired(round: Round) -> Iterable[tuple[str, str, Any]]:
    """Return ("call", "orphan" or "second", path, id) of each call without result, and result without call."""
    if not round.steps:
        return ()
    found: list[tuple[str, str, Any]] = []
    waiting: dict[Any, list[str]] = {}
    served: set[Any] = set()
    for kind, path, id in round.steps:
        if kind == "call":
            waiting.setdefault(id, []).append(path)
        elif kind == "served":
            served.add(id)
        elif paths := waiting.get(id):
            del paths[: len(paths) if round.shared else 1]
        elif id not in served:
            found.append(("orphan" if paths is None else "second", path, id))
    return [*found, *(("call", path, id) for id, paths in waiting.items() for path in paths)]


@_common("id-unique")
def id_unique(turns: Iterable[Places]) -> Violations:
    """The ids of the calls in a turn are unique."""
    for calls in turns:
        yield from _repeated(calls, "is the id of another call of the turn")


@_common("tool-unique")
def tool_unique(names: Places) -> Violations:
    """Tool names are unique."""
    return _repeated(names, "is declared twice")


def _repeated(places: Places, problem: str) -> Violations:
    seen: set[Any] = set()
    for path, value in places:
        if value in seen:
            yield path, f"{value!r} {problem}"
        seen.add(value)


@_common("name-format")
def name_format(names: Places, pattern: str) -> Violations:
    """The name of a tool matches the provider's pattern."""
    return _mismatched(names, pattern)


@_common("id-format")
def id_format(ids: Places, pattern: str) -> Violations:
    """The id of a call matches the provider's pattern."""
    return _mismatched(ids, pattern)


def _mismatched(places: Places, pattern: str) -> Violations:
    for path, value in places:
        if not (isinstance(value, str) and re.fullmatch(pattern, value)):
            yield path, f"{value!r} does not match ^{pattern}$"


@_common("name-free")
def name_free(names: Places, reserved: Container[str]) -> Violations:
    """The names of the provider's own tools are reserved."""
    for path, name in names:
        if isinstance(name, str) and name in reserved:
            yield path, f"{name} is reserved"


@_common("choice-declared")
def choice_declared(choices: Iterable[tuple[str, Any, Container[Any]]]) -> Violations:
    """A forced tool is declared."""
    for path, name, declared in choices:
        if name not in declared:
            yield path, f"{name!r} is not declared"


@_common("arguments-object")
def arguments_object(values: Places) -> Violations:
    """The arguments of a call are an object, not its JSON text."""
    for path, value in values:
        if not isinstance(value, dict):
            yield path, f"must be an object, got {type(value).__name__}"
