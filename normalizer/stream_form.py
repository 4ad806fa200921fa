"""The form of a stream: `check_stream` compares its events with the grammar of the wire (`wires.grammar`).

The decoder repairs what it can, and its findings say what a client may do with the result. This check repairs nothing.
It reports where a stream departs from the form on which clients rely, whether or not its content can be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

from msgspec import Struct

from . import json_codec
from .model import Wire
from .readers import DEFAULT_MAX_EVENT_BYTES, RAW, Mark, SseReader, sniff, without_mark
from .wires.grammar import Grammar, Unit
from .wires.registry import spec
from .wires.rule import Violation
from .wires.stop_reason import CUTS
from .wires.stop_words import reason_of

#: The indexes of a unit, those of its parent first.
_Key = tuple[int | None, ...]
#: Events that keep a connection alive, which some servers send on every wire, and events that report an error.
SILENT, _ERRORS = frozenset(("ping", "keepalive")), frozenset(("error", "response.error"))
#: The event with which many servers end a stream on any wire.
_DONE = b"[DONE]"
#: Problem of a reader -> what a client that follows the standard makes of it.
_FRAMING = {
    "events-not-separated": "no blank line separates two events, so that clients read them as one event",
    "unterminated-event": "the blank line after the last event is missing, so that clients drop this event",
    "raw-text-in-stream": "the stream has text that belongs to no event",
    "keepalive-in-data": "a keep-alive is the data of an event",
    "empty-event": "the data of an event is empty",
}


class _State(Struct, eq=False):
    """A unit that began. ``start``, ``end``: the event, or the id, that did so. ``endless``: it may have no end."""

    unit: Unit
    key: _Key
    label: str
    start: Any = None
    end: bytes | None = None
    endless: bool = False


class StreamForm:
    """Checks the events of one stream, in their order. ``violations``: those found so far.

    ``framed``: the events are server-sent events, which have names, and a last one that is not JSON on some wires.
    """

    def __init__(self, wire: Wire, *, framed: bool = False) -> None:
        facts = spec(wire)
        grammar = self._grammar = facts.grammar or Grammar("", ())
        self.violations: list[Violation] = []
        self._sentinel = facts.end_of_stream if framed else None
        self._named = grammar.named if framed else ""
        self._units = {unit.name: unit for unit in grammar.units}
        self._words = _of_types(grammar)
        self._steps = {"start": self._start, "within": self._within, "end": self._end}
        self._inner = grammar.types.difference(
            f"{grammar.after} {grammar.units[0].end}".split() if grammar.units else ()
        )
        self._states: dict[tuple[str, _Key], _State] = {}
        self._number = -1
        self._label = ""
        self._counted: int | None = None
        self._failed = self._refused = self._cut = self._closed = self._ended = self._over = False

    def feed(self, name: str | Mark | None, data: bytes) -> None:
        """Check the next event. ``name``: that of a server-sent event, or None."""
        self._number += 1
        if name is RAW or self._failed:
            return
        if data == _DONE:
            self._label = "[DONE]"
            if self._over:
                self._report("event-after-end", "a second [DONE]")
            self._over = True
            return
        event = json_codec.decode_or_text(data)
        if not isinstance(event, dict):
            self._label = "an event"
            self._report("event-json", f"the data is not a JSON object: {data[:60].decode('utf-8', 'replace')}")
            return
        kind, members = self._type_of(event)
        self._label = kind or "a chunk"
        is_named = name == "error" and kind not in self._grammar.types
        self._failed = is_named or kind in _ERRORS or not (kind or event.get("error") is None)
        if self._failed or kind in SILENT:
            return
        self._check_place(kind, name, members)
        self._check_units(kind, members, data)
        number = members.get(self._grammar.counter)
        if isinstance(number, int):
            if self._counted is not None and number <= self._counted:
                self._report("counter", f"{self._grammar.counter} {number} comes after {self._counted}")
            self._counted = number

    def _check_units(self, kind: str, members: dict[str, Any], data: bytes) -> None:
        """Check each part of the stream that an event starts, continues or ends."""
        for unit, step, member in self._words.get(kind, ()):
            for key, holder in _objects(members, unit):
                if member and not _is_set(holder, member):
                    continue
                if None not in key:
                    self._steps[step](unit, key, holder, data)
                elif self._grammar.type or not _is_set(holder, unit.start):
                    # Mistral sends each call in one chunk, without an index.
                    name = _split(unit.keys)[key.index(None) if self._grammar.type else 0]
                    self._report("no-index", f"the event has no {name}, which identifies the {unit.name}")

    def finish(self) -> list[Violation]:
        """Check the end of a stream that should be complete, and return all violations."""
        self._number += 1
        self._label = "the end of the stream"
        response = next(iter(self._grammar.units), None)
        if self._failed or response is None:
            return self.violations
        if not (self._ended or self._refused):
            self._report("terminal-missing", f"{_words_of(response.end)} is missing")
        if self._sentinel and not self._over:
            self._report("terminal-missing", f"{self._sentinel.decode()} is missing")
        for state in self._states.values():
            unended = state.end is None and state.unit.end and state.unit is not response
            if unended and not (state.endless or self._cut):
                self._report("end-missing", f"{state.label} has a start and no end")
        return self.violations

    def _report(self, rule: str, message: str) -> None:
        self.violations.append(Violation(rule, f"events[{self._number}]", f"{self._label}: {message}"))

    def _type_of(self, event: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the type of an event, and the object with its members."""
        if self._grammar.type == "*":
            kind = next((name for name in event if name in self._words), next(iter(event), ""))
            return kind, event[kind] if isinstance(event.get(kind), dict) else event
        kinds = [event[name] for name in self._grammar.type.split() if isinstance(event.get(name), str)]
        return kinds[0] if kinds else "", event

    def _check_place(self, kind: str, name: str | Mark | None, event: dict[str, Any]) -> None:
        """Check what concerns events of all types: their names, and whether one may still come."""
        grammar, response = self._grammar, self._grammar.units[0] if self._grammar.units else Unit("")
        is_due = self._named if name else self._named == "required" and kind in grammar.types
        if name != kind and is_due:
            has = f"the event has the name {name}" if name else "the event has no name, and clients drop it"
            self._report("event-name", f"{has}; the type in its data is {kind or 'missing'}")
        member, *values = grammar.marker or ("",)
        if event.get(member) is not None and event[member] not in values:
            self._report("event-name", f"{member} is {event[member]}, and not {values[0]}")
        self._refused = self._refused or _is_set(event, grammar.refused)
        word = _member(event, grammar.stop)
        self._cut = self._cut or (isinstance(word, str) and reason_of(word) in CUTS)
        if self._over:
            self._report("event-after-end", "the event comes after [DONE]")
        elif self._ended and kind in self._inner:
            self._report("event-after-end", f"the event comes after {_words_of(response.end)}")
        if kind and kind == grammar.closing:
            self._closed = True
            for state in self._states.values():
                if state.end is None and state.unit is not response and not self._cut:
                    self._report("end-missing", f"{state.label} has not ended")
        elif grammar.closing and kind in response.end.split() and not self._closed:
            self._report("end-missing", f"{grammar.closing} is missing before it")

    def _name(self, unit: Unit, key: _Key) -> str:
        """Return a unit in messages, such as "content part 0 of output item 1"."""
        owner = self._units.get(unit.parent)
        if owner is None or not owner.keys:
            return " ".join([unit.name, *map(str, key)])
        known = len(_split(owner.keys))
        return " ".join([unit.name, *map(str, key[known:]), "of", self._name(owner, key[:known])])

    def _of(self, unit: Unit) -> list[_State]:
        return [state for state in self._states.values() if state.unit is unit]

    def _start(self, unit: Unit, key: _Key, holder: dict[str, Any], data: bytes) -> None:
        held, start = self._states.get((unit.name, key)), holder if self._grammar.type else holder.get(unit.start)
        if held is not None and held.start == start:
            self._report("start-repeated", f"{held.label} starts a second time")
            return
        if held is not None:
            self._report("index-repeated", f"another {unit.name} starts with the index of {held.label}")
        due = sum(state.key[:-1] == key[:-1] for state in self._of(unit))
        if unit.numbered and held is None and key[-1] != due:
            self._report("index-order", f"{self._name(unit, key)} starts where the index {due} is due")
        if self._closed:
            self._report("event-after-end", f"{self._name(unit, key)} starts after {self._grammar.closing}")
        for before in self._of(unit) if unit.alone else ():
            if before.end is None:
                self._report("end-missing", f"{self._name(unit, key)} starts before {before.label} has ended")
        self._check_parent(unit, key)
        path, *values = unit.endless or ("",)
        endless = _member(holder, path) in values
        self._states[unit.name, key] = _State(unit, key, self._name(unit, key), start, endless=endless)

    def _within(self, unit: Unit, key: _Key, holder: dict[str, Any], data: bytes) -> None:
        held = self._held(unit, key, holder)
        if held.end is not None:
            self._report("event-after-end", f"{held.label} continues after its end")

    def _end(self, unit: Unit, key: _Key, holder: dict[str, Any], data: bytes) -> None:
        if unit.implied and (unit.name, key) not in self._states:
            self._states[unit.name, key] = _State(unit, key, self._name(unit, key))  # it had no content
        held = self._held(unit, key, holder)
        if held.end is not None:
            # Several providers repeat a finish reason beside the usage: only an equal chunk is a second end.
            if self._grammar.type or held.end == data:
                self._report("end-repeated", f"{held.label} ends a second time")
            return
        held.end = data
        self._ended = self._ended or unit is self._grammar.units[0]
        for state in self._states.values():
            if state.unit.parent == unit.name and state.key[: len(key)] == key and state.end is None and state.unit.end:
                state.end = data  # report it once
                if not (state.endless or self._cut):
                    self._report("end-missing", f"{held.label} ends before {state.label} has ended")

    def _held(self, unit: Unit, key: _Key, holder: dict[str, Any]) -> _State:
        """Return the unit of an event that does not start it, and report a missing start."""
        held = self._states.get((unit.name, key))
        if held is None:
            self._check_parent(unit, key)
            if unit.start and all(_member(holder, path) is None for path in unit.implied.split() or [""]):
                self._report("start-missing", f"{self._name(unit, key)} has not started")
            held = self._states[unit.name, key] = _State(unit, key, self._name(unit, key))
        return held

    def _check_parent(self, unit: Unit, key: _Key) -> None:
        parent = self._units.get(unit.parent)
        if parent is None:
            return
        of_parent = key[: len(parent.keys.split())]
        held = self._states.get((parent.name, of_parent))
        if held is None and parent.start:
            self._report("start-missing", f"{self._name(parent, of_parent)} has not started")
            self._states[parent.name, of_parent] = _State(parent, of_parent, self._name(parent, of_parent))
        elif held is not None and held.end is not None and not self._ended:
            self._report("event-after-end", f"{self._name(unit, key)} belongs to {held.label}, which has ended")


def check_stream(body: bytes, wire: Wire, *, complete: bool = True) -> list[Violation]:
    """Return where a stream departs from the grammar of its wire. ``complete``: whether it should have an end.

    The ``path`` of a violation is the number of the event, such as ``events[7]``, or "" for one of the framing. Raises
    EventTooLarge, and UnknownWire for an unknown wire name. For separate messages, use `StreamForm`.
    """
    body = without_mark(body)
    reader = sniff(body, DEFAULT_MAX_EVENT_BYTES) or SseReader(DEFAULT_MAX_EVENT_BYTES)
    form = StreamForm(wire, framed=isinstance(reader, SseReader))
    for name, data in [*reader.feed(body), *reader.close()]:
        form.feed(name, data)
    found = form.finish() if complete else form.violations
    codes = dict.fromkeys(code for code, _ in reader.problems if code in _FRAMING)
    return [*(Violation(code, "", _FRAMING[code]) for code in codes), *found]


def _objects(event: dict[str, Any], unit: Unit) -> Iterator[tuple[_Key, dict[str, Any]]]:
    """Yield the objects with the members of a unit, each with its key. Entries of the first list may lack an index."""
    if not unit.at:
        yield tuple(_index(event.get(name)) for name in _split(unit.keys)), event
        return
    found: list[tuple[_Key, Any]] = [((), event)]
    for name in _split(unit.at, "."):
        reached = [(key, value.get(name)) for key, value in found if isinstance(value, dict)]
        found = []
        for key, value in reached:
            for entry in value if isinstance(value, list) else ():
                if isinstance(entry, dict):
                    found.append(((*key, _index(entry.get(unit.keys, None if key else 0))), entry))
            if isinstance(value, dict):
                found.append((key, value))
    yield from found


def _index(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _member(holder: Any, path: str) -> Any:
    for name in _split(path, "."):
        holder = holder.get(name) if isinstance(holder, dict) else None
    return holder


@cache
def _of_types(grammar: Grammar) -> dict[str, list[tuple[Unit, str, str]]]:
    """Return each type of events with the units that it concerns, its step there, and the members that show it.

    Starts come before ends. Events without a type have the type "".
    """
    found: dict[str, list[tuple[Unit, str, str]]] = {type: [] for type in grammar.types if grammar.type}
    for step, unit in product(("start", "within", "end"), grammar.units):
        words: str = getattr(unit, step)
        if words and not grammar.type:
            found.setdefault("", []).append((unit, step, words))
        for word in words.split() if grammar.type else ():
            found[word].append((unit, step, ""))
    return found


@cache
def _split(words: str, by: str | None = None) -> list[str]:
    return words.split(by)


def _is_set(holder: dict[str, Any], paths: str) -> bool:
    return any(_member(holder, path) for path in _split(paths))


def _words_of(words: str) -> str:
    return " or ".join(words.split()[:3])
