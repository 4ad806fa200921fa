"""Mutations that change no meaning: one table, each a small pure function that gives None where it does not apply.

A mutation changes the ``parts`` of an exchange (the payloads of its events, or its body), or the ``text`` that a
payload is written as.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any, Literal, NamedTuple

from tests.support.wires import BYTE_WIRES, EVENT_STREAM_WIRES, SSE_WIRES

from . import neutral_blocks, neutral_chunks
from .material import ADDED, Traffic, copied, objects, plainly, received, sent


class Mutation(NamedTuple):
    """One row of the table. A chain takes one of a ``group``."""

    name: str
    layer: Literal["parts", "text"]
    apply: Callable[..., Any]
    wires: tuple[str, ...] = BYTE_WIRES
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


# The members of any JSON wire.


def unknown_members(traffic: Traffic, chance: Random) -> Traffic:
    """One more member in every object of the wire's own."""
    parts = copied(traffic.parts)
    for _, held in objects(parts, own=True):
        held[ADDED] = chance.choice([1, "x", None, [], {ADDED: 2}])
    return traffic._replace(parts=parts)


def no_nulls(traffic: Traffic, chance: Random) -> Traffic | None:
    """Members without a value left out."""
    parts, dropped = copied(traffic.parts), 0
    for _, held in objects(parts, own=True):
        for key in [key for key, value in held.items() if value is None]:
            del held[key]
            dropped += 1
    return traffic._replace(parts=parts) if dropped else None


def optional_members(traffic: Traffic, chance: Random) -> Traffic:
    """Members that say nothing of the answer left out: roles, and refusals and logprobs without a value."""
    parts = copied(traffic.parts)
    for _, held in objects(parts, own=True):
        if traffic.wire != "openai.responses":
            held.pop("role", None)
        if traffic.stream and traffic.wire == "openai.chat":
            held.pop("object", None)
        for name in ("refusal", "logprobs"):
            if held.get(name) in (None, [], ""):
                held.pop(name, None)
    return traffic._replace(parts=parts)


_COMMON = [
    Mutation("white space around every token", "text", spaced),
    Mutation("no white space", "text", compact),
    Mutation("a payload over many lines", "text", over_lines, (*SSE_WIRES, *EVENT_STREAM_WIRES)),
    Mutation("every character escaped", "text", escaped),
    Mutation("slashes escaped", "text", slashes),
    Mutation("members in another order", "text", reordered),
    Mutation("fractions written otherwise", "text", rewritten_numbers),
    Mutation("unknown members", "parts", unknown_members),
    Mutation("no null members", "parts", no_nulls),
    Mutation(
        "no optional members", "parts", optional_members, ("openai.chat", "openai.responses", "anthropic.messages")
    ),
]


def _of(wire: str, table: dict[str, Callable[..., Any]]) -> list[Mutation]:
    group = neutral_blocks.SENT_ONCE
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
    *_of("openai.chat", neutral_chunks.CHAT_TABLE),
    *(mutation for wire, table in neutral_blocks.TABLES.items() for mutation in _of(wire, table)),
    *_of("xai.grpc", neutral_chunks.XAI_TABLE),
)


def applicable(traffic: Traffic) -> list[Mutation]:
    """The mutations for the wire of an exchange."""
    return [m for m in MUTATIONS if traffic.wire in m.wires]


def mutated(traffic: Traffic, chain: list[Mutation], chance: Random) -> tuple[Any, list[str]]:
    """The response of an exchange after these mutations, and the names of those that applied.

    They are applied in the order of the table. Of several mutations of the text the last one counts.
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
    texts = [m for m in chain if m.layer == "text"][-1:]

    def spell(value: Any) -> str:
        for mutation in texts:
            text = mutation.apply(value, chance)
            if text is not None:
                applied.append(mutation.name)
                return str(text)
        return plainly(value)

    data = sent(traffic, spell)
    return (received(traffic, [data]) if applied else None), list(dict.fromkeys(applied))
