"""The same script over every wire, from cassettes and from the emulated providers: the same events, the same rows, the
same termination.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import msgspec
import pytest

from toolparity import normalize
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.library import load, path_for
from toolparity.cassettes.recorder.script_driver import opening
from toolparity.cassettes.scripts import Script, scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.demo.tools import ScriptedTools
from toolparity.turns.events import TurnEvent, TurnFailed
from toolparity.turns.narration.acknowledge import acknowledge
from toolparity.turns.provider import Provider
from toolparity.turns.turn import Turn

from .playing import BLOCK_EVENTS, WIRES, assert_legal, at_once, play, rows
from .test_clients import reach

#: Scripts that can be played on all wires.
COMMON = [id for id, script in scripts().items() if all(SURFACES[wire].plays(script) for wire in WIRES)]
#: Scripts that are also played over the network: text, calls, several rounds, failures, refusals, incomplete answers.
OVER_THE_NETWORK = (
    *("appointments-and-billing", "asks-again", "both-files", "breaks-off-after-a-call", "course-research"),
    *("error-in-the-words", "error-rate-limit", "every-tool-fails", "limit-four", "long-tool-name", "parallel-three"),
    *("some-tools-fail", "thinks-between-calls", "truncated-arguments", "wrong-key"),
)
#: Of these, what some wires cannot express: arguments that are not JSON, and names with dashes.
NOT_ON_EVERY_WIRE = {"truncated-arguments", "long-tool-name"}
#: Surfaces of other providers.
OTHERS = ("xai.chat", "xai.responses")
Skeleton = list[dict[str, Any]]


class Recorded:
    """A provider that answers from a cassette, in order."""

    def __init__(self, scenario: str, surface: str) -> None:
        self.wire = SURFACES[surface].wire
        self.name = SURFACES[surface].provider
        self.model = SURFACES[surface].model
        self._exchanges = iter(load(path_for(surface, scenario, stream=True)).exchanges)

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        exchange = next(self._exchanges)
        frames = exchange.frames
        if (exchange.status or 200) >= 400 and not frames:
            yield normalize(exchange.body or b"", self.wire, provider=self.name, request=body, status=exchange.status)
            return
        for frame in frames if frames is not None else [exchange.body or b""]:
            yield frame
        if frames is not None and exchange.body is not None:
            yield exchange.body  # the status of a call that broke off


def skeleton(events: Iterable[TurnEvent]) -> Skeleton:
    """The events of a turn that are not about blocks, and the rows that a log would contain, without the parts that
    differ by provider: ids, usage, thinking (not all show it), error texts, and the calls of an answer that broke off.
    """
    events, plain = list(events), []
    for event in events:
        if isinstance(event, BLOCK_EVENTS):
            continue
        members = msgspec.to_builtins(event)
        for name in ("seq", "usage", "key", "turn", "wire", "first_block"):
            members.pop(name, None)
        if isinstance(event, TurnFailed):
            members |= {"error": event.error is not None, "text": None}
        for name in ("kept", "dropped", "rejected"):
            for ref in members.get(name, ()):
                if isinstance(ref, dict):
                    ref.pop("block", None)  # the number includes thinking blocks
        plain.append(members)
    broke = plain[-1].get("termination_reason") in ("provider_failed", "incomplete")
    shown = [list(row[1:]) for row in rows(events) if row[1] != "thinking" and (row[1] == "text" or not broke)]
    ids: dict[str, str] = {}
    return [_renamed(member, ids) for member in ({"type": "rows", "rows": shown}, *plain)]


def _renamed(value: Any, ids: dict[str, str]) -> Any:
    """Replace the ids of calls by numbers in order of appearance."""
    if isinstance(value, list):
        return [_renamed(item, ids) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = {}
    for name, item in value.items():
        if name in ("id", "call_id", "tool_use_id") and isinstance(item, str):
            renamed[name] = ids.setdefault(item, f"call {len(ids) + 1}")
        elif name in ("waiting", "results"):
            renamed[name] = [ids.setdefault(id, f"call {len(ids) + 1}") for id in item]
        else:
            renamed[name] = _renamed(item, ids)
    return renamed


def turn_of(provider: Provider, script: Script, **options: Any) -> Turn:
    settings = {"backoff": None, "max_rounds": 30, "acknowledge": acknowledge, **options}
    return Turn(provider, ScriptedTools(script).tools, **settings)


def recorded(id: str, surface: str) -> Skeleton:
    turn = turn_of(Recorded(id, surface), scripts()[id])
    events = at_once(play(turn, opening(scripts()[id], SURFACES[surface], stream=True)))  # type: ignore[arg-type]
    assert_legal(turn)
    return skeleton(events)


def ended(skeletons: Skeleton) -> tuple[str, str]:
    return skeletons[-1]["type"], skeletons[-1]["termination_reason"]


def test_more_than_50_scripts_can_be_played_on_every_wire() -> None:
    assert len(COMMON) > 50
    assert set(OVER_THE_NETWORK) - NOT_ON_EVERY_WIRE <= set(COMMON)


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("id", COMMON)
def test_a_recorded_script_yields_the_same_events_on_every_wire(id: str) -> None:
    """000, Why This Matters; 003, Testing Approach: the same events and rows with every provider."""
    expected = recorded(id, "openai.chat")
    for wire in WIRES:
        assert recorded(id, wire) == expected, wire
    assert ended(expected)[0] in ("turn_complete", "turn_failed")


def emulated(servers: Servers, id: str, surface: str, **options: Any) -> Skeleton:
    async def main() -> Any:
        async with reach(servers, surface) as provider:
            turn = turn_of(provider, scripts()[id], **options)
            return await play(turn, opening(scripts()[id], SURFACES[surface], stream=True))  # type: ignore[arg-type]

    return skeleton(at_once(main()))


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("id", OVER_THE_NETWORK)
def test_an_emulated_provider_yields_the_same_events_as_the_cassette(servers: Servers, id: str) -> None:
    expected = recorded(id, "openai.chat")
    for surface in (*WIRES, *OTHERS):
        if SURFACES[surface].plays(scripts()[id]):
            assert emulated(servers, id, surface) == expected, surface


@pytest.mark.thorough(keep=1, per="{policy}")
@pytest.mark.parametrize("policy", ["first", "all", "batch"])
@pytest.mark.parametrize("limit", [None, 2])
def test_the_calls_kept_by_a_policy_are_the_same_on_every_wire(
    servers: Servers, policy: str, limit: int | None
) -> None:
    skeletons = [emulated(servers, "eight-at-once", wire, policy=policy, limit=limit) for wire in WIRES]
    assert skeletons[0] == skeletons[1] == skeletons[2] == skeletons[3]
    [known, *_] = [event for event in skeletons[0] if event.get("type") == "calls_known"]
    kept, total = (1, 1) if policy == "first" else (limit or 8, 8)  # under `first` the model is asked for one
    assert (len(known["kept"]), len(known["dropped"])) == (kept, total - kept)


@pytest.mark.parametrize(
    ("id", "end"),
    [
        ("every-tool-fails", ("turn_complete", "natural_completion")),
        ("error-rate-limit", ("turn_failed", "provider_failed")),
        ("breaks-off-after-a-call", ("turn_failed", "incomplete")),
    ],
)
def test_the_termination_is_the_same_on_every_wire(id: str, end: tuple[str, str]) -> None:
    assert {wire: ended(recorded(id, wire)) for wire in WIRES} == dict.fromkeys(WIRES, end)
