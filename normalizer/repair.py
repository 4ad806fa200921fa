"""Opt-in repairs of single calls. No other code of this package applies them.

Each function is pure: it takes a canonical call and returns a `Repaired`, whose ``did`` describes the change. If there
is nothing to repair, ``did`` is "" and the call is unchanged. A truncated call is never repaired, because its missing
part is unknown (failure REP-01). Valid arguments are never changed (failure REP-02).
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
#: Kinds of calls whose arguments are JSON and whose tool is a function of the caller.
_FUNCTIONS = ("function", "legacy_function")
#: Codes of `parse` for arguments that can run without a repair.
_SOUND = ("", "arguments-lone-surrogate")


class Repaired(Struct, frozen=True):
    """The result of a repair. ``calls``: the calls that replace the original one, or that call if ``did`` is ""."""

    calls: tuple[ToolCall, ...]
    did: str = ""

    @property
    def call(self) -> ToolCall:
        """The call, or the first of several."""
        return self.calls[0]


def unwrap_arguments(call: ToolCall) -> Repaired:
    """Unwrap arguments that are a JSON string with an object in it (`arguments-double-encoded`, failure ARG-04).

    Only one level is unwrapped.
    """
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
    unwrapped_call = msgspec.structs.replace(call, arguments=parsed.arguments, arguments_text=inner, status="complete")
    return Repaired((unwrapped_call,), f"unwrapped the arguments of {call.name} from a JSON string")


def unwrap_fields(call: ToolCall, schema: dict[str, Any]) -> Repaired:
    """Unwrap strings of JSON in members that the tool's JSON schema types as array or object (failure ARG-05).

    A member whose schema allows a string is never changed.
    """
    if call.status != "complete" or call.arguments is None or call.kind not in _FUNCTIONS:
        return Repaired((call,))
    unwrapped: list[str] = []
    try:
        arguments = _unwrap(call.arguments, schema, schema, "", unwrapped)
    except RecursionError:
        return Repaired((call,))
    if not unwrapped:
        return Repaired((call,))
    fitted = msgspec.structs.replace(call, arguments=arguments, arguments_text=json_codec.text(arguments))
    return Repaired((fitted,), f"unwrapped {', '.join(unwrapped)} of {call.name} from JSON strings, as its schema says")


def _unwrap(value: Any, schema: Any, root: dict[str, Any], path: str, unwrapped: list[str]) -> Any:
    """Return the value with its strings unwrapped, or the same object; append the changed paths to ``unwrapped``."""
    kinds, parts = _types_and_parts(schema, root)
    if isinstance(value, str) and kinds and kinds <= {"array", "object", "null"}:
        inner = _structure(value)
        if (isinstance(inner, list) and "array" in kinds) or (isinstance(inner, dict) and "object" in kinds):
            unwrapped.append(path)
            value = inner
    if isinstance(value, dict):
        members = {
            name: _unwrap(member, _member(parts, name), root, _join(path, name), unwrapped)
            for name, member in value.items()
        }
        return members if any(members[name] is not member for name, member in value.items()) else value
    if isinstance(value, list):
        item = next((part["items"] for part in parts if "items" in part), None)
        items = [_unwrap(entry, item, root, f"{path}[{index}]", unwrapped) for index, entry in enumerate(value)]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def _types_and_parts(schema: Any, root: dict[str, Any]) -> tuple[set[str], list[dict[str, Any]]]:
    """Return the types that a schema allows (none if it does not state them simply) and its alternative schemas."""
    kinds: set[str] = set()
    parts: list[dict[str, Any]] = []
    pending, visited = [schema], 0
    while pending:
        visited += 1
        part = pending.pop()
        if not isinstance(part, dict) or visited > 100:
            return set(), parts
        parts.append(part)
        alternatives = part.get("anyOf") or part.get("oneOf")
        if "$ref" in part:
            pending.append(referenced(part["$ref"], root))
        elif isinstance(alternatives, list):
            pending.extend(alternatives)
        elif isinstance(part.get("type"), str):
            kinds.add(part["type"])
        elif isinstance(part.get("type"), list):
            kinds.update(str(kind) for kind in part["type"])
        else:
            return set(), parts
    return kinds, parts


def referenced(reference: Any, root: Any) -> Any:
    """Return the target of a local reference (`#/$defs/Name`); None if it does not exist in this schema."""
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
    """Replace an undeclared call of `multi_tool_use.parallel` by the calls in its arguments, in order (NAME-04).

    If one entry is malformed, the call stays unchanged. The new ids are the id of the call with a number appended;
    ``extra["unwrapped_from"]`` keeps the original id, under which the provider expects one result for all.
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
    """Return the declared name that an undeclared one contains besides control tokens (NAME-05), or None."""
    known = frozenset(declared)
    if name in known:
        return None
    head = _CONTROL_TOKEN.split(name, maxsplit=1)[0].strip()
    without_tokens = _CONTROL_TOKEN.sub("", name).strip()
    for candidate in (head, head.removeprefix(_NAMESPACE), without_tokens, without_tokens.removeprefix(_NAMESPACE)):
        if candidate in known:
            return candidate
    return None


def strip_name(call: ToolCall, declared: Iterable[str]) -> Repaired:
    """Rename the call to the declared name that `suggest_name` finds for it."""
    name = suggest_name(call.name, declared) if call.status != "truncated" else None
    if name is None:
        return Repaired((call,))
    return Repaired((msgspec.structs.replace(call, name=name),), f"took {call.name!r} for {name}")
