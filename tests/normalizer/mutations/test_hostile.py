"""Damaged exchanges: typed errors only, no call lost or invented twice, and nothing kept that cannot run.

Each mutation of the table damages a fixed sample of recorded exchanges of each wire; with TOOLPARITY_EVERY_RECORDING
all of them, each several times. ``-s`` prints how many there were.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from random import Random
from zlib import crc32

import pytest
from xai_sdk.proto import chat_pb2

from tests.support.thoroughness import is_thorough
from toolparity import Response, ToolCall, ToolparityError, select
from toolparity.normalizer import json_codec
from toolparity.normalizer.policies import POLICIES

from . import hostile
from .material import DONE, EVENT_TYPE, EVERY, WIRES, read, received, sample

ROUNDS = 4 if EVERY else 2 if is_thorough() else 1
#: Stop reasons of an answer of which nothing may run.
DEAD = {"refusal", "content_filter", "malformed_call", "error"}
#: Kinds of calls whose text is not JSON by design.
FREE = {"custom"}


@pytest.fixture(autouse=True)
def _no_warnings(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "toolparity")


def holds(response: Response) -> None:
    """The properties of any response, and of what every policy makes of it."""
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


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_damage_raises_typed_errors_and_nothing_runs_that_cannot(wire: str, capsys: pytest.CaptureFixture[str]) -> None:
    material = sample(wire)[:: 1 if is_thorough() or EVERY else 2]
    counts: Counter[str] = Counter()
    refused = 0
    for traffic in material:
        for name, mutate in hostile.MUTATIONS.items():
            for number in range(ROUNDS):
                chance = Random(crc32(f"{traffic.id}: {name} {number}".encode()))
                pieces = mutate(traffic, chance.choice(material), chance)
                if pieces is None:
                    break
                counts[name] += 1
                try:
                    response = received(traffic, pieces)
                except ToolparityError:
                    refused += 1
                    continue
                except Exception as error:
                    raise AssertionError(f"{traffic.id}, {name} {number}: {error!r}") from error
                try:
                    holds(response)
                except AssertionError as error:
                    raise AssertionError(f"{traffic.id}, {name} {number}: {error}") from error
    with capsys.disabled():
        print(f"\n  {wire}: {counts.total()} damaged exchanges of {len(counts)} kinds, {refused} refused", end="")
    assert counts.total() > (100 if is_thorough() else 50)


@pytest.mark.parametrize("wire", WIRES)
def test_nothing_is_kept_of_a_stream_that_ends_before_its_end(wire: str) -> None:
    """Cut off at the end of each event, up to the one that ends the answer."""
    tried = 0
    for traffic in sample(wire):
        if not traffic.stream or not read(traffic).calls:
            continue
        for length in range(1, len(traffic.parts)):
            short = traffic._replace(parts=traffic.parts[:length])
            if _stops(traffic.wire, short.parts[-1]):
                break
            response = read(short)
            assert not response.complete, f"{traffic.id} after {length} events"
            holds(response)
            tried += 1
    assert tried > {"xai.grpc": 3, "google.gemini": 6, "ollama.chat": 12}.get(wire, 20)


def _stops(wire: str, part: object) -> bool:
    """Whether an event could end an answer of its wire."""
    if isinstance(part, bytes):
        return any(output.finish_reason for output in chat_pb2.GetChatCompletionChunk.FromString(part).outputs)
    if not isinstance(part, dict):
        return part == DONE
    if wire == "openai.chat":
        return any(choice.get("finish_reason") for choice in part.get("choices") or ())
    if wire == "ollama.chat":
        return bool(part["done"])
    kind = part.get(EVENT_TYPE, part.get("event_type", part.get("type")))
    if kind == "chunk":  # of InvokeModelWithResponseStream: the model's own event
        event = json.loads(base64.b64decode(part["bytes"]))
        kind = event.get("type", next(iter(event), ""))
    return kind in (
        "response.completed",
        "response.incomplete",
        "response.failed",
        "message_stop",
        "message-end",
        "messageStop",
        "interaction.completed",
    )


def test_the_properties_see_a_call_that_is_counted_twice() -> None:
    traffic = next(traffic for traffic in sample("openai.chat") if read(traffic).calls)
    response = read(traffic)
    holds(response)
    response.choices[0].blocks.append(response.calls[0])
    with pytest.raises(AssertionError, match="ids are not unique"):
        holds(response)
