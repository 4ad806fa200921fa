"""Mutations that change no meaning give the same canonical form, alone and in chains; findings may differ.

Each mutation of the table is applied to a fixed sample of recorded exchanges of its wire; with
TOOLPARITY_EVERY_RECORDING to all of them.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from zlib import crc32

import pytest

from tests.support.thoroughness import is_thorough
from tests.support.wires import WIRES

from . import neutral
from .material import EVERY, Traffic, meaning, read, sample

CHAINS = 3 if is_thorough() or EVERY else 2
#: To how many streams and bodies each mutation alone is applied.
ENOUGH = 10**6 if is_thorough() or EVERY else 2
#: The fewest kinds of mutations that apply to the exchanges of a wire: more where the wire has mutations of its format.
LEAST = {"openai.chat": 13, "openai.responses": 25, "anthropic.messages": 18, "cohere.chat": 12, "xai.grpc": 2}


def chance_of(traffic: Traffic, name: str) -> Random:
    """The same chance in each run."""
    return Random(crc32(f"{traffic.id}: {name}".encode()))


def difference(traffic: Traffic, chain: list[neutral.Mutation], name: str) -> tuple[list[str], str | None]:
    """The mutations that applied, and what they changed."""
    response, applied = neutral.mutated(traffic, chain, chance_of(traffic, name))
    if not applied:
        return [], None
    before, after = meaning(read(traffic)), meaning(response)
    if before == after:
        return applied, None
    found = f"{before} became {after}"[:2000]
    return (applied, f"{traffic.id} ({'streamed' if traffic.stream else 'plain'}) after {', '.join(applied)}: {found}")


@pytest.mark.recorded
@pytest.mark.parametrize("wire", WIRES)
def test_each_mutation_alone_changes_nothing(wire: str) -> None:
    counts: Counter[tuple[str, bool]] = Counter()
    wrong = []
    for traffic in sample(wire):
        for mutation in neutral.applicable(traffic):
            if counts[mutation.name, traffic.stream] < ENOUGH:
                applied, changed = difference(traffic, [mutation], mutation.name)
                counts.update((name, traffic.stream) for name in applied)
                wrong += [changed] if changed else []
    assert not wrong, f"{len(wrong)} of {counts.total()}:\n" + "\n".join(wrong[:20])
    assert len({name for name, _ in counts}) >= LEAST.get(wire, 6)


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("wire", WIRES)
def test_mutations_in_chains_change_nothing(wire: str) -> None:
    wrong = []
    total = 0
    for traffic in sample(wire):
        table = neutral.applicable(traffic)
        for number in range(CHAINS * (4 if EVERY else 1)):
            chance = chance_of(traffic, str(number))
            chain = neutral.chained(table, chance)
            applied, changed = difference(traffic, chain, str(number))
            total += bool(applied)
            if changed:
                wrong.append(changed)
    assert not wrong, f"{len(wrong)} of {total}:\n" + "\n".join(wrong[:20])
    assert total


def test_the_comparison_sees_a_lost_word_and_another_stop() -> None:
    traffic = next(traffic for traffic in sample("openai.chat") if traffic.stream and read(traffic).calls)
    for part in range(len(traffic.parts)):
        fewer = traffic._replace(parts=[*traffic.parts[:part], *traffic.parts[part + 1 :]])
        if meaning(read(fewer)) != meaning(read(traffic)):
            return
    raise AssertionError("no chunk of the stream has content")
