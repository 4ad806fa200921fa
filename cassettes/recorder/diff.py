"""Comparison of two recordings by meaning, at three levels.

`shape`: fields that appear, disappear or change type, per kind of message; calls; stop reasons; which token figures are
present. `values`: the model, parameters, arguments and results (see `leaves`). `words`: the texts. Two recordings of
one scenario by a real provider usually agree in shape, and seldom in words. Ids, times and signatures are never
compared.

    changes = diff(outline(old), outline(new))                      # shape only
    changes = diff(outline(old), outline(new), down_to="words")
    print(render(changes))
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Response, ServerToolCall, ToolCall
from toolparity.normalizer.readers import sniff
from toolparity.normalizer.readers.sse import SseReader

from ..errors import UnreadableSource
from ..matching import compare, shorten
from ..sources import vcrpy
from ..sources.bodies import unpacked
from ..sources.decoding import response_of
from ..sources.endpoints import classify
from ..sources.http import headers_of, is_stream
from ..surfaces import Surface, surface_of
from .diff_values import FREE, leaves

ChangedAspect = Literal["field", "call", "stop", "usage", "exchange", "value", "words"]
#: From the level that breaks programs to the one that only readers notice.
Level = Literal["shape", "values", "words"]
LEVELS: tuple[Level, ...] = get_args(Level)
_BEYOND_SHAPE: dict[ChangedAspect, Level] = {"value": "values", "words": "words"}
#: Longest excerpt of a value, in characters.
_SHOWN = 80
_TYPES = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


class Outline(Struct, frozen=True):
    """The comparable content of a recording; each list has one item per exchange.

    ``fields``: kind of message -> path -> types. ``values``, ``words``: path -> JSON.
    """

    fields: dict[str, dict[str, list[str]]]
    calls: list[list[str]]
    stops: list[str]
    usage: list[list[str]]
    values: list[dict[str, str]]
    words: list[dict[str, str]]


class RecordingChange(Struct, frozen=True):
    """One difference. ``where``: kind of message and path, or the exchange. ``old`` or ``new`` is None if absent."""

    what: ChangedAspect
    where: str
    old: str | None
    new: str | None

    @property
    def level(self) -> Level:
        """The level of the difference."""
        return _BEYOND_SHAPE.get(self.what, "shape")

    def __str__(self) -> str:
        if self.old is None:
            return f"+ {self.what} {self.where}: {self.new}"
        if self.new is None:
            return f"- {self.what} {self.where}: {self.old}"
        return f"~ {self.what} {self.where}: {self.old} -> {self.new}"


def outline(data: Iterable[tuple[Any, dict[str, Any]]], at: Surface | None = None) -> Outline:
    """Return the outline of vcrpy's pairs of request and response. Raises UnreadableSource if one cannot be read.

    ``at``: the surface of all pairs; by default each pair's address decides.
    """
    fields: dict[str, dict[str, set[str]]] = {}
    result = Outline({}, [], [], [], [], [])
    for request, response in data:
        address = classify(request.uri)
        surface = at or surface_of(address.provider, address.wire)
        if surface is None:
            hint = "only calls of models can be compared, at the addresses of their providers"
            raise UnreadableSource(f"{request.uri} does not belong to a surface", hint=hint)
        for kind, value in _messages(surface.name, request, response):
            _fields(value, "", fields.setdefault(kind, {}))
        recorded = {"request": {"uri": request.uri, "body": request.body}, "response": response}
        exchange = vcrpy.exchange(request.uri, None, recorded)
        said = response_of(exchange, surface.wire, surface.provider)
        values, words = leaves(exchange.request, said, exchange.status)
        result.values.append(values)
        result.words.append(words)
        result.calls.append(list(_calls(said)))
        result.stops.append(_stop(said))
        result.usage.append(_figures(said))
    for kind, paths in sorted(fields.items()):
        result.fields[kind] = {path: sorted(types) for path, types in sorted(paths.items())}
    return result


def diff(old: Outline, new: Outline, down_to: Level = "shape") -> list[RecordingChange]:
    """Return every change down to a level, fields first. An empty list means equal at these levels."""
    changes = list(_of_fields(old.fields, new.fields))
    if len(old.stops) != len(new.stops):
        changes.append(RecordingChange("exchange", "count", str(len(old.stops)), str(len(new.stops))))
    for number, (before, after) in enumerate(zip(old.calls, new.calls, strict=False), 1):
        changes += _of_lists("call", f"exchange {number}", before, after)
    for number, (old_stop, new_stop) in enumerate(zip(old.stops, new.stops, strict=False), 1):
        if old_stop != new_stop:
            changes.append(RecordingChange("stop", f"exchange {number}", old_stop, new_stop))
    for number, (before, after) in enumerate(zip(old.usage, new.usage, strict=False), 1):
        changes += _of_lists("usage", f"exchange {number}", before, after)
    if down_to != "shape":
        changes += _of_leaves("value", old.values, new.values)
    if down_to == "words":
        changes += _of_leaves("words", old.words, new.words)
    return changes


def render(changes: list[RecordingChange], most: int = 20) -> str:
    """Render the first ``most`` changes, one per line."""
    lines = [str(change) for change in changes[:most]]
    if len(changes) > most:
        lines.append(f"  and {len(changes) - most} more")
    return "\n".join(lines)


def first_difference(
    recorded: Response,
    received: Response,
    *,
    broken: bool = False,
    call_ids: bool = True,
    unknown: frozenset[str] = frozenset(),
) -> str | None:
    """Describe the first difference between two canonical responses; None if they are equal.

    Arguments are compared by value, not by text, because an SDK passes on only the value if the wire has JSON instead
    of text. ``broken``: the SDK raised during a stream. Then only the content before that, and the failure itself,
    count. ``call_ids``: whether the SDK passes on the ids of calls. ``unknown``: members of the usage and of choices
    that it drops.
    """
    views = [(_until_it_broke if broken else _by_value)(response, call_ids) for response in (recorded, received)]
    for view in views:
        extras = [choice.get("extra") for choice in view.get("choices") or ()]
        for members in filter(None, ((view.get("usage") or {}).get("raw"), *extras)):
            for name in unknown & members.keys():
                del members[name]
    difference = next(compare("", *views), None)
    if difference is None:
        return None
    return f"{difference.path} is {shorten(difference.sent)}, and the recorded bytes say {shorten(difference.recorded)}"


def _until_it_broke(response: Response, call_ids: bool) -> Any:
    whole = _by_value(response, call_ids)
    seen = {name: whole[name] for name in ("wire", "provider", "id", "model", "complete")}
    blocks = [choice["blocks"] for choice in whole["choices"]]
    return {**seen, "failed": response.error is not None, "blocks": blocks}


def _by_value(response: Response, call_ids: bool) -> Any:
    plain = msgspec.to_builtins(response)
    for choice in plain["choices"]:
        for block in choice["blocks"]:
            if block["type"] == "tool_call" and not call_ids:
                del block["id"]
            if "arguments_text" in block:
                with contextlib.suppress(ValueError):
                    block["arguments_text"] = json_codec.decode(block["arguments_text"])
    return plain


# Fields


def _messages(name: str, request: Any, response: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values of an exchange, each with its kind."""
    body = response["body"]["string"]
    data = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else bytes(body or b"")
    request_body = _value(bytes(request.body or b"null"))
    if request.uri.startswith("grpc://"):
        yield f"{name} request", request_body.get("message")
        stream = bool((response.get("grpc") or {}).get("stream"))
        for message in json_codec.decode(data)["messages"]:
            yield f"{name} {'chunk' if stream else 'answer'}", message.get("message")
        return
    yield f"{name} request", request_body
    headers = headers_of(response.get("headers", {}).items())
    data = unpacked(data, headers.get("content-encoding"))
    status = int(response["status"]["code"])
    if is_stream(data, headers.get("content-type")):
        for kind, value in _events(data):
            yield f"{name} {kind}", value
    else:
        yield f"{name} {'answer' if status < 400 else f'error {status}'}", _value(data)


def _events(data: bytes) -> Iterator[tuple[str, Any]]:
    reader = sniff(data, len(data) + 1) or SseReader(len(data) + 1)
    for name, payload in [*reader.feed(data), *reader.close()]:
        value = _value(payload)
        if isinstance(value, dict):  # a chat stream ends with [DONE], which is not JSON
            yield f"event {value.get('type') or name or 'chunk'}", value


def _value(data: bytes) -> Any:
    try:
        return json_codec.decode(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


def _fields(value: Any, path: str, into: dict[str, set[str]]) -> None:
    """Collect the types of everything in a value, by path."""
    into.setdefault(path, set()).add(_TYPES.get(type(value), "string"))
    if isinstance(value, dict):
        for key, inner in value.items():
            inner_path = f"{path}.{key}" if path else key
            if key in FREE and isinstance(inner, (dict, list)):
                into.setdefault(inner_path, set()).add(_TYPES[type(inner)])
            else:
                _fields(inner, inner_path, into)
    elif isinstance(value, list):
        for inner in value:
            _fields(inner, f"{path}[]", into)


def _of_fields(old: dict[str, dict[str, list[str]]], new: dict[str, dict[str, list[str]]]) -> Iterator[RecordingChange]:
    for kind in sorted({*old, *new}):
        before, after = old.get(kind), new.get(kind)
        if before is None or after is None:
            known = after if before is None else before
            count = f"{len(known or {})} fields"
            yield RecordingChange("field", kind, None if before is None else count, None if after is None else count)
            continue
        for path in sorted({*before, *after}):
            old_types, new_types = before.get(path), after.get(path)
            if old_types != new_types:
                yield RecordingChange("field", f"{kind}: {path}", _types(old_types), _types(new_types))


def _types(types: list[str] | None) -> str | None:
    return None if types is None else " or ".join(types)


# Calls, stop reasons and usage


def _calls(response: Response) -> Iterator[str]:
    for choice in response.choices:
        for block in choice.blocks:
            if isinstance(block, ToolCall):
                status = "" if block.status == "complete" else f", {block.status}"
                yield f"{block.name} ({block.kind}{status})"
            elif isinstance(block, ServerToolCall):
                yield f"{block.tool} (server)"


def _stop(response: Response) -> str:
    if response.error is not None:
        return f"error {response.error.type}"
    reasons = [f"{choice.stop.reason} ({choice.stop.raw})" for choice in response.choices]
    return ", ".join(reasons or ["nothing"]) + ("" if response.complete else ", incomplete")


def _figures(response: Response) -> list[str]:
    if response.usage is None:
        return []
    names = ("input_tokens", "output_tokens", "reasoning_tokens", "cached_input_tokens", "cache_write_tokens")
    return [name for name in names if getattr(response.usage, name) is not None]


def _of_lists(what: ChangedAspect, where: str, old: list[str], new: list[str]) -> Iterator[RecordingChange]:
    if old == new:
        return
    if sorted(old) == sorted(new):
        yield RecordingChange(what, f"{where}, order", ", ".join(old), ", ".join(new))
        return
    rest = list(new)
    for entry in old:
        if entry in rest:
            rest.remove(entry)
        else:
            yield RecordingChange(what, where, entry, None)
    for entry in rest:
        yield RecordingChange(what, where, None, entry)


def _of_leaves(what: ChangedAspect, old: list[dict[str, str]], new: list[dict[str, str]]) -> Iterator[RecordingChange]:
    for number, (before, after) in enumerate(zip(old, new, strict=False), 1):
        for path in [*before, *(path for path in after if path not in before)]:
            old_value, new_value = before.get(path), after.get(path)
            if old_value != new_value:
                yield RecordingChange(what, f"exchange {number}, {path}", *_where_they_differ(old_value, new_value))


def _where_they_differ(old: str | None, new: str | None) -> tuple[str | None, str | None]:
    """Cut both texts for display. Long ones start shortly before their first difference."""
    start = 0
    if old is not None and new is not None and max(len(old), len(new)) > _SHOWN:
        first = next((n for n, (before, after) in enumerate(zip(old, new, strict=False)) if before != after), 0)
        start = max(0, first - _SHOWN // 4)
    return _cut(old, start), _cut(new, start)


def _cut(text: str | None, start: int) -> str | None:
    if text is None or (start == 0 and len(text) <= _SHOWN):
        return text
    end = start + _SHOWN
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
