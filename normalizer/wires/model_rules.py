"""What particular models refuse: the table `model_rules.toml` as request rules, and requests changed to fit a model.

The table is loaded when the first request is checked or handed over. Its head explains the columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache, lru_cache
from typing import Any, NamedTuple

from msgspec import Struct, convert

from .registry import is_wire, spec
from .rule import Check, Rule, Violations
from .traverse import member, text

#: Degrees of confidence that suffice to call a request refused: a false refusal is worse than a miss.
_CERTAIN = ("recorded", "two threads")


class Row(Struct, frozen=True, dict=True):
    """A row of the table, without its evidence. See the head of the table."""

    id: str
    wire: str
    models: str
    message: str
    source: str
    confidence: str
    status: int | str
    when: dict[str, Any] | None = None
    provider: tuple[str, ...] | None = None
    omit: tuple[str, ...] = ()
    set: dict[str, Any] = {}
    rename: dict[str, str] = {}


class ModelRule(NamedTuple):
    """A row as a request rule. ``certain``: the evidence suffices to call a request refused."""

    rule: Rule
    row: Row
    certain: bool


class _Step(NamedTuple):
    """A step of a path: alternative members, and which elements of a list to take ("" for the value itself)."""

    names: tuple[str, ...]
    elements: str


@lru_cache(512)
def rules_for_model(wire: str, provider: str | None, model: str) -> tuple[ModelRule, ...]:
    """Return the rows that apply to a model at a provider."""
    return tuple(
        each
        for each in _table().get(wire, ())
        if (each.rule.providers is None or provider in each.rule.providers) and re.search(each.row.models, model)
    )


def rules_for_body(wire: str, provider: str | None, body: Any) -> tuple[ModelRule, ...]:
    """Return the rows that apply to the model of a body. ``provider``: by default the owner of the wire."""
    if not is_wire(wire):
        return ()
    model = text(member(body, spec(wire).model_member))
    return rules_for_model(wire, provider or spec(wire).owner, model) if model else ()


def fit_model(body: Any, wire: str, provider: str | None, lose: Callable[[str, str], None]) -> None:
    """Change the members of a body that its model refuses, where the table knows how.

    ``lose(code, message)`` reports each change. Changed objects within the body are copied.
    """
    for rule, row, _ in rules_for_body(wire, provider, body):
        if not (row.omit or row.set or row.rename) or next(iter(rule.check(body)), None) is None:
            continue
        for path in row.omit:
            if _put(body, path, None) is not None:
                lose(_loss(path), f"{path} was left out, because of {body[spec(wire).model_member]}: {row.message}")
        for path, value in row.set.items():
            before = _put(body, path, deepcopy(value))  # callers change bodies
            gone = [*before.keys() - value.keys()] if isinstance(before, dict) and isinstance(value, dict) else []
            less = f" without {', '.join(sorted(map(str, gone)))}" if gone else ""
            lose(
                _loss(path),
                f"{path} was set to {value}{less}, because of {body[spec(wire).model_member]}: {row.message}",
            )
        for path, name in row.rename.items():
            body.setdefault(name, _put(body, path, None))


def _loss(path: str) -> str:
    return "tool-choice" if "choice" in path.lower() else "param"


def _put(body: dict[str, Any], path: str, value: Any) -> Any:
    """Set a member, or remove it for None, and return its value before. The objects around it are copied."""
    *outer, last = path.split(".")
    for name in outer:
        inner = body.get(name)
        if not isinstance(inner, dict):
            if value is None:
                return None
            inner = {}
        body[name] = body = inner.copy()
    before = body.pop(last, None)
    if value is not None:
        body[last] = value
    return before


@cache
def _table() -> dict[str, tuple[ModelRule, ...]]:
    """Return the rows by wire, without those that are not used."""
    import tomllib  # slow to import, and rarely needed
    from importlib.resources import files

    table = tomllib.loads(files(__package__).joinpath("model_rules.toml").read_text("utf-8"))
    rules: dict[str, tuple[ModelRule, ...]] = {}
    for row in convert(table["rule"], list[Row]):
        if row.when is not None:
            rules[row.wire] = (*rules.get(row.wire, ()), _rule(row, row.when))
    return rules


def _rule(row: Row, when: dict[str, Any]) -> ModelRule:
    providers = None if row.provider is None else frozenset(row.provider)
    status = row.status if isinstance(row.status, int) else 400
    certain = row.confidence in _CERTAIN and isinstance(row.status, int)
    rule = Rule(row.id, row.message, row.source, _check(row, when), providers, status=status)
    return ModelRule(rule, row, certain)


def _check(row: Row, when: dict[str, Any]) -> Check:
    tests = _parsed(when)

    def check(body: Any) -> Violations:
        for path in _failing(body, "", tests):
            yield path, row.message

    return check


def _parsed(when: dict[str, Any]) -> list[tuple[str, list[_Step], Any]]:
    """Return name, steps and test of each condition."""
    return [(path, _steps(path), _nested(test)) for path, test in when.items()]


def _nested(test: Any) -> Any:
    return {"with": _parsed(test["with"])} if isinstance(test, dict) and "with" in test else test


def _steps(path: str) -> list[_Step]:
    found = re.findall(r"([\w|]+)((?:\[-?\d*\])?)", path)
    return [_Step(tuple(names.split("|")), elements) for names, elements in found]


def _failing(value: Any, path: str, tests: list[tuple[str, list[_Step], Any]]) -> list[str]:
    """Return the paths for which the first test holds, if all tests hold, else none."""
    failing = [_matching(value, path, *test) for test in tests]
    return failing[0] if all(failing) else []


def _matching(value: Any, path: str, name: str, steps: list[_Step], test: Any) -> list[str]:
    """Return the paths of the values for which a test holds. For a test of all values that is the member itself."""
    found = [(where, each) for where, each in _values(value, path, steps) if each != []]
    if test is True:
        return [where for where, _ in found]
    if isinstance(test, list):
        return [where for where, each in found if each in test]
    (kind, limit), *_ = ({"only": []} if test is False else test).items()
    if kind == "not":
        return [where for where, each in found if each not in limit]
    if kind in ("except", "only"):
        holds = all((each in limit) is (kind == "only") for _, each in found)
        return [f"{path}.{name}".removeprefix(".").removesuffix("[]")] if holds else []
    if kind == "with":
        return [where for where, each in found if _failing(each, where, limit)]
    numbers = [(where, each) for where, each in found if isinstance(each, (int, float))]
    return [where for where, each in numbers if (each < limit if kind == "below" else each > limit)]


def _values(value: Any, path: str, steps: list[_Step]) -> Iterator[tuple[str, Any]]:
    """Yield path and value of each member that the steps lead to and that is not null."""
    if not steps:
        yield path, value
        return
    (names, elements), *rest = steps
    for name in names:
        inner, where = member(value, name), f"{path}.{name}" if path else name
        if elements:
            numbered = list(enumerate(inner if isinstance(inner, list) else ()))
            for number, each in numbered[-1:] if elements == "[-1]" else numbered:
                yield from _values(each, f"{where}[{number}]", rest)
        elif inner is not None:
            yield from _values(inner, where, rest)
