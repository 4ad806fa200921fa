"""Independent readings of responses: the blocks and members that the canonical form of a response must have.

There is one module for each wire, with a function ``response``, and with the function ``reply`` that `oracle.replies`
calls. A third party's wire has it in a module ``oracle_responses`` of that wire's package; without one, the law
`content` does not apply to it. A reading follows the
provider's documentation. It raises Irregular for traffic that deviates from it: the scenario states what is expected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.registry import spec

from ...subjects import SubjectExchange
from .. import has_json_lines, is_array, json_texts, json_values
from ..same import Same

Json = dict[str, Any]


#: The canonical token counts.
COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens", "cached_input_tokens", "cache_write_tokens")


class _Anything:
    """Equal to any value: the wire does not decide this member."""

    def __repr__(self) -> str:
        return "anything"


ANYTHING: Any = _Anything()


class Irregular(Exception):
    """The response deviates from the documentation of its wire, so its reading is not unique."""


def response_values(exchange: SubjectExchange) -> list[Json]:
    """Return the JSON object of a body, or those of a stream's events. Raises Irregular if there are none."""
    values = list(json_values(exchange))
    if not values:
        raise Irregular("the response has no JSON")
    return values


def response_texts(exchange: SubjectExchange) -> list[bytes]:
    """Return the JSON texts of `response_values`."""
    return [text for text in json_texts(exchange) if text[:1] == b"{"]


class WireBlock(Struct, frozen=True):
    """A block. ``members``: the canonical members but ``extra``. ``source``: the JSON that ``extra`` comes from."""

    members: Json
    source: Any


class WireChoice(Struct, frozen=True):
    """A choice. ``stop``: the provider's term for why it ended. ``source``: see `WireBlock`."""

    index: int
    blocks: list[WireBlock]
    stop: str | None
    source: Any = None


class WireResponse(Struct, frozen=True):
    """A response. ``usage`` and ``error`` have the canonical members; None if the wire has none of them.

    ``kept``: members of the wire without a canonical member, which ``extra`` must hold. ``source``: everything that
    ``extra`` may hold. ``repeated``: the ids that several calls have.
    """

    id: str | None
    model: str | None
    choices: list[WireChoice]
    usage: Json | None
    error: Json | None
    kept: Json
    source: Any
    repeated: frozenset[str] = frozenset()


def read(exchange: SubjectExchange) -> WireResponse:
    """Return the reading of a response by the oracle of its wire, which must not be changed. Raises Irregular."""
    is_long = sum(map(len, exchange.pieces)) > _LONG
    found = _read(exchange) if is_long else _cached(Same(exchange, exchange.pieces))
    if isinstance(found, Irregular):
        raise found.with_traceback(None)  # it is kept: else each raise would lengthen its traceback
    return found


#: Readings of longer responses, in bytes, are not kept in memory.
_LONG = 1 << 16


@lru_cache(maxsize=64)  # the responses of one scenario
def _cached(key: Same) -> WireResponse | Irregular:
    return _read(key.value)


def _read(exchange: SubjectExchange) -> WireResponse | Irregular:
    try:
        return _regular(exchange)
    except Irregular as irregular:
        return irregular.with_traceback(None)


def oracle_of(wire: str) -> Any:
    """Return the module that reads the responses of a wire, or None."""
    name = "oracle_responses"
    return spec(wire).part(name, home=__name__) if spec(wire).has_part(name, home=__name__) else None


def _regular(exchange: SubjectExchange) -> WireResponse:
    oracle = oracle_of(exchange.wire)
    if oracle is None:
        raise Irregular("the wire has no oracle of responses")
    by_lines = spec(exchange.wire).framing != "messages" and exchange.body[:1] != b"\x00"
    server_sent = exchange.stream and by_lines and not is_array(exchange.body)
    is_broken = _is_not_json if has_json_lines(exchange.wire) else _is_broken
    if server_sent and any(map(is_broken, exchange.body.splitlines())):
        raise Irregular("an event is not JSON")
    reading: WireResponse = oracle.response(exchange)
    repeated = frozenset(id for choice in reading.choices for id in _release_repeated_ids(choice))
    return replace(reading, repeated=repeated) if repeated else reading


def _is_broken(line: bytes) -> bool:
    """Return whether a line of a stream is not a field of an event, or its data is neither JSON nor the end mark."""
    text = line.removeprefix(b"data:").strip()
    if not line.startswith(b"data:"):
        return not line.startswith((b"event", b"id", b"retry", b":")) and bool(text)
    return text not in (b"", b"[DONE]") and _is_not_json(text)


def _is_not_json(text: bytes) -> bool:
    try:
        json_codec.decode(text)
    except ValueError:
        return True
    return False


def _release_repeated_ids(choice: WireChoice) -> Iterator[str]:
    """Accept any id for a call whose id an earlier call has, and yield the id.

    Raises Irregular if the calls are equal, or have the same name and one has no arguments.
    """
    seen: dict[str, Json] = {}
    for index, block in enumerate(choice.blocks):
        id = block.members.get("id")
        if block.members["type"] != "tool_call" or not isinstance(id, str):
            continue
        first = seen.setdefault(id, block.members)
        if first is not block.members:
            one, other = first["arguments"], block.members["arguments"]
            if first["name"] == block.members["name"] and (one == other or {} in (one, other)):
                raise Irregular("a call twice")
            choice.blocks[index] = WireBlock({**block.members, "id": ANYTHING}, [block.source, {"id": id}])
            yield id


def reading_of(exchange: SubjectExchange) -> WireResponse | None:
    """Return the reading of a response; None if it deviates from the documentation of its wire."""
    try:
        return read(exchange)
    except Irregular:
        return None


def call(
    id: Any,
    name: str,
    text: str,
    source: Any,
    *,
    kind: str = "function",
    cut: bool = False,
    wire_id: str | None = None,
    namespace: str | None = None,
    caller: Any = None,
) -> WireBlock:
    """Return a client call. ``text``: the argument text. ``cut``: the response ended inside the call."""
    arguments, status = (None, "complete") if kind == "custom" else parsed_arguments(text)
    if cut:
        arguments, status = None, "truncated"
    members = {
        "type": "tool_call",
        "id": id or ANYTHING,  # the canonical form generates an id if the wire has none
        "name": name,
        "arguments": arguments,
        "arguments_text": text,
        "status": status,
        "kind": kind,
        "wire_id": wire_id,
        "namespace": namespace,
        "caller": caller,
    }
    return WireBlock(members, source)


def parsed_arguments(text: str) -> tuple[Json | None, str]:
    """Return the arguments of a text, and the status of the call."""
    if "NaN" in text or "Infinity" in text:
        try:
            json.loads(text, parse_constant=_refuse)
        except ValueError:
            return None, "invalid"
    try:
        value = json_codec.decode(text) if text.strip() else {}
    except ValueError:
        return None, "invalid"
    if value is None:
        return {}, "complete"  # null means no arguments
    return (value, "complete") if isinstance(value, dict) else (None, "invalid")


def _refuse(constant: str) -> None:
    raise ValueError(f"JSON has no {constant}")


def text_block(text: str, annotations: list[Any], source: Any) -> WireBlock:
    return WireBlock({"type": "text", "text": text, "annotations": annotations}, source)


def refusal(text: str, source: Any) -> WireBlock:
    return WireBlock({"type": "refusal", "text": text}, source)


def reasoning(
    text: str, source: Any, *, signature: str | None = None, encrypted: str | None = None, redacted: bool | None = None
) -> WireBlock:
    """Return reasoning. ``redacted``: by default, whether there is only encrypted state."""
    withheld = bool(encrypted and not text) if redacted is None else redacted
    members = {"type": "reasoning", "text": text, "signature": signature, "encrypted": encrypted, "redacted": withheld}
    return WireBlock(members, source)


def server_call(id: str, tool: str, name: str, text: str, status: Any, source: Any) -> WireBlock:
    members = {"type": "server_tool_call", "id": id, "tool": tool, "name": name, "arguments_text": text}
    return WireBlock({**members, "status": status}, source)


def server_result(id: str, tool: str, raw: Any, source: Any, *, failed: bool) -> WireBlock:
    return WireBlock(
        {"type": "server_tool_result", "call_id": id, "tool": tool, "is_error": failed, "raw": raw}, source
    )


def opaque(wire_type: str, raw: Any, source: Any) -> WireBlock:
    return WireBlock({"type": "opaque", "wire_type": wire_type, "raw": raw}, source)


def count(figures: Any, *names: str) -> int | None:
    """Return the first of these members that is a whole number, or None."""
    values = (figures.get(name) for name in names) if isinstance(figures, dict) else ()
    numbers = (value for value in values if isinstance(value, int | float) and not isinstance(value, bool))
    return next((int(number) for number in numbers if number == int(number)), None)


def openai_usage(figures: Json | None, *, input: str, output: str) -> Json | None:
    """Return the usage of a wire of OpenAI. ``input`` and ``output``: the prefixes of the members."""
    if not figures:
        return None
    read, written = figures.get(f"{input}_details"), figures.get(f"{output}_details")
    reasoning_tokens = count(written, "reasoning_tokens")
    output_tokens = count(figures, output)
    input_tokens = count(figures, input)
    total = count(figures, "total_tokens")
    cached = count(read, "cached_tokens")
    if reasoning_tokens and None not in (input_tokens, output_tokens, total):
        separate = (input_tokens or 0) + (output_tokens or 0) + reasoning_tokens == total
        output_tokens = (output_tokens or 0) + reasoning_tokens if separate else output_tokens
    return {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "reasoning_tokens": reasoning_tokens,
        "cached_input_tokens": count(figures, "prompt_cache_hit_tokens") if cached is None else cached,
        "cache_write_tokens": count(read, "cache_write_tokens"),
        "raw": figures,
    }


def wire_error(raw: Any, status: int | None) -> Json:
    """Return the canonical error. ``raw``: the error on the wire, or the object around it."""
    inner = raw
    while isinstance(inner, dict) and isinstance(inner.get("error"), dict):
        inner = inner["error"]
    if not isinstance(inner, dict):
        raise Irregular("the error is not an object")
    message = inner.get("error")  # xAI: {"code", "error"}, both texts
    names = [name for name in (inner.get("type"), inner.get("code")) if isinstance(name, str) and name != "error"]
    failed = status is not None and status >= 400
    return {
        "type": names[0] if names else ANYTHING,
        "message": inner.get("message") or inner.get("details") or message or "",
        "status": status if failed else ANYTHING,
        "retryable": (status in (408, 409, 425, 429) or (status or 0) >= 500) if failed else ANYTHING,
        "raw": raw,
    }


def without(members: Json, *names: str) -> Json:
    """Return the members that are not None, except the named ones."""
    return {key: value for key, value in members.items() if value is not None and key not in names}


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield each scalar of a JSON value as JSON text, with the name of the member that holds it."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from leaves(member, name)
    elif isinstance(value, list):
        for element in value:
            yield from leaves(element, key)
    elif value is not None:
        yield key, json_codec.text(value)
