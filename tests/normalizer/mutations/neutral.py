"""Mutations that change no meaning: one table, each a small pure function that gives None where it does not apply.

A mutation belongs to one of four layers, in which a chain applies them: the ``parts`` of an exchange (payloads of
events, a body, or messages), the ``text`` that spells a payload, the ``frame`` around the payloads of a stream, and
the ``cut`` of the bytes into pieces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any, Literal, NamedTuple

from tests.support.wires import BYTE_WIRES, EVENT_STREAM_WIRES, LINE_WIRES, SSE_WIRES

from . import neutral_anthropic_messages as neutral_anthropic
from . import neutral_cohere_chat as neutral_cohere
from . import neutral_openai_chat as neutral_chat
from . import neutral_openai_responses as neutral_responses
from . import neutral_xai_grpc as neutral_xai
from .changes import copied, objects
from .material import ADDED, Traffic, plainly, received, sent

Layer = Literal["parts", "text", "frame", "cut"]
JSON_WIRES = BYTE_WIRES
#: The wires whose streams are lines of text.
TEXT_STREAMS = (*SSE_WIRES, *LINE_WIRES)
_BYTEWISE = 6_000


class Mutation(NamedTuple):
    """One row of the table. ``streams`` and ``bodies``: what it applies to. A chain takes one of a ``group``."""

    name: str
    layer: Layer
    apply: Callable[..., Any]
    wires: tuple[str, ...] = JSON_WIRES
    streams: bool = True
    bodies: bool = True
    group: str = ""


# The text of a payload.


def spaced(value: Any, chance: Random) -> str:
    return json.dumps(value, separators=(" \t, ", "  : "))


def compact(value: Any, chance: Random) -> str:
    return json.dumps(value, separators=(",", ":"))


def over_lines(value: Any, chance: Random) -> str:
    return json.dumps(value, indent=chance.choice([0, 1, "\t"]))


def escaped(value: Any, chance: Random) -> str:
    """Every character of every text as \\u and four digits, in either case."""
    form = chance.choice(["\\u%04x", "\\u%04X"])

    def units(match: re.Match[str]) -> str:
        text = json.loads(match[0]).encode("utf-16-be", "surrogatepass")
        return '"' + "".join(form % int.from_bytes(text[at : at + 2], "big") for at in range(0, len(text), 2)) + '"'

    return re.sub(r'"(?:[^"\\]|\\.)*"', units, json.dumps(value))


def slashes(value: Any, chance: Random) -> str | None:
    text = json.dumps(value)
    return text.replace("/", "\\/") if "/" in text else None


def reordered(value: Any, chance: Random) -> str:
    """The members of every object in another order."""
    if isinstance(value, dict):
        members = [f"{json.dumps(key)}: {reordered(inner, chance)}" for key, inner in value.items()]
        chance.shuffle(members)
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(reordered(inner, chance) for inner in value) + "]"
    return json.dumps(value)


def rewritten_numbers(value: Any, chance: Random) -> str | None:
    """Fractions with an exponent, or with more zeros."""
    if not any(isinstance(inner, float) for _, held in objects(value) for inner in held.values()):
        return None

    def other(match: re.Match[str]) -> str:
        rewritten = chance.choice([match[0] + "0", match[0] + "e0", match[0] + "E+00"])
        return rewritten if float(rewritten) == float(match[0]) else match[0]

    return re.sub(
        r'"(?:[^"\\]|\\.)*"|-?\d+\.\d+(?![\deE+-])', lambda m: m[0] if m[0][0] == '"' else other(m), json.dumps(value)
    )


# The frame of a stream.


def crlf(data: bytes, chance: Random) -> bytes:
    return data.replace(b"\n", b"\r\n")


def cr(data: bytes, chance: Random) -> bytes | None:
    return None if b"\r" in data else data.replace(b"\n", b"\r")


def mixed_newlines(data: bytes, chance: Random) -> bytes | None:
    """Each line with another end. CR before LF would be one end: it is left out there."""
    if b"\r" in data or not data.endswith(b"\n"):
        return None
    out = b""
    for line in data.split(b"\n")[:-1]:
        out += line + chance.choice([b"\r\n", b"\r"] if not line and out.endswith(b"\r") else [b"\n", b"\r\n", b"\r"])
    return out


def _between(data: bytes, chance: Random, *noise: bytes) -> bytes:
    events = data.split(b"\n\n")
    return b"".join(event + b"\n\n" + chance.choice(noise) for event in events[:-1]) + events[-1]


def comments(data: bytes, chance: Random) -> bytes:
    return b": begin\n\n" + _between(data, chance, b": OPENROUTER PROCESSING\n\n", b":\n\n", b":data: {}\n", b"")


def comments_inside(data: bytes, chance: Random) -> bytes:
    return re.sub(rb"^data: ", b": ping\ndata: ", data, flags=re.MULTILINE)


def id_lines(data: bytes, chance: Random) -> bytes:
    return re.sub(rb"^data: ", lambda m: b"id: %d\ndata: " % chance.randint(0, 99), data, flags=re.MULTILINE)


def retry_lines(data: bytes, chance: Random) -> bytes:
    return b"retry: 3000\n" + _between(data, chance, b"retry: 10\n\n", b"")


def other_fields(data: bytes, chance: Random) -> bytes:
    return re.sub(rb"^data: ", b"x-trace: 9\ndata: ", data, flags=re.MULTILINE)


def byte_order_mark(data: bytes, chance: Random) -> bytes:
    return b"\xef\xbb\xbf" + data


def no_space(data: bytes, chance: Random) -> bytes:
    return re.sub(rb"^(data|event): ", rb"\1:", data, flags=re.MULTILINE)


def no_names(data: bytes, chance: Random) -> bytes | None:
    return re.sub(rb"^event: .*\n", b"", data, flags=re.MULTILINE) if b"event: " in data else None


def names(data: bytes, chance: Random) -> bytes | None:
    """The name that the standard gives to events without one."""
    return None if b"event: " in data else re.sub(rb"(\A|\n\n)data: ", rb"\1event: message\ndata: ", data)


def more_blank_lines(data: bytes, chance: Random) -> bytes:
    return b"\n" + data.replace(b"\n\n", b"\n" * chance.randint(2, 4)) + b"\n"


def single_newlines(data: bytes, chance: Random) -> bytes:
    return data.replace(b"\n\n", b"\n")


def no_last_newline(data: bytes, chance: Random) -> bytes:
    return data.rstrip(b"\n")


def keep_alive_in_data(data: bytes, chance: Random) -> bytes:
    return _between(data, chance, b"data: : keep-alive\n\n", b"data: \n\n", b"data:\n\n", b"event: ping\n\n")


# The pieces.


def anywhere(data: bytes, chance: Random) -> list[bytes]:
    places = sorted(chance.randint(0, len(data)) for _ in range(chance.randint(1, 40)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


def byte_by_byte(data: bytes, chance: Random) -> list[bytes] | None:
    return [data[at : at + 1] for at in range(len(data))] if len(data) < _BYTEWISE else None


def inside_characters(data: bytes, chance: Random) -> list[bytes] | None:
    """A cut before every byte that continues a character."""
    if data.isascii():
        return None
    places = [at for at, byte in enumerate(data) if byte & 0xC0 == 0x80]
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


def at_lines(data: bytes, chance: Random) -> list[bytes]:
    return data.splitlines(keepends=True)


def empty_pieces(data: bytes, chance: Random) -> list[bytes]:
    return [each for piece in anywhere(data, chance) for each in (b"", piece, b"")]


def other_buffers(data: bytes, chance: Random) -> list[Any]:
    return [bytearray(data[: len(data) // 2]), memoryview(data[len(data) // 2 :])]


# The members of any JSON wire.


def unknown_members(traffic: Traffic, chance: Random) -> Traffic:
    """One more member in every object of the wire's own."""
    parts = copied(traffic.parts)
    for _, held in objects(parts, own=True):
        held[ADDED] = chance.choice([1, "x", None, [], {ADDED: 2}])
    return traffic._replace(parts=parts)


def null_members(traffic: Traffic, chance: Random) -> Traffic:
    parts = copied(traffic.parts)
    for _, held in objects(parts, own=True):
        held[ADDED] = None
    return traffic._replace(parts=parts)


def no_nulls(traffic: Traffic, chance: Random) -> Traffic | None:
    """Members without a value left out."""
    parts, dropped = copied(traffic.parts), 0
    for _, held in objects(parts, own=True):
        for key in [key for key, value in held.items() if value is None]:
            del held[key]
            dropped += 1
    return traffic._replace(parts=parts) if dropped else None


_COMMON = [
    Mutation("white space around every token", "text", spaced),
    Mutation("no white space", "text", compact),
    Mutation("a payload over many lines", "text", over_lines, (*SSE_WIRES, *EVENT_STREAM_WIRES)),
    Mutation("every character escaped", "text", escaped),
    Mutation("slashes escaped", "text", slashes),
    Mutation("members in another order", "text", reordered),
    Mutation("fractions written otherwise", "text", rewritten_numbers),
    Mutation("comments between events", "frame", comments, SSE_WIRES, bodies=False),
    Mutation("comments inside events", "frame", comments_inside, SSE_WIRES, bodies=False),
    Mutation("id lines", "frame", id_lines, SSE_WIRES, bodies=False),
    Mutation("retry lines", "frame", retry_lines, SSE_WIRES, bodies=False),
    Mutation("fields of another name", "frame", other_fields, SSE_WIRES, bodies=False),
    Mutation("no space after the colon", "frame", no_space, SSE_WIRES, bodies=False),
    Mutation("no event names", "frame", no_names, SSE_WIRES, bodies=False),
    Mutation("event names", "frame", names, SSE_WIRES, bodies=False),
    Mutation("keep-alives in data lines", "frame", keep_alive_in_data, SSE_WIRES, bodies=False, group="separation"),
    Mutation("more blank lines", "frame", more_blank_lines, TEXT_STREAMS, bodies=False),
    Mutation("no blank lines", "frame", single_newlines, SSE_WIRES, bodies=False, group="separation"),
    Mutation("no newline at the end", "frame", no_last_newline, TEXT_STREAMS, bodies=False),
    Mutation("CRLF", "frame", crlf, TEXT_STREAMS, bodies=False),
    Mutation("CR", "frame", cr, SSE_WIRES, bodies=False),
    Mutation("newlines of all kinds", "frame", mixed_newlines, SSE_WIRES, bodies=False),
    Mutation("a byte order mark", "frame", byte_order_mark, TEXT_STREAMS),
    Mutation("a byte order mark before a body", "frame", byte_order_mark, EVENT_STREAM_WIRES, streams=False),
    Mutation("cut anywhere", "cut", anywhere, bodies=False),
    Mutation("byte by byte", "cut", byte_by_byte, bodies=False),
    Mutation("cut inside characters", "cut", inside_characters, bodies=False),
    Mutation("line by line", "cut", at_lines, bodies=False),
    Mutation("empty pieces", "cut", empty_pieces, bodies=False),
    Mutation("other kinds of buffers", "cut", other_buffers, bodies=False),
    Mutation("unknown members", "parts", unknown_members),
    Mutation("null members", "parts", null_members),
    Mutation("no null members", "parts", no_nulls),
]


def _of(wire: str, table: dict[str, Callable[..., Any]]) -> list[Mutation]:
    group = neutral_responses.SENT_ONCE
    return [
        Mutation(name, "parts", apply, (wire,), group="once" if name in group else "") for name, apply in table.items()
    ]


def chained(table: list[Mutation], chance: Random) -> list[Mutation]:
    """Two to six mutations that go together."""
    chain: list[Mutation] = []
    for mutation in chance.sample(table, min(len(table), chance.randint(2, 6))):
        if not mutation.group or all(mutation.group != other.group for other in chain):
            chain.append(mutation)
    return chain


MUTATIONS: tuple[Mutation, ...] = (
    *_COMMON,
    *_of("openai.chat", neutral_chat.TABLE),
    *_of("openai.responses", neutral_responses.TABLE),
    *_of("anthropic.messages", neutral_anthropic.TABLE),
    *_of("cohere.chat", neutral_cohere.TABLE),
    *_of("xai.grpc", neutral_xai.TABLE),
)


def applicable(traffic: Traffic) -> list[Mutation]:
    """The mutations for the wire and the kind of an exchange."""
    return [m for m in MUTATIONS if traffic.wire in m.wires and (m.streams if traffic.stream else m.bodies)]


def mutated(traffic: Traffic, chain: list[Mutation], chance: Random) -> tuple[Any, list[str]]:
    """The response of an exchange after these mutations, and the names of those that applied.

    They are applied in the order of the table: what looks for line feeds comes before what changes them.
    """
    chain = sorted(chain, key=MUTATIONS.index)
    applied = []
    for mutation in (m for m in chain if m.layer == "parts"):
        other = mutation.apply(traffic, chance)
        if other is not None:
            traffic = other
            applied.append(mutation.name)
    if traffic.wire == "xai.grpc":
        return (received(traffic, traffic.parts) if applied else None), applied
    data = sent(traffic, _speller(chain, chance, applied))
    for mutation in (m for m in chain if m.layer == "frame"):
        other = mutation.apply(data, chance)
        if other is not None:
            data = other
            applied.append(mutation.name)
    pieces: list[Any] = [data]
    for mutation in (m for m in chain if m.layer == "cut"):
        pieces_or_none = mutation.apply(data, chance)
        if pieces_or_none is not None:
            pieces = pieces_or_none
            applied.append(mutation.name)
    return (received(traffic, pieces) if applied else None), applied


def _speller(chain: list[Mutation], chance: Random, applied: list[str]) -> Callable[[Any], str]:
    """How payloads are written. Of several mutations of the text the last one that applies counts."""
    texts = [m for m in chain if m.layer == "text"][-1:]

    def spell(value: Any) -> str:
        for mutation in texts:
            text = mutation.apply(value, chance)
            if text is not None:
                if mutation.name not in applied:
                    applied.append(mutation.name)
                return str(text)
        return plainly(value)

    return spell
