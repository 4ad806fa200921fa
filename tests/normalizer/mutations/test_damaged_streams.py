"""Streams with events lost, repeated, swapped or mixed: typed errors only, and nothing is kept that cannot run.

Each kind of damage is done to a fixed sample of recorded streams of each wire; with TOOLPARITY_EVERY_RECORDING to all
of them, several times. Damaged bytes and values are the subject of ``tests/normalizer/test_robustness.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any
from zlib import crc32

import pytest

from tests.support.thoroughness import is_thorough
from tests.support.wires import WIRES
from toolparity import Response, ToolCall, ToolparityError, select
from toolparity.normalizer import json_codec
from toolparity.normalizer.arguments import parse
from toolparity.normalizer.policies import POLICIES

from .material import EVERY, Traffic, copied, objects, read, received, sample, sent

ROUNDS = 4 if EVERY else 2 if is_thorough() else 1
#: Stop reasons of an answer of which nothing may run.
DEAD = {"refusal", "content_filter", "malformed_call", "error"}
#: Kinds of calls whose text is not JSON by design.
FREE = {"custom"}
Parts = list[Any]


def _deleted(parts: Parts, other: Parts, chance: Random) -> Parts:
    for _ in range(chance.randint(1, 3)):
        if len(parts) > 1:
            del parts[chance.randrange(len(parts))]
    return parts


def _repeated(parts: Parts, other: Parts, chance: Random) -> Parts:
    at = chance.randrange(len(parts))
    parts.insert(chance.randint(0, len(parts)), copied(parts[at]))
    return parts


def _swapped(parts: Parts, other: Parts, chance: Random) -> Parts:
    for _ in range(chance.randint(1, 4)):
        one, another = chance.randrange(len(parts)), chance.randrange(len(parts))
        parts[one], parts[another] = parts[another], parts[one]
    return parts


def _mixed(parts: Parts, other: Parts, chance: Random) -> Parts:
    """The events of two streams in turn."""
    queues, mixed = [parts, list(other)], []
    while any(queues):
        mixed.append(chance.choice([queue for queue in queues if queue]).pop(0))
    return mixed


def _other_members(names: tuple[str, ...], values: tuple[Any, ...]) -> Callable[[Parts, Parts, Random], Parts]:
    def change(parts: Parts, other: Parts, chance: Random) -> Parts:
        for _, holder in objects(parts):
            for name in names:
                if name in holder and chance.random() < 0.6:
                    holder[name] = chance.choice(values)
        return parts

    return change


DAMAGE: dict[str, Callable[[Parts, Parts, Random], Parts]] = {
    "events deleted": _deleted,
    "events repeated": _repeated,
    "events swapped": _swapped,
    "the end missing": lambda parts, other, chance: parts[: chance.randint(1, len(parts) - 1)],
    "two streams in turn": _mixed,
    "indexes anywhere": _other_members(
        ("index", "output_index", "content_index", "contentBlockIndex"), (-1, -(2**31), 2**31, 2**63, 0, 7)
    ),
    "ids without a meaning": _other_members(
        ("id", "call_id", "item_id", "tool_use_id", "toolUseId"), ("same", "", None, 5)
    ),
}


@pytest.fixture(autouse=True)
def _no_warnings(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "toolparity")


def assert_selectable(response: Response) -> None:
    """Assert what holds for any response, and for the selection of every policy from it."""
    json_codec.encode(response)
    found = [(choice, at, block) for choice, at, block in response.walk() if isinstance(block, ToolCall)]
    for choice in response.choices:
        ids = [call.id for call in choice.calls]
        assert all(ids)
        assert len(set(ids)) == len(ids), f"ids are not unique: {ids}"
    places = sorted((choice.index, at) for choice, at, _ in found)
    for policy in POLICIES:
        for index in [choice.index for choice in response.choices] or [0]:
            selection = select(response, policy, choice=index)
            refs = [*selection.kept, *selection.dropped, *selection.rejected]
            assert sorted((ref.choice, ref.block) for ref in refs) == places, "a call is lost, or counted twice"
            kept = {(ref.choice, ref.block) for ref in selection.kept}
            for choice, at, call in found:
                if (choice.index, at) not in kept:
                    continue
                assert response.complete
                assert response.error is None
                assert choice.stop.reason not in DEAD
                assert call.name
                assert call.status == "complete"
                assert isinstance(call.arguments, dict) or (call.kind in FREE and call.arguments is None)


def damaged(material: list[Traffic]) -> Iterator[tuple[str, Traffic]]:
    """The damaged streams, each with its description."""
    for traffic in material:
        for name, change in DAMAGE.items():
            for number in range(ROUNDS):
                chance = Random(crc32(f"{traffic.id}: {name} {number}".encode()))
                parts = change(copied(traffic.parts), copied(chance.choice(material).parts), chance)
                yield f"{traffic.id}, {name} {number}", traffic._replace(parts=parts)


@pytest.mark.parametrize("wire", WIRES)
def test_damage_raises_typed_errors_and_no_call_runs_that_cannot(wire: str) -> None:
    material = [traffic for traffic in sample(wire) if traffic.stream and len(traffic.parts) > 1]
    count = 0
    for description, traffic in damaged(material):
        pieces = traffic.parts if wire == "xai.grpc" else [sent(traffic, json.dumps)]
        try:
            assert_selectable(received(traffic, pieces))
        except ToolparityError:
            pass
        except Exception as error:
            raise AssertionError(f"{description}: {error!r}") from error
        count += 1
    assert count > 15


def test_arguments_that_end_inside_an_escape_are_truncated() -> None:
    assert [parse(text).status for text in ('{"a": "\\u12', '{"a": "\\x12"}')] == ["truncated", "invalid"]


def test_a_call_that_is_counted_twice_is_detected() -> None:
    response = next(found for traffic in sample("openai.chat") if (found := read(traffic)).calls)
    assert_selectable(response)
    response.choices[0].blocks.append(response.calls[0])
    with pytest.raises(AssertionError, match="ids are not unique"):
        assert_selectable(response)
