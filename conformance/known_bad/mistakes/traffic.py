"""Changes of a response before it is read: a reader that ignores or misreads a member reads the response without it.

A change gets the JSON values of a response, one for a body and one for each event of a stream, and changes them in
place. An event that becomes empty is removed. Bytes that are not JSON, and events that do not change, stay as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from msgspec.structs import replace

from toolparity.cassettes.chunking import events
from toolparity.cassettes.emulated.bedrock_converse import message

from ...oracle.bedrock_converse import is_event_stream
from ...oracle.xai_grpc import _type
from ...subjects import SubjectExchange
from ..mutate import by_messages

Json = dict[str, Any]
Edit = Callable[[list[Json]], None]
_DATA = re.compile(rb"^data: ?([\[{].*?)\r?$", re.MULTILINE)
_HEADER = re.compile(rb"(.)(:[a-z-]+)\x07..([a-zA-Z/-]+)", re.DOTALL)
#: The name of the member that holds a body that is an array.
ARRAY = "array"
#: The beginning of a text that takes the place of a free object.
_MARK = "<free object>"
#: Members whose value is the model's or the caller's JSON.
FREE = frozenset(("args", "arguments", "input", "parameters", "input_schema", "json", "schema"))
_FREE_OBJECT = re.compile(rf'"(?:{"|".join(sorted(FREE))})"\s*:\s*{{')
_DECODER = json.JSONDecoder()


def edited(exchange: SubjectExchange, edit: Edit) -> SubjectExchange:
    """Return the exchange with the changed response, or the same object if nothing changed."""
    found = list(_parts(exchange))
    values = [value for _, value, _ in found if value is not None]
    before = [json.dumps(value) for value in values]
    try:
        edit(values)
    except (AttributeError, TypeError, KeyError, IndexError):
        return exchange  # the response has another form
    after = [json.dumps(value) for value in values]
    if before == after:
        return exchange
    changed = iter(zip(values, before, after, strict=True))
    pieces = []
    for piece, value, encode in found:
        if value is not None:
            new, old_text, new_text = next(changed)
            if old_text != new_text:
                pieces += [encode(new)] if new else []
                continue
        pieces.append(piece)
    return replace(exchange, pieces=pieces)


def _parts(exchange: SubjectExchange) -> Iterator[tuple[bytes, Json | None, Callable[[Json], bytes]]]:
    """Yield the parts of a response, each with its JSON value and the function that encodes a changed one."""
    if by_messages(exchange.wire):
        from google.protobuf.json_format import MessageToDict, ParseDict
        from google.protobuf.message import DecodeError

        kind = _type(exchange.stream)
        for piece in exchange.pieces:
            try:
                value = MessageToDict(kind.FromString(piece), preserving_proto_field_name=True)
            except DecodeError:
                value = None
            yield piece, value, lambda new: bytes(ParseDict(new, kind()).SerializeToString(deterministic=True))
        return
    body = exchange.body
    if is_event_stream(body):
        for piece in events(body):
            yield _message(piece)
    elif not exchange.stream or body[:1] in b"[{":
        lines = body.splitlines(keepends=True) if exchange.wire == "ollama.chat" and exchange.stream else [body]
        for line in lines:
            value = _json(line)
            value = {ARRAY: value} if isinstance(value, list) else value
            yield line, value if isinstance(value, dict) else None, lambda new: _encoded(new.get(ARRAY, new)) + b"\n"
    else:
        for piece in events(body):
            match = _DATA.search(piece)
            value = _json(match[1]) if match else None
            if match is None or not isinstance(value, dict):
                yield piece, None, lambda new: b""
                continue
            start, end = piece[: match.start(1)], piece[match.end(1) :]
            yield piece, value, partial(_within, start, end)


def _message(piece: bytes) -> tuple[bytes, Json | None, Callable[[Json], bytes]]:
    """Return a message of an AWS event stream. Its value has the event's type as the only member."""
    size = int.from_bytes(piece[4:8], "big")
    headers = {name.decode(): value.decode() for _, name, value in _HEADER.findall(piece[12 : 12 + size])}
    payload = _json(piece[12 + size : -4])
    key = ":event-type" if ":event-type" in headers else ":exception-type"
    if not isinstance(payload, dict) or key not in headers:
        return piece, None, lambda new: b""

    def encode(new: Json) -> bytes:
        ((kind, value),) = new.items()
        return message(_encoded(value), {**headers, key: kind})

    return piece, {headers[key]: payload}, encode


def _within(start: bytes, end: bytes, new: Any) -> bytes:
    return start + _encoded(new) + end


class _Written(dict[str, Any]):
    """A free object, with its exact text and the value that this text has."""

    text: str
    value: Any


def _encoded(value: Any) -> bytes:
    """Encode a value. Free objects that did not change keep their text."""
    texts: list[str] = []

    def walk(value: Any) -> Any:
        if isinstance(value, _Written) and value == value.value:
            texts.append(value.text)
            return f"{_MARK}{len(texts) - 1}"
        if isinstance(value, dict):
            return {key: walk(member) for key, member in value.items()}
        return [walk(member) for member in value] if isinstance(value, list) else value

    encoded = json.dumps(walk(value))
    return re.sub(f'"{_MARK}([0-9]+)"', lambda match: texts[int(match[1])], encoded).encode("utf-8", "surrogatepass")


def _json(data: bytes) -> Any:
    """Decode JSON. A free object remembers its text; None if the data is not JSON."""
    texts: list[str] = []
    try:
        text = data.decode()
        pieces, at = [], 0
        while match := _FREE_OBJECT.search(text, at):
            _, end = _DECODER.raw_decode(text, match.end() - 1)
            pieces += [text[at : match.end() - 1], f'"{_MARK}{len(texts)}"']
            texts.append(text[match.end() - 1 : end])
            at = end
        return _restored(json.loads("".join([*pieces, text[at:]])), texts)
    except ValueError:
        return None


def _restored(value: Any, texts: list[str]) -> Any:
    if isinstance(value, str) and value.startswith(_MARK):
        text = texts[int(value.removeprefix(_MARK))]
        written = _Written(json.loads(text))
        written.text, written.value = text, json.loads(text)
        return written
    if isinstance(value, dict):
        return {key: _restored(member, texts) for key, member in value.items()}
    return [_restored(member, texts) for member in value] if isinstance(value, list) else value


# changes


def holders(value: Any, key: str) -> Iterator[Json]:
    """Yield each object that has a member of this name, at any depth."""
    if isinstance(value, dict):
        if key in value:
            yield value
        for name, member in value.items():
            if name not in FREE or not isinstance(member, dict):
                yield from holders(member, key)
    elif isinstance(value, list):
        for member in value:
            yield from holders(member, key)


def at(key: str, change: Callable[[Json], Any]) -> Edit:
    """Change each object that has a member of this name."""

    def edit(values: list[Json]) -> None:
        for holder in list(holders(values, key)):
            change(holder)

    return edit


def gone(*keys: str, beside: str = "") -> Edit:
    """Remove members; ``beside``: only from objects that have this member, too."""

    def edit(values: list[Json]) -> None:
        for key in keys:
            for holder in list(holders(values, key)):
                if not beside or beside in holder:
                    del holder[key]

    return edit


def becomes(key: str, new: Any, *old: Any) -> Edit:
    """Give a member another value where it has one of these values; without ``old``, always."""

    def change(holder: Json) -> None:
        if not old or holder[key] in old:
            holder[key] = new(holder[key]) if callable(new) else new

    return at(key, change)


def kept(key: str, keep: Callable[[list[Any]], list[Any]]) -> Edit:
    """Keep some elements of the lists with this name."""

    def change(holder: Json) -> None:
        if isinstance(holder[key], list):
            holder[key] = keep(holder[key])

    return at(key, change)


def without(key: str, drop: Callable[[Any], bool]) -> Edit:
    """Remove elements from the lists with this name."""
    return kept(key, lambda items: [item for item in items if not (isinstance(item, dict) and drop(item))])


def ignored(drop: Callable[[Json], bool]) -> Edit:
    """Remove events of a stream."""

    def edit(values: list[Json]) -> None:
        for value in values:
            if len(values) > 1 and drop(value):
                value.clear()

    return edit


def renamed(old: str, new: str) -> Edit:
    """Read a member as another one."""

    return at(old, lambda holder: holder.update({new: holder.pop(old)}))


def each(*edits: Edit) -> Edit:
    """Apply several changes."""

    def edit(values: list[Json]) -> None:
        for one in edits:
            one(values)

    return edit


def last(key: str, holder_key: str = "") -> Edit:
    """Keep the last element that has a member, and the elements without it."""

    def keep(items: list[Any]) -> list[Any]:
        having = [item for item in items if isinstance(item, dict) and holder_key in item]
        return [item for item in items if item not in having or item is having[-1]]

    return kept(key, keep)
