"""Repairs that a caller may ask for, one call at a time. Nothing in this package applies them unasked.

Each function is pure: it takes a canonical call and gives a `Repaired`, whose ``did`` says what was done. It is ""
where there was nothing to do; the call then comes back as it was. A truncated call is never repaired: what is missing
cannot be known (failure REP-01). Arguments that are what they should be are never touched (failure REP-02).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from . import json_codec
from .arguments import PSEUDO_PARALLEL, parse
from .model import ToolCall

_NAMESPACE = "functions."
_CONTROL_TOKEN = re.compile(r"<\|[^|<>]*\|>")
#: Calls whose arguments are JSON and whose tool is the caller's own function.
_FUNCTIONS = ("function", "legacy_function")
#: What `parse` may say of arguments that can run as they stand.
_SOUND = ("", "arguments-lone-surrogate")


class Repaired(Struct, frozen=True):
    """``calls``: what stands in the place of the one call (itself, where ``did`` is "")."""

    calls: tuple[ToolCall, ...]
    did: str = ""

    @property
    def call(self) -> ToolCall:
        """The call, or the first of several."""
        return self.calls[0]


def unwrap_arguments(call: ToolCall) -> Repaired:
    """Arguments that are a JSON string holding an object (`arguments-double-encoded`): unwrapped once (ARG-04)."""
    if call.status != "invalid" or call.kind not in _FUNCTIONS or not call.name:
        return Repaired((call,))
    try:
        inner = json_codec.decode(call.arguments_text)
    except (ValueError, RecursionError):
        return Repaired((call,))
    if not isinstance(inner, str):
        return Repaired((call,))
    parsed = parse(inner)
    if parsed.arguments is None or parsed.code not in _SOUND:
        return Repaired((call,))
    whole = msgspec.structs.replace(call, arguments=parsed.arguments, arguments_text=inner, status="complete")
    return Repaired((whole,), f"unwrapped the arguments of {call.name} from a JSON string")


def unwrap_fields(call: ToolCall, schema: dict[str, Any]) -> Repaired:
    """Members that the tool's JSON schema calls arrays or objects and that came as strings holding such (ARG-05).

    A member that may be a string by its schema is never touched, whatever it holds.
    """
    if call.status != "complete" or call.arguments is None or call.kind not in _FUNCTIONS:
        return Repaired((call,))
    done: list[str] = []
    try:
        arguments = _fit(call.arguments, schema, schema, "", done)
    except RecursionError:
        return Repaired((call,))
    if not done:
        return Repaired((call,))
    fitted = msgspec.structs.replace(call, arguments=arguments, arguments_text=json_codec.text(arguments))
    return Repaired((fitted,), f"unwrapped {', '.join(done)} of {call.name} from JSON strings, as its schema says")


def _fit(value: Any, schema: Any, root: dict[str, Any], path: str, done: list[str]) -> Any:
    """The value with its strings unwrapped; the same object where nothing was. ``done`` takes the paths."""
    kinds, parts = _meaning(schema, root)
    if isinstance(value, str) and kinds and kinds <= {"array", "object", "null"}:
        inner = _structure(value)
        if (isinstance(inner, list) and "array" in kinds) or (isinstance(inner, dict) and "object" in kinds):
            done.append(path)
            value = inner
    if isinstance(value, dict):
        members = {
            name: _fit(member, _member(parts, name), root, _join(path, name), done) for name, member in value.items()
        }
        return members if any(members[name] is not member for name, member in value.items()) else value
    if isinstance(value, list):
        item = next((part["items"] for part in parts if "items" in part), None)
        items = [_fit(entry, item, root, f"{path}[{place}]", done) for place, entry in enumerate(value)]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def _meaning(schema: Any, root: dict[str, Any]) -> tuple[set[str], list[dict[str, Any]]]:
    """The types that a schema allows (none where it does not say so plainly), and the schemas that say it."""
    kinds: set[str] = set()
    parts: list[dict[str, Any]] = []
    pending, seen = [schema], 0
    while pending:
        seen += 1
        one = pending.pop()
        if not isinstance(one, dict) or seen > 100:
            return set(), parts
        parts.append(one)
        alternatives = one.get("anyOf") or one.get("oneOf")
        if "$ref" in one:
            pending.append(_referred(one["$ref"], root))
        elif isinstance(alternatives, list):
            pending.extend(alternatives)
        elif isinstance(one.get("type"), str):
            kinds.add(one["type"])
        elif isinstance(one.get("type"), list):
            kinds.update(str(kind) for kind in one["type"])
        else:
            return set(), parts
    return kinds, parts


def _referred(reference: Any, root: Any) -> Any:
    """What a local reference (`#/$defs/Name`) names; null where it names nothing here."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    target = root
    for step in reference[1:].split("/")[1:]:
        target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
    return target


def _member(parts: list[dict[str, Any]], name: str) -> Any:
    for part in parts:
        properties = part.get("properties")
        if isinstance(properties, dict) and name in properties:
            return properties[name]
    return next((part["additionalProperties"] for part in parts if "additionalProperties" in part), None)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _structure(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def unwrap_parallel(call: ToolCall, declared: Iterable[str] = ()) -> Repaired:
    """`multi_tool_use.parallel`, which nobody declared: the calls in its arguments, in their order (NAME-04).

    All of them or none: a list with one malformed entry stays what it is. The ids are the call's own with a number;
    ``extra["unwrapped_from"]`` keeps the id that the provider knows, under which it expects one answer for all.
    """
    if call.name != PSEUDO_PARALLEL or call.status != "complete" or call.arguments is None or call.name in declared:
        return Repaired((call,))
    uses = call.arguments.get("tool_uses")
    calls = []
    for number, use in enumerate(uses if isinstance(uses, list) else ()):
        name, parameters = (use.get("recipient_name"), use.get("parameters")) if isinstance(use, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(parameters, dict):
            return Repaired((call,))
        calls.append(
            msgspec.structs.replace(
                call,
                id=f"{call.id}_{number}",
                name=name.removeprefix(_NAMESPACE),
                arguments=parameters,
                arguments_text=json_codec.text(parameters),
                extra={**call.extra, "unwrapped_from": call.id},
            )
        )
    if not calls or not all(inner.name for inner in calls):
        return Repaired((call,))
    return Repaired(tuple(calls), f"unwrapped {len(calls)} calls from {PSEUDO_PARALLEL}")


def suggest_name(name: str, declared: Iterable[str]) -> str | None:
    """The declared name that is left of an undeclared one without the model's control tokens (NAME-05), or null."""
    known = frozenset(declared)
    if name in known:
        return None
    head = _CONTROL_TOKEN.split(name, maxsplit=1)[0].strip()
    bare = _CONTROL_TOKEN.sub("", name).strip()
    for candidate in (head, head.removeprefix(_NAMESPACE), bare, bare.removeprefix(_NAMESPACE)):
        if candidate in known:
            return candidate
    return None


def strip_name(call: ToolCall, declared: Iterable[str]) -> Repaired:
    """The call under the name that `suggest_name` finds for it."""
    name = suggest_name(call.name, declared) if call.status != "truncated" else None
    if name is None:
        return Repaired((call,))
    return Repaired((msgspec.structs.replace(call, name=name),), f"took {call.name!r} for {name}")
