"""Known-bad subjects that change the request that the reference writes: every member and list of it.

The members are found by introspection of the bodies. A member is named by the wire and its path. All elements of a list
with one type or role have the same path: ``openai.chat.messages[tool].content``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from toolparity.normalizer.wires.write_context import LOSSES

from ...oracle import facts
from .lists import REORDERINGS
from .operators import other_scalar

#: Members whose value is free JSON: they are changed as a whole.
_FREE = frozenset(
    (
        "action",
        "args",
        "arguments",
        "frames",
        "inputSchema",
        "input_schema",
        "json",
        "outputs",
        "parameters",
        "parametersJsonSchema",
        "schema",
    )
)
#: Settings of the connection: the answer has the same content with any value.
TRANSPORT = frozenset(("stream", "stream_options"))


class Place(NamedTuple):
    """A member (``key`` is its name) or an element (``key`` is its index) in ``holder``; ``path`` names its kind."""

    path: str
    holder: Any
    key: Any

    @property
    def value(self) -> Any:
        return self.holder[self.key]


class RequestMutant(NamedTuple):
    """``operator`` changes the places of ``path`` in requests for ``wire``, or their losses if it is one of these.

    ``own``: whether the requests go back to the wire of the response, or hand the conversation over to another one.
    ``needs``: the trait of the requests that it can change.
    """

    operator: str
    path: str
    wire: str
    own: bool
    needs: str

    @property
    def name(self) -> str:
        return f"{'replay' if self.own else 'handoff'}/{self.operator}:{self.field}"

    @property
    def field(self) -> str:
        return f"{self.wire}{self.path}"

    def change(self, request: Any) -> bool:
        """Change a request, ``{"body", "losses"}``, in place, and return whether anything changed."""
        if self.operator in _OF_LOSSES:
            return _OF_LOSSES[self.operator](request, self.path.removeprefix(_LOSS).rstrip("]"))
        body = request["body"]
        if self.operator == "invent":
            return _invent(body, self.path.removeprefix("."), facts(self.wire).settings)
        return _OPERATORS[self.operator](body, [place for place in places(body) if place.path == self.path])


def places(value: Any, path: str = "") -> Iterator[Place]:
    """Yield all members and elements of a body, in order."""
    if isinstance(value, dict):
        for key, member in value.items():
            if path or key not in TRANSPORT:
                yield Place(f"{path}.{key}", value, key)
                if not (key in _FREE or (key == "input" and isinstance(member, dict))):
                    yield from places(member, f"{path}.{key}")
    elif isinstance(value, list):
        for index, element in enumerate(value):
            kind = f"{path}[{_label(element)}]"
            yield Place(kind, value, index)
            yield from places(element, kind)


def _label(element: Any) -> str:
    return str(element.get("type") or element.get("role") or "") if isinstance(element, dict) else ""


#: Prefixes of traits: a path with several values, a loss that is reported, and one that is not.
_SEVERAL, _LOSS, _NO_LOSS = "several ", ".losses[", "no .losses["


def request_traits(request: Any) -> Iterator[str]:
    """Yield the paths of the body, those with several values or a boolean again, and which losses are reported."""
    seen: dict[str, Any] = {}
    for place in places(request["body"]):
        yield place.path
        if seen.setdefault(place.path, place.value) != place.value:
            yield _SEVERAL + place.path
        if isinstance(place.value, bool):
            yield f"{_SEVERAL}{place.path} {place.value}"
    for code in LOSSES:
        yield f"{_LOSS if code in request['losses'] else _NO_LOSS}{code}]"


def request_mutants(wire: str, own: bool, traits: Iterable[str]) -> Iterator[RequestMutant]:
    """Yield the mutants of everything that requests with these traits have, and of the losses."""
    for name in facts(wire).settings:
        yield RequestMutant("invent", f".{name}", wire, own, ".model")
    for trait in traits:
        if trait.startswith(_SEVERAL):
            continue
        if trait.startswith(_NO_LOSS):
            yield RequestMutant("invent-loss", trait.removeprefix("no "), wire, own, trait)
            continue
        for operator in _OF_LOSS if trait.startswith(_LOSS) else _OF_ELEMENTS if trait.endswith("]") else _OF_MEMBERS:
            yield RequestMutant(operator, trait, wire, own, trait)


def _invent(body: Any, name: str, settings: dict[str, Any]) -> bool:
    """Add a setting that the request does not have."""
    added = name not in body
    body.setdefault(name, settings[name])
    return added


def _drop(body: Any, found: list[Place]) -> bool:
    """Remove the last one. A JSON null has nothing to lose."""
    found = [place for place in found if place.value is not None]
    for place in found[-1:]:
        del place.holder[place.key]
    return bool(found)


def _drop_first(body: Any, found: list[Place]) -> bool:
    found = [place for place in found if place.value is not None]
    for place in found[:1]:
        del place.holder[place.key]
    return len(found) > 1


def _alter(body: Any, found: list[Place]) -> bool:
    """Give the last one another value of its type."""
    return _set(found[-1:], other_scalar)


def _alter_first(body: Any, found: list[Place]) -> bool:
    return len(found) > 1 and _set(found[:1], other_scalar)


def _duplicate(body: Any, found: list[Place]) -> bool:
    """Write the last text or list twice."""
    return _set(found[-1:], lambda value: value * 2 if isinstance(value, (str, list)) else value)


def _swap(body: Any, found: list[Place]) -> bool:
    """Exchange the values of the last two neighbours that differ."""
    for one, two in list(pairwise(found))[::-1]:
        if one.value != two.value and not _holds(one, two):
            one.holder[one.key], two.holder[two.key] = two.value, one.value
            return True
    return False


def _holds(one: Place, two: Place) -> bool:
    return one.value is two.holder or two.value is one.holder


def _repeat(body: Any, found: list[Place]) -> bool:
    """Write the last element twice."""
    for place in found[-1:]:
        place.holder.insert(place.key, place.value)
    return bool(found)


def _move(body: Any, found: list[Place]) -> bool:
    """Move the last element to the beginning of its list."""
    for place in found[-1:]:
        if place.key and place.holder[0] != place.value:
            place.holder.insert(0, place.holder.pop(place.key))
            return True
    return False


def _reorder(name: str) -> Callable[[Any, list[Place]], bool]:
    def reorder(body: Any, found: list[Place]) -> bool:
        for place in found[-1:]:
            if isinstance(place.value, list):
                new = [place.value[index] for index in REORDERINGS[name](place.value)]
                changed = new != place.value
                place.holder[place.key] = new
                return changed
        return False

    return reorder


def _set(found: list[Place], new: Callable[[Any], Any]) -> bool:
    changed = False
    for place in found:
        value = new(place.value)
        changed = changed or value != place.value
        place.holder[place.key] = value
    return changed


Change = Callable[[Any, list[Place]], bool]
_OF_ELEMENTS: dict[str, Change] = {
    "drop": _drop,
    "drop-first": _drop_first,
    "swap": _swap,
    "repeat": _repeat,
    "move": _move,
}
_OF_MEMBERS: dict[str, Change] = {
    "drop": _drop,
    "drop-first": _drop_first,
    "alter": _alter,
    "alter-first": _alter_first,
    "duplicate": _duplicate,
    "swap": _swap,
    "reverse": _reorder("reverse"),
}
_OPERATORS: dict[str, Change] = _OF_ELEMENTS | _OF_MEMBERS


def _drop_loss(request: Any, code: str) -> bool:
    request["losses"] = [loss for loss in request["losses"] if loss != code]
    return True


def _rename_loss(request: Any, code: str) -> bool:
    """Report a loss by the code that follows in the table."""
    codes = list(LOSSES)
    other = codes[(codes.index(code) + 1) % len(codes)]
    changed = other not in request["losses"]
    request["losses"] = [other if loss == code else loss for loss in request["losses"]]
    return changed


def _invent_loss(request: Any, code: str) -> bool:
    request["losses"].append(code)
    return True


_OF_LOSS = ("drop-loss", "rename-loss")
_OF_LOSSES: dict[str, Callable[[Any, str], bool]] = {
    "drop-loss": _drop_loss,
    "rename-loss": _rename_loss,
    "invent-loss": _invent_loss,
}
