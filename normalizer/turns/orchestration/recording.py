"""A turn, recorded as it happens and run again step by step: the same happenings, events and states.

    recorder = record(open("turn.jsonl", "wb"))
    await Turn(provider, tools, observers=[recorder]).run("…")
    difference = replay(open("turn.jsonl", "rb").read()).difference      # null where all is the same

JSON lines. The first holds the state before the first step; each further one a step: what the machine was told
(``happening``), what it told (``events``), and a digest of the state wherever that was to be kept (``state``). Where a
turn was gone on with from the state that was kept last, another first line stands between (`log.Log.recording`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, BinaryIO, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ... import json_codec
from ...errors import InvalidState, ToolparityError
from ..effects import Save, Tell
from ..events import TurnEvent
from ..happenings import Begun, Bounded, Happening
from ..machine import step
from ..observer import Observer
from ..state import TurnState, dump, load
from .messages import Phase, phases

VERSION = 1


class Difference(Struct, frozen=True):
    """``step``: counted from 1, as the lines behind the first. ``place``: where in it. What stood there, and stands."""

    step: int
    place: str
    recorded: Any
    found: Any


class Replayed(Struct, frozen=True):
    """``state``: the last one. ``events`` and ``phases``: of all steps up to the first difference."""

    state: TurnState
    events: list[TurnEvent]
    phases: list[Phase]
    difference: Difference | None = None


class Recorder(Observer):
    """Writes a turn to a file as it happens. ``state``: what it begins with, where it has begun before."""

    def __init__(self, file: BinaryIO, state: TurnState | None = None) -> None:
        self._file = file
        self._before = state
        self._headed = False
        self._steps: list[
            dict[str, Any]
        ] = []  # that are not written: the last one, and all before it is known what began

    async def happened(self, happening: Happening) -> None:
        """Take the next step down; what comes of it follows."""
        self._flush()
        self._steps.append({"happening": happening, "events": [], "state": None})
        if not self._headed and self._before is None and not isinstance(happening, (Begun, Bounded)):
            raise InvalidState(
                "a turn that had begun is recorded from its state", hint="record(file, state=turn.state)"
            )

    async def keep(self, events: Sequence[TurnEvent], state: TurnState | None) -> None:
        """What came of the step."""
        if not self._steps:
            return
        self._steps[-1]["events"] = list(events)
        if state is not None:
            self._steps[-1]["state"] = _digest(state)
            if not self._headed and self._before is None:
                # Beginning changes neither of these: so this is what it began with.
                self._before = TurnState(state.id, state.wire, state.request, state.settings)
        self._flush()

    def close(self) -> None:
        """Write what is left. The file stays open: it is the caller's."""
        self._flush()
        self._file.flush()

    def _flush(self) -> None:
        if not self._steps or self._before is None:
            return
        if not self._headed:
            self._file.write(head_line(json_codec.decode(dump(self._before))))
            self._headed = True
        self._file.writelines(step_line(**one) for one in self._steps)
        self._steps.clear()


def head_line(begins: Any) -> bytes:
    """The line in front of the first step. ``begins``: the state, as plain values."""
    return json_codec.encode({"version": VERSION, "begins": begins}) + b"\n"


def step_line(happening: Any, events: Sequence[Any], state: str | None) -> bytes:
    """The line of a step. ``state``: the digest (SHA-256 of its JSON) of the one that was kept."""
    return json_codec.encode({"happening": happening, "events": events, "state": state}) + b"\n"


def record(file: BinaryIO, state: TurnState | None = None) -> Recorder:
    """An observer that records a turn. Close it when the turn is over."""
    return Recorder(file, state)


def replay(recording: bytes) -> Replayed:
    """Run it again, up to the first difference. Raises InvalidState for what is no recording."""
    head, *lines = recording.splitlines() or [b""]
    state = _begins(head)
    events: list[TurnEvent] = []
    met: list[Phase] = []
    last: TurnState | None = None
    for number, line in enumerate(lines, 1):
        kept = _read(line, number)
        if "begins" in kept:
            state, before = _begins(line), last if last is not None else state
            found = replace(before, seq=state.seq, wire=state.wire, request=state.request)
            difference = _difference(kept["begins"], json_codec.decode(dump(found)), "begins")
            if difference is not None:
                return Replayed(state, events, met, Difference(number, *difference))
            continue
        try:
            happening = cast(Happening, msgspec.convert(kept.get("happening"), Happening))
        except msgspec.ValidationError as error:
            raise InvalidState(f"step {number} holds no happening: {error}") from None
        try:
            state, effects = step(state, happening)
        except ToolparityError as error:
            return Replayed(state, events, met, Difference(number, "happening", kept["happening"], str(error)))
        told = [effect.event for effect in effects if isinstance(effect, Tell)]
        saved = next((effect.state for effect in effects if isinstance(effect, Save)), None)
        last = saved or last
        now = {"events": json_codec.decode(json_codec.encode(told)), "state": None if saved is None else _digest(saved)}
        for place in ("events", "state"):
            difference = _difference(kept.get(place), now[place], place)
            if difference is not None:
                return Replayed(state, events, met, Difference(number, *difference))
        events += told
        met += phases(state, effects)
    return Replayed(state, events, met)


def _begins(line: bytes) -> TurnState:
    head = _read(line, 0)
    if head.get("version") != VERSION:
        raise InvalidState(f"version {head.get('version')!r} of a recording", hint=f"this program reads {VERSION}")
    return load(json_codec.encode(head.get("begins")))


def _read(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = json_codec.decode(line)
    except ValueError as error:
        raise InvalidState(f"line {number + 1} of the recording is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidState(f"line {number + 1} of the recording is no object")
    return value


def _digest(state: TurnState) -> str:
    return hashlib.sha256(dump(state)).hexdigest()


def _difference(recorded: Any, found: Any, place: str) -> tuple[str, Any, Any] | None:
    """The first place where two values differ."""
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
