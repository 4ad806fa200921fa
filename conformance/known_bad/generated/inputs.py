"""Known-bad subjects that change their input: every member of the exchange that a reader gets, and of the follow-up.

Each takes a member for another one of its values, ignores it, loses parts of it or repeats them, before the reference
reads the response or writes the next request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import fields, replace

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.policies import POLICIES
from toolparity.normalizer.wires.registry import names as wire_names

from ...subjects import CallResult, FollowUp, SubjectExchange
from ..mutate import by_messages
from .lists import REORDERINGS
from .operators import other_scalar

#: Members for agents and for subjects with their own HTTP client: a reader gets none of them.
_OF_OTHERS = frozenset(("base_url", "tools", "tools_url", "final"))

Value = Callable[[Any], Any]


class InputMutant(NamedTuple):
    """``member``: the member that ``change`` gives another value, of the exchange or, with ``results.``, of a result.

    ``framing``: for pieces only, "bytes" or "messages": the wires that are changed; "" for all.
    """

    name: str
    member: str
    change: Value
    framing: str = ""

    @property
    def field(self) -> str:
        return self.name.partition(":")[2]

    @property
    def selects(self) -> bool:
        """Whether the change depends on the policy or changes it."""
        return self.member in ("policy", "limit")

    def exchange(self, exchange: SubjectExchange) -> SubjectExchange:
        """Return the changed exchange, or the same object."""
        if not hasattr(exchange, self.member) or self._spares(exchange):
            return exchange
        before = getattr(exchange, self.member)
        after = self.change(before)
        return exchange if after == before else replace(exchange, **{self.member: after})

    def follow_up(self, follow_up: FollowUp) -> FollowUp:
        """Return the changed follow-up."""
        results = follow_up.results
        if self.member == "results":
            results = self.change(results)
        elif self.member.startswith("results."):
            member = self.member.removeprefix("results.")
            results = [replace(result, **{member: self.change(getattr(result, member))}) for result in results]
        return replace(follow_up, exchange=self.exchange(follow_up.exchange), results=results)

    def _spares(self, exchange: SubjectExchange) -> bool:
        return bool(self.framing) and by_messages(exchange.wire) != (self.framing == "messages")


def input_mutants() -> Iterator[InputMutant]:
    """Yield all mutants of the input."""
    for field in fields(SubjectExchange):
        if field.name not in _OF_OTHERS:
            yield from _OF_MEMBER[field.name](field.name)
    for name, reorder in REORDERINGS.items():
        yield InputMutant(f"input/{name}:results", "results", partial(_reordered, reorder))
    for field in fields(CallResult):
        member = f"results.{field.name}"
        yield InputMutant(f"input/drop:{member}", member, lambda value: type(value)())
        yield InputMutant(f"input/alter:{member}", member, other_scalar)


def _reordered(reorder: Callable[[list[Any]], list[int]], items: list[Any]) -> list[Any]:
    return [items[index] for index in reorder(items)]


def _constants(*values: Any) -> Callable[[str], Iterator[InputMutant]]:
    """Return mutants that take one of these values for any."""

    def mutants(member: str) -> Iterator[InputMutant]:
        for value in values:
            yield InputMutant(f"input/as-{str(value).lower()}:{member}", member, partial(_constant, value))

    return mutants


def _constant(value: Any, ignored: Any) -> Any:
    return value


def _of_pieces(member: str) -> Iterator[InputMutant]:
    operators: dict[str, Value] = {name: partial(_reordered, reorder) for name, reorder in REORDERINGS.items()}
    operators |= {
        "join": lambda pieces: [b"".join(pieces)],
        "split": lambda pieces: [
            half for piece in pieces for half in (piece[: len(piece) // 2], piece[len(piece) // 2 :])
        ],
        "cut-first": lambda pieces: [piece[1:] if index == 0 else piece for index, piece in enumerate(pieces)],
        "cut-last": lambda pieces: [*pieces[:-1], *(piece[: len(piece) // 2] for piece in pieces[-1:])],
        "lose-middle": lambda pieces: [*pieces[: len(pieces) // 2], *pieces[len(pieces) // 2 + 1 :]],
        "shout": lambda pieces: [piece.upper() for piece in pieces],
        "ascii": lambda pieces: [bytes(byte & 0x7F for byte in piece) for piece in pieces],
    }
    for framing in ("bytes", "messages"):
        for name, operator in operators.items():
            yield InputMutant(f"input/{name}:{member}@{framing}", member, operator, framing)


def _of_limit(member: str) -> Iterator[InputMutant]:
    yield InputMutant(f"input/drop:{member}", member, lambda limit: None)
    yield InputMutant(f"input/alter:{member}", member, other_scalar)
    yield InputMutant(f"input/invent:{member}", member, lambda limit: 1 if limit is None else limit)


def _of_request(member: str) -> Iterator[InputMutant]:
    yield InputMutant(f"input/drop:{member}", member, lambda request: None)
    operators: dict[str, Value] = {name: partial(_reordered, reorder) for name, reorder in REORDERINGS.items()}
    operators |= {"drop": lambda tools: [], "rename": lambda tools: [_renamed(tool) for tool in tools]}
    for name, operator in operators.items():
        yield InputMutant(f"input/{name}:{member}.tools", member, partial(_with_tools, operator))


def _with_tools(operator: Value, request: Any) -> Any:
    if not isinstance(request, dict) or not request.get("tools"):
        return request
    return {**request, "tools": operator(request["tools"])}


def _renamed(tool: Any) -> Any:
    if not isinstance(tool, dict):
        return tool
    return {
        key: other_scalar(value) if key == "name" else _renamed(value) if key in ("function", "custom") else value
        for key, value in tool.items()
    }


#: Member of an exchange -> its mutants. A member that is missing here is an error.
_OF_MEMBER: dict[str, Callable[[str], Iterator[InputMutant]]] = {
    "wire": _constants(*wire_names()),
    "provider": _constants(*dict.fromkeys(surface.provider for surface in SURFACES.values())),
    "stream": _constants(True, False),
    "pieces": _of_pieces,
    "policy": _constants(*POLICIES),
    "limit": _of_limit,
    "request": _of_request,
    "status": _constants(200, 400, 429, 500),
}
