"""The repetition of a recorded turn with its coordinator, context and dispatcher, up to the first difference.

    def make(provider, **options):
        return Coordinator(provider, tools, limits=limits, context=context, **options)

    (await rerun(recording, make)).difference   # None if it sends the same requests and emits the same events

The provider answers as recorded, and the tools return their recorded results without running. All else is the code of
today: a change of the limits, the context, the fallbacks or the tools shows as a difference.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from toolparity.normalizer.conversation import Request
from toolparity.normalizer.model import ApprovalRequest, ToolCall

from ..backoff import DEFAULT, Backoff
from ..events import TurnEvent
from ..machine.inputs import CallDecided
from ..machine.state import TurnState
from ..turn import Turn
from .coordinator import Coordinator
from .recorded import RecordedProvider, RecordedResults, Segment, segments_of
from .recording import first_difference, plain

#: Makes the turn, with the options that it gets.
Make = Callable[..., Turn | Coordinator]

#: Events that repeat the recorded answers, or depend on the time that a tool or a hook takes.
_NOT_COMPARED = ("block_start", "block_delta", "block_reset", "block_settled", "call_progress", "acknowledged")
#: Members that depend on how an answer was cut into chunks, or on the time.
_LEFT_OUT = ("seq", "sequence", "first_block")
_PHASES = ("reasoning", "tool_execution", "synthesis", "final_response")


class RerunDifference(Struct, frozen=True):
    """The first difference between a recorded turn and its repetition.

    ``kind``: a phase of the coordinator, another event, or a request to the provider. ``name``: of the phase or the
    type of the event. ``round``: 0 before the first one. ``path``: of the value, "" if the whole is missing on one side
    or has another name. ``recorded`` and ``repeated``: the value in the recording and now, None if it is missing.
    """

    kind: Literal["phase", "event", "request"]
    round: int
    name: str
    path: str
    recorded: Any
    repeated: Any


class Rerun(Struct, frozen=True):
    """The result of a repetition. ``events`` and ``requests``: all of it, also after the first difference."""

    state: TurnState
    events: list[TurnEvent]
    requests: list[Request]
    difference: RerunDifference | None = None


async def rerun(recording: bytes, make: Make, *, backoff: Backoff | None = DEFAULT) -> Rerun:
    """Repeat the turn of a recording (`recording.record`, `log.Log.recording`) and compare it with what was recorded.

    ``make(provider, **options)`` returns the coordinator or turn, and passes on the options, which are ``id`` or
    ``state``, ``approve``, ``backoff``, ``fallback`` and ``telemetry``. With a time limit, it also passes
    ``clock=provider.clock``, which returns the recorded time (a log has none). Nothing waits for ``backoff``. Not
    compared are the order of parallel calls, progress, acknowledgements, and what follows after a turn was cancelled.
    Raises InvalidState for an invalid recording.
    """
    repeated: Rerun | None = None
    waits_not = replace(backoff, sleep=lambda seconds: asyncio.sleep(0)) if backoff is not None else None
    for segment in segments_of(recording):
        events: list[TurnEvent] = []
        requests: list[Request] = []
        state = await _repeat(segment, make, waits_not, events, requests)
        before = (repeated.events, repeated.requests) if repeated is not None else ([], [])
        difference = _first_difference(segment, events, requests)
        repeated = Rerun(state, [*before[0], *events], [*before[1], *requests], difference)
        if difference is not None:
            break
    assert repeated is not None  # a recording has a first line
    return repeated


async def _repeat(
    segment: Segment, make: Make, backoff: Backoff | None, events: list[TurnEvent], requests: list[Request]
) -> TurnState:
    """Repeat one segment, and add its events and requests to the lists. Return the state at its end."""
    state = segment.state
    begins = state.phase == "new"

    def approve(call: ToolCall | ApprovalRequest) -> bool | str | None:
        decided = segment.decisions.get(call.id)
        return None if decided is None else decided.approved or decided.reason or False

    options: dict[str, Any] = {"id": state.id} if begins else {"state": state}
    provider = RecordedProvider(segment)
    telemetry = RecordedResults(segment, requests, provider.clock)
    options |= {"approve": approve, "backoff": backoff, "fallback": provider.fallback, "telemetry": telemetry}
    driver = make(provider, **options)
    turn = driver.turn if isinstance(driver, Coordinator) else driver
    message: Request | None = None
    if begins:  # the turn declares its tools itself
        others = [tool for tool in state.request.tools if tool.name not in turn.tools]
        message = replace(state.request, tools=others)
    while True:
        async for event in driver.stream(message):
            events.append(event)
        message = None
        if not _supply(turn, segment):
            return turn.state


def _supply(turn: Turn, segment: Segment) -> bool:
    """Supply the recorded decisions and results for the calls that the turn waits for. Return whether there is one."""
    waiting = turn.outcome.waiting if turn.state.phase != "over" else []
    recorded = [input for call in waiting if (input := segment.later.pop(call.id, None)) is not None]
    for input in recorded:
        if isinstance(input, CallDecided):
            turn.decide(input.call_id, input.approved, input.reason)
        else:
            turn.answer(input.call_id, input.result)
    return bool(recorded)


class _Item(Struct, frozen=True):
    kind: Literal["phase", "event", "request"]
    round: int
    name: str
    value: dict[str, Any]


def _first_difference(segment: Segment, events: list[TurnEvent], requests: list[Request]) -> RerunDifference | None:
    compared = requests if segment.requests is not None else []
    recorded = list(_items(segment.events, segment.requests or []))
    repeated = list(_items((plain(event) for event in events), compared))
    for old, new in zip_longest(recorded, repeated[: len(recorded)]):  # a segment may have ended with its process
        if new is None or (old.kind, old.name) != (new.kind, new.name):
            values = [each and {"name": each.name, **each.value} for each in (old, new)]
            return RerunDifference(old.kind, old.round, old.name, "", *values)
        difference = first_difference(old.value, new.value, old.name)
        if difference is not None:
            return RerunDifference(old.kind, old.round, old.name, *difference)
    return None


def _items(events: Iterable[dict[str, Any]], requests: list[Request]) -> Iterator[_Item]:
    """Yield what is compared: each request follows the event of its round, and the events of calls follow the answer.

    Those of each call come together, because parallel calls have no order.
    """
    items: list[tuple[dict[str, Any], _Item]] = []
    calls: dict[str, list[_Item]] = {}
    round = 0
    for event in events:
        round = event.get("round", round)
        item = _item(event, round)
        call = _call_of(event)
        if item is not None and call is not None:
            calls.setdefault(call, []).append(item)
        elif item is not None:
            items.append((event, item))
    left = iter(requests)
    for event, item in items:
        yield item
        if event["type"] == "round_started" and (request := next(left, None)) is not None:
            yield _Item("request", item.round, "request", plain(request))
        elif event["type"] == "calls_known":
            for ref in (*event["kept"], *event["dropped"], *event["rejected"]):
                yield from calls.pop(ref["id"], ())
    for later in calls.values():  # calls of an answer that another segment contains
        yield from later


def _item(event: dict[str, Any], round: int) -> _Item | None:
    kind = event["type"]
    if kind in _NOT_COMPARED or (kind == "block_stop" and event["block"]["block_type"] != "tool_result"):
        return None
    value = {name: member for name, member in event.items() if name not in (*_LEFT_OUT, "type")}
    if kind == "block_stop":
        value["block"] = {name: member for name, member in event["block"].items() if name not in _LEFT_OUT}
    if kind != "noted":
        return _Item("event", round, kind, value)
    note = value.pop("note")
    if note in ("retry", "recovery"):  # its wait has a random part
        value["data"] = {name: member for name, member in value["data"].items() if name != "seconds"}
    return _Item("phase" if note in _PHASES else "event", round, note, value)


def _call_of(event: dict[str, Any]) -> str | None:
    """Return the id of the call that an event belongs to, None for an event of the turn."""
    if event["type"] == "noted":
        data = event.get("data") or {}
        return data.get("call_id") or data.get("call")
    if event["type"] == "block_stop":
        content = event["block"].get("content")
        return content.get("tool_use_id") if isinstance(content, dict) else None
    return event.get("call_id")
