"""Recording of a turn, and its replay: the same inputs must yield the same events and states.

    recorder = record(open("turn.jsonl", "wb"))
    await Turn(provider, tools, observers=[recorder]).run("…")
    difference = replay(open("turn.jsonl", "rb").read()).difference      # None if the replay is identical

A recording consists of JSON lines. The first line contains the state before the first step. Each further line is a
step: the input of the machine (``input``), its events (``events``), and the digest of the state if the step saves
one (``state``). Where a turn was resumed from its last saved state, another line with a state follows
(`log.Log.recording`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ... import json_codec
from ...errors import ToolparityError
from ..errors import InvalidState
from ..events import TurnEvent
from ..machine.effects import Emit, Save
from ..machine.inputs import Begin, Finalize, Input, load_input
from ..machine.state import VERSION as STATE_VERSION
from ..machine.state import TurnState, dump, load
from ..machine.table import step
from ..observer import Observer
from .notes import Phase, phases

#: Version of a recording. 1: the input is the member ``happening``, and the states are those of version 2.
VERSION = 2


class Difference(Struct, frozen=True):
    """The first difference between a recording and its replay.

    ``step``: from 1, the number of the line after the first one. ``place``: the path of the value in that line.
    ``recorded`` and ``found``: the value in the recording and in the replay.
    """

    step: int
    place: str
    recorded: Any
    found: Any


class Replayed(Struct, frozen=True):
    """The result of a replay. ``state``: the last state. ``events``, ``phases``: those before the first difference."""

    state: TurnState
    events: list[TurnEvent]
    phases: list[Phase]
    difference: Difference | None = None


class Recorder(Observer):
    """Observer that writes a recording of a turn to a file. ``state``: the initial state of a turn that is resumed."""

    def __init__(self, file: BinaryIO, state: TurnState | None = None) -> None:
        self._file = file
        self._before = state
        self._headed = False
        self._steps: list[
            dict[str, Any]
        ] = []  # steps not yet written: the last one, and all while the initial state is unknown

    async def input(self, input: Input) -> None:
        """Note the input of the next step. Raises InvalidState if a resumed turn has no initial state."""
        self._flush()
        self._steps.append({"input": input, "events": [], "state": None})
        if not self._headed and self._before is None and not isinstance(input, (Begin, Finalize)):
            raise InvalidState(
                "a turn that had begun is recorded from its state", hint="record(file, state=turn.state)"
            )

    async def keep(self, events: Sequence[TurnEvent], state: TurnState | None) -> None:
        """Note the events and the state of the step, and write it as soon as the initial state is known."""
        if not self._steps:
            return
        self._steps[-1]["events"] = list(events)
        if state is not None:
            self._steps[-1]["state"] = _digest(state)
            if not self._headed and self._before is None:
                # The first step changes none of these fields, so they are the initial state.
                self._before = TurnState(state.id, state.wire, state.request, state.settings)
        self._flush()

    def close(self) -> None:
        """Write the remaining steps and flush the file. The caller closes it."""
        self._flush()
        self._file.flush()

    def _flush(self) -> None:
        if not self._steps or self._before is None:
            return
        if not self._headed:
            self._file.write(head_line(_plain(self._before)))
            self._headed = True
        self._file.writelines(step_line(**one) for one in self._steps)
        self._steps.clear()


def head_line(begins: Any) -> bytes:
    """Return the line before the first step. ``begins``: the initial state, as plain values."""
    return json_codec.encode({"version": VERSION, "begins": begins}) + b"\n"


def step_line(input: Any, events: Sequence[Any], state: str | None) -> bytes:
    """Return the line of a step. ``state``: the SHA-256 digest of the saved state's JSON, None if none was saved."""
    return json_codec.encode({"input": input, "events": events, "state": state}) + b"\n"


def record(file: BinaryIO, state: TurnState | None = None) -> Recorder:
    """Return an observer that records a turn. Close it when the turn is over. For ``state`` see `Recorder`."""
    return Recorder(file, state)


def replay(recording: bytes) -> Replayed:
    """Replay a recording up to the first difference. Raises InvalidState for an invalid recording."""
    head, *lines = recording.splitlines() or [b""]
    state = _begins(head)
    events: list[TurnEvent] = []
    met: list[Phase] = []
    last: TurnState | None = None
    for number, line in enumerate(lines, 1):
        kept = _read(line, number)
        if "begins" in kept:
            before, state = last if last is not None else state, _begins(line)
            expected = replace(before, seq=state.seq, wire=state.wire, request=state.request)
            difference = _difference(_plain(state), _plain(expected), "begins")
            if difference is not None:
                return Replayed(state, events, met, Difference(number, *difference))
            continue
        try:
            input = load_input(kept.get("input", kept.get("happening")))
        except msgspec.ValidationError as error:
            raise InvalidState(f"step {number} has no valid input: {error}") from None
        try:
            state, effects = step(state, input)
        except ToolparityError as error:
            return Replayed(state, events, met, Difference(number, "input", _plain(input), str(error)))
        told = [effect.event for effect in effects if isinstance(effect, Emit)]
        saved = next((effect.state for effect in effects if isinstance(effect, Save)), None)
        last = saved or last
        digest = None if saved is None else _matching_digest(saved, kept.get("state"))
        for place, replayed in (("events", _plain(told)), ("state", digest)):
            difference = _difference(kept.get(place), replayed, place)
            if difference is not None:
                return Replayed(state, events, met, Difference(number, *difference))
        events += told
        met += phases(state, effects)
    return Replayed(state, events, met)


def _begins(line: bytes) -> TurnState:
    head = _read(line, 0)
    version = head.get("version")
    if version not in (1, VERSION):
        raise InvalidState(f"unsupported version of a recording: {version!r}", hint=f"versions up to {VERSION} load")
    return load(json_codec.encode(head.get("begins")))


def _read(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = json_codec.decode(line)
    except ValueError as error:
        raise InvalidState(f"line {number + 1} of the recording is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidState(f"line {number + 1} of the recording is no object")
    return value


def _digest(state: TurnState, version: int = STATE_VERSION) -> str:
    return hashlib.sha256(dump(state, version)).hexdigest()


def _matching_digest(state: TurnState, recorded: Any) -> str:
    """Return the digest of the state, in the form of an earlier version if that is the recorded one."""
    earlier = (_digest(state, version) for version in range(STATE_VERSION, 0, -1))
    return next((digest for digest in earlier if digest == recorded), _digest(state))


def _plain(value: Any) -> Any:
    return json_codec.decode(json_codec.encode(value))


def _difference(recorded: Any, found: Any, place: str) -> tuple[str, Any, Any] | None:
    """Return the path of the first difference and the two values there, None if they are equal."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        for name in [*recorded, *(name for name in found if name not in recorded)]:
            difference = _difference(recorded.get(name), found.get(name), f"{place}.{name}")
            if difference is not None:
                return difference
        return None
    if isinstance(recorded, list) and isinstance(found, list):
        for number, (one, other) in enumerate(zip(recorded, found, strict=False)):
            difference = _difference(one, other, f"{place}[{number}]")
            if difference is not None:
                return difference
        if len(recorded) != len(found):
            return f"{place}: how many", len(recorded), len(found)
        return None
    return None if recorded == found else (place, recorded, found)
