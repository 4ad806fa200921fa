"""Recording of a turn, and its replay: the same inputs must yield the same events and states.

    recorder = record(open("turn.jsonl", "wb"))
    await Turn(provider, tools, observers=[recorder]).run("…")
    difference = replay(open("turn.jsonl", "rb").read()).difference      # None if the replay is identical

A recording consists of JSON lines. The first line contains the state before the first step. Each further line is a
step: the input of the machine (``input``), its events (``events``), the digest of the state that was saved with it
(``state``), and the seconds since the recording began (``at``). A log saves only the last state of steps that it writes
together. Where a turn was resumed from its last saved state, another line with a state follows (`log.Log.recording`).

`replay` repeats the steps of the state machine. `rerun.rerun` repeats the whole turn, with its coordinator, context and
dispatcher. For it, a recorder passed as ``telemetry=recorder.boundary``, too, adds a line for each request as it was
sent (``request``) and for each run of a tool, fallbacks included (``run``). `replay` skips these lines.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import ToolparityError

from ..errors import InvalidState
from ..events import TurnEvent
from ..machine.effects import Emit, Save
from ..machine.inputs import Begin, Finalize, Input, load_input
from ..machine.state import VERSION as STATE_VERSION
from ..machine.state import TurnState, dump, load
from ..machine.table import step
from ..observer import Observer
from .boundary import Boundary
from .notes import Phase, phases

#: Version of a recording. 1: the input is the member ``happening``, and the states are those of version 2.
VERSION = 2


class ReplayDifference(Struct, frozen=True):
    """The first difference between a recording and its replay.

    ``step``: from 1, the number of the line after the first one. ``path``: of the value in that line. ``recorded`` and
    ``replayed``: the value in the recording and in the replay.
    """

    step: int
    path: str
    recorded: Any
    replayed: Any


class Replayed(Struct, frozen=True):
    """The result of a replay. ``state``: the last state. ``events``, ``phases``: those before the first difference."""

    state: TurnState
    events: list[TurnEvent]
    phases: list[Phase]
    difference: ReplayDifference | None = None


class RecordingObserver(Observer):
    """Observer that writes a recording of a turn to a file. ``state``: the initial state of a turn that is resumed.

    ``boundary``: the option ``telemetry`` of a turn whose requests and runs of tools are recorded, too. ``clock``:
    returns seconds; that of a coordinator with a time limit, if it has another one.
    """

    def __init__(
        self, file: BinaryIO, state: TurnState | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._file = file
        self._clock = clock
        self._begin = clock()
        self._initial = state
        self._has_head = False
        self.boundary = Boundary(
            lambda request: self._lines.append(_line({"request": request})),
            lambda finished: self._lines.append(_line({"run": finished})),
        )
        self._lines: list[bytes] = []  # of requests and runs, not yet written
        # Steps not yet written: the last one, and all while the initial state is unknown.
        self._steps: list[dict[str, Any]] = []

    async def input(self, input: Input) -> None:
        """Note the input of the next step. Raises InvalidState if a resumed turn has no initial state."""
        self._flush()
        at = round(self._clock() - self._begin, 6)
        self._steps.append({"input": input, "events": [], "state": None, "at": at})
        if not self._has_head and self._initial is None and not isinstance(input, (Begin, Finalize)):
            raise InvalidState("a resumed turn is recorded from its state", hint="record(file, state=turn.state)")

    async def record(self, events: Sequence[TurnEvent], state: TurnState | None) -> None:
        """Note the events and the state of the step, and write it as soon as the initial state is known."""
        if not self._steps:
            return
        self._steps[-1]["events"] = list(events)
        if state is not None:
            self._steps[-1]["state"] = _digest(state)
            if not self._has_head and self._initial is None:
                self._initial = state.initial
        self._flush()

    def close(self) -> None:
        """Write the remaining steps and flush the file. The caller closes it."""
        self._flush()
        self._file.flush()

    def _flush(self) -> None:
        if not (self._steps or self._lines) or self._initial is None:
            return
        if not self._has_head:
            self._file.write(head_line(plain(self._initial)))
            self._has_head = True
        self._file.writelines(step_line(**step) for step in self._steps)
        self._steps.clear()
        self._file.writelines(self._lines)
        self._lines.clear()


def head_line(begins: Any) -> bytes:
    """Return the line before the first step. ``begins``: the initial state, as plain values."""
    return _line({"version": VERSION, "begins": begins})


def step_line(input: Any, events: Sequence[Any], state: str | None, at: float | None = None) -> bytes:
    """Return the line of a step. ``state``: the SHA-256 digest of the saved state's JSON, None if none was saved.

    ``at``: the seconds since the recording began, None if they are not known.
    """
    seconds = {} if at is None else {"at": at}
    return _line({"input": input, "events": events, "state": state, **seconds})


def _line(value: dict[str, Any]) -> bytes:
    return json_codec.encode(value) + b"\n"


def record(
    file: BinaryIO, state: TurnState | None = None, *, clock: Callable[[], float] = time.monotonic
) -> RecordingObserver:
    """Return an observer that records a turn. Close it when the turn is over. For the arguments see it."""
    return RecordingObserver(file, state, clock=clock)


def replay(recording: bytes) -> Replayed:
    """Replay a recording up to the first difference. Raises InvalidState for an invalid recording."""
    lines = lines_of(recording)
    state = initial_state(next(lines)[1])
    replayed = Replayed(state, [], [])
    saved: TurnState | None = None
    for number, recorded in lines:
        if "request" in recorded or "run" in recorded:
            continue
        if "begins" in recorded:
            before, state = saved if saved is not None else state, initial_state(recorded)
            resumed = replace(before, seq=state.seq, wire=state.wire, request=state.request)
            difference = first_difference(plain(state), plain(resumed), "begins")
            if difference is not None:
                return replace(replayed, state=state, difference=ReplayDifference(number, *difference))
            continue
        input = input_of(recorded, number)
        try:
            state, effects = step(state, input)
        except ToolparityError as error:
            difference = "input", plain(input), str(error)
            return replace(replayed, state=state, difference=ReplayDifference(number, *difference))
        events = [effect.event for effect in effects if isinstance(effect, Emit)]
        kept = next((effect.state for effect in effects if isinstance(effect, Save)), None)
        saved = kept or saved
        difference = first_difference(recorded.get("events"), plain(events), "events")
        if recorded.get("state") is not None:
            digest = None if kept is None else _matching_digest(kept, recorded["state"])
            difference = difference or first_difference(recorded["state"], digest, "state")
        if difference is not None:
            return replace(replayed, state=state, difference=ReplayDifference(number, *difference))
        replayed.events.extend(events)
        replayed.phases.extend(phases(state, effects))
    return replace(replayed, state=state)


def lines_of(recording: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines of a recording with their numbers, from 0. Raises InvalidState for a line that is not valid."""
    for number, line in enumerate(recording.splitlines() or [b""]):
        yield number, _decoded(line, number)


def initial_state(head: dict[str, Any]) -> TurnState:
    """Return the state in the first line of a recording, or where a turn was resumed. Raises InvalidState."""
    version = head.get("version")
    if version not in (1, VERSION):
        raise InvalidState(f"unknown version of a recording: {version!r}", hint=f"this program reads up to {VERSION}")
    return load(json_codec.encode(head.get("begins")))


def _decoded(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = json_codec.decode(line)
    except ValueError as error:
        raise InvalidState(f"line {number + 1} of the recording is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidState(f"line {number + 1} of the recording is not an object")
    return value


def input_of(recorded: dict[str, Any], number: int) -> Input:
    """Return the input of a step. Raises InvalidState."""
    try:
        return load_input(recorded.get("input", recorded.get("happening")))
    except msgspec.ValidationError as error:
        raise InvalidState(f"step {number} of the recording has no valid input: {error}") from None


def _digest(state: TurnState, version: int = STATE_VERSION) -> str:
    return hashlib.sha256(dump(state, version)).hexdigest()


def _matching_digest(state: TurnState, recorded: Any) -> str:
    """Return the digest of the state, in the form of an earlier version if that is the recorded one."""
    digests = (_digest(state, version) for version in range(STATE_VERSION, 0, -1))
    return next((digest for digest in digests if digest == recorded), _digest(state))


def plain(value: Any) -> Any:
    """Return the value as a recording contains it."""
    return json_codec.decode(json_codec.encode(value))


def first_difference(recorded: Any, replayed: Any, path: str) -> tuple[str, Any, Any] | None:
    """Return the path of the first difference and the two values there, None if they are equal."""
    if isinstance(recorded, dict) and isinstance(replayed, dict):
        for name in [*recorded, *(name for name in replayed if name not in recorded)]:
            difference = first_difference(recorded.get(name), replayed.get(name), f"{path}.{name}")
            if difference is not None:
                return difference
        return None
    if isinstance(recorded, list) and isinstance(replayed, list):
        for index, (old, new) in enumerate(zip(recorded, replayed, strict=False)):
            difference = first_difference(old, new, f"{path}[{index}]")
            if difference is not None:
                return difference
        lengths = len(recorded), len(replayed)
        return (f"{path}: number of items", *lengths) if lengths[0] != lengths[1] else None
    return None if recorded == replayed else (path, recorded, replayed)
