"""Parameters of requests that several wires have, such as the limit of output tokens.

A canonical request keeps its parameters as its own wire has them. For another wire, they get a shared name and a shared
form: each wire states in ``PARAMETERS`` of its part ``request_params`` where it has them, and no wire knows the members
of another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from msgspec import Struct

from ..conversation import Request
from .registry import is_wire, spec
from .write_context import WriteContext

#: The shared names, and the shared form of their values.
SHARED: dict[str, str] = {
    "max_tokens": "the limit of output tokens",
    "temperature": "a number",
    "top_p": "a number",
    "top_k": "a number",
    "min_p": "a number",
    "stop": "a list of texts",
    "seed": "an integer",
    "frequency_penalty": "a number",
    "presence_penalty": "a number",
    "n": "the number of choices",
    "stream": "true or false",
    "user": "a text",
    "logprobs": "true or false",
    "top_logprobs": "an integer",
    "format": "`response_format` of Chat Completions",
    "effort": "a word for the effort of reasoning",
    "metadata": "an object of texts",
    "service_tier": "a text",
    "store": "true or false",
    "safety_identifier": "a text",
    "prompt_cache_key": "a text",
}
#: Values that mean the same as leaving the parameter out.
_DEFAULTS: dict[str, Any] = {"n": 1, "format": {"type": "text"}}
#: Values that any other value of the same parameter includes, which another member may have.
_INCLUDED: dict[str, Any] = {"format": {"type": "json_object"}}

Number = (int, float)


class Parameter(NamedTuple):
    """A parameter of a request. ``member``: its name in the body, for messages. ``name``: its shared name, or None."""

    member: str
    name: str | None
    value: Any


class Member(Struct, frozen=True):
    """Where a wire has a parameter.

    ``path``: the member of the body, with dots between levels. ``kind``: the types of its values. ``also``: other
    members with the same meaning, which are read. ``least`` and ``most``: the range that the provider accepts.
    ``longest``: the longest list. ``values``: the accepted texts; None for any. ``owner_only``: providers define its
    values differently, so that only those of the same provider are taken. ``read`` and ``write`` convert a value to the
    shared form and back; they return None if it has no counterpart.
    """

    path: str
    kind: type | tuple[type, ...] = object
    also: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    longest: int | None = None
    values: frozenset[str] | None = None
    owner_only: bool = False
    read: Callable[[Any], Any] | None = None
    write: Callable[[Any], Any] | None = None


#: The name of a schema that comes from a wire without such names.
SCHEMA_NAME = "response"


def schema_of(format: Any) -> Any:
    """Return the schema of a shared ``format``, or None."""
    wrapped = format.get("json_schema") if isinstance(format, dict) else None
    return wrapped.get("schema") if isinstance(wrapped, dict) else None


def named_schema(schema: dict[str, Any], context: WriteContext) -> dict[str, Any]:
    """Return the object that holds the schema of the response with a name, which OpenAI's wires require."""
    if "name" in schema:
        return schema
    context.lose("default", f"the schema of the response was named {SCHEMA_NAME}, because it has to have a name")
    return {"name": SCHEMA_NAME, **schema}


#: The members of a wire that has no table.
_BY_SHARED_NAME = {name: Member(name) for name in SHARED}


def parameters(request: Request) -> Iterator[Parameter]:
    """Yield the parameters of a request under their shared names. None means unset."""
    found = list(_found(request))
    for parameter in found:
        others = (other.value for other in found if other.name == parameter.name)
        included = parameter.name in _INCLUDED and parameter.value == _INCLUDED[parameter.name]
        if not (included and any(value not in (None, parameter.value) for value in others)):
            yield parameter


def _found(request: Request) -> Iterator[Parameter]:
    known = _paths(request.wire)
    for key, value in request.params.items():
        leaves = {key: value}
        if key not in known and isinstance(value, dict) and any(path.startswith(f"{key}.") for path in known):
            leaves = {f"{key}.{inner}": each for inner, each in value.items()}
        for path, each in leaves.items():
            if each is not None:
                name, member = known.get(path, (None, None))
                yield Parameter(path, name, _shared(name, member, each))


def write_parameters(
    request: Request, context: WriteContext, body: dict[str, Any], members: Mapping[str, Member] | None = None
) -> None:
    """Add the parameters of another wire's request to a body, and report those that have no counterpart there.

    ``members``: by default those of the target wire.
    """
    table = _members(context.wire) if members is None else members
    same_provider = _provider(request.wire, request.provider) == _provider(context.wire, context.provider)
    for parameter in parameters(request):
        name, value = parameter.name, None
        member = table.get(name) if name is not None else None
        if member is not None and (same_provider or not member.owner_only):
            value = _fitting(member, parameter, context)
        if member is None or value is None:
            if name not in _DEFAULTS or parameter.value != _DEFAULTS[name]:
                context.lose("param", f"{parameter.member} was left out")
        elif _set_default(body, member.path, value) != value:
            context.lose("param", f"{parameter.member} was left out: another member sets {member.path}")


def _fitting(member: Member, parameter: Parameter, context: WriteContext) -> Any:
    """Return the value in the form of the target; None if it has none. Reports a value that has to change."""
    value: Any = parameter.value if member.write is None else member.write(parameter.value)
    if isinstance(value, bool) and member.kind in (int, Number):
        return None
    accepted: bool = isinstance(value, member.kind) and (member.values is None or value in member.values)
    if not accepted or (parameter.name == "max_tokens" and value < 1):  # local servers take 0 and -1 for "no limit"
        return None
    if member.least is not None and value < member.least:
        context.lose("param", f"{parameter.member}: {value} was raised to the minimum, {member.least}")
        return member.least
    if member.most is not None and value > member.most:
        context.lose("param", f"{parameter.member}: {value} was reduced to the maximum, {member.most}")
        return member.most
    if member.longest is not None and len(value) > member.longest:
        context.lose("param", f"{parameter.member}: the values after the first {member.longest} were left out")
        return value[: member.longest]
    if member.write is not None and member.read is not None:
        lost = list(_left_out(parameter.value, member.read(value)))
        if lost:
            context.lose("param", f"{parameter.member}: left out: {', '.join(lost)}")
    return value


def _left_out(value: Any, kept: Any) -> Iterator[str]:
    """Yield the names of the members of a shared value that the form of the target does not keep."""
    if value is kept or not isinstance(value, dict) or not isinstance(kept, dict):
        return
    for name, inner in value.items():
        if name in kept:
            yield from (f"{name}.{lost}" for lost in _left_out(inner, kept[name]))
        elif inner is not None:
            yield name


def _shared(name: str | None, member: Member | None, value: Any) -> Any:
    if member is not None and member.read is not None:
        return member.read(value)
    return [value] if name == "stop" and isinstance(value, str) else value


def _set_default(body: dict[str, Any], path: str, value: Any) -> Any:
    """Set a member that is missing, and return its value."""
    *outer, last = path.split(".")
    for key in outer:
        body = body.setdefault(key, {})
    return body.setdefault(last, value)


def differing(params: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that differ from those before. Some wires have them in objects."""
    found = {}
    for name, value in params.items():
        known = before.get(name)
        if isinstance(value, dict) and isinstance(known, dict):
            if inner := differing(value, known):
                found[name] = inner
        elif name not in before or known != value:
            found[name] = value
    return found


def overlaid(params: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with others in their place. Objects keep their other members."""
    result = dict(params)
    for name, value in others.items():
        known = result.get(name)
        result[name] = overlaid(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return result


def _provider(wire: str, provider: str | None) -> str | None:
    return provider or (spec(wire).owner if is_wire(wire) else None)


@cache
def _members(wire: str) -> Mapping[str, Member]:
    """Return the members of a wire by their shared names."""
    if not is_wire(wire) or not spec(wire).has_part("request_params"):
        return _BY_SHARED_NAME
    table: Mapping[str, Member] = spec(wire).part("request_params").PARAMETERS
    return table


@cache
def _paths(wire: str) -> dict[str, tuple[str, Member]]:
    """Return the shared name of each member of a wire. One that its table lacks may have a shared name itself."""
    own = _members(wire).items()
    paths = {path: (name, member) for name, member in own for path in (member.path, *member.also)}
    return {**{name: (name, member) for name, member in _BY_SHARED_NAME.items()}, **paths}
