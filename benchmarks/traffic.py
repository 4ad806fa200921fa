"""Generated traffic: one answer with three parallel calls, plain and streamed, as the emulated provider sends it.

The content is invented. Members, their order, whitespace and padding are those of the real servers, because the speed
of a reader depends on them. A stream has about 300 events: text first, then the calls, with their arguments in
fragments where the provider sends fragments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, NamedTuple

from toolparity import Wire
from toolparity.normalizer.wires.registry import WIRES, spec

#: The least number of events in a stream.
EVENTS = 300


class Call(NamedTuple):
    """A call that every reader must find."""

    id: str
    name: str
    arguments: dict[str, Any]


_IDS = ("call_Qm3vYt8LhRk2XwZc5NpB7sDf", "call_a9TgJx4EoVu1MiKy6WbHq0Cr", "call_Zs2PnL7dFw5GeAj8UvRt3OxI")
_CITIES = (("Lisbon", 17), ("Reykjavik", 4), ("Nairobi", 14))
_PROSE = (
    "I will look at the weather of the three cities first, and then write one short report for each of them, "
    "so that you can send them out before the meeting on Monday. The figures come from the same service as last "
    "week; where a station was silent, the report says so instead of guessing. "
)
TEXT = "I'll check the weather in all three cities."


def expected(stream: bool) -> list[Call]:
    """Return the calls in a body or a stream."""
    if not stream:
        given = [{"location": city, "unit": "celsius", "days": days} for city, days in _CITIES]
        return [Call(id, "get_weather", arguments) for id, arguments in zip(_IDS, given, strict=True)]
    return [Call(id, "write_report", _report(*place)) for id, place in zip(_IDS, _CITIES, strict=True)]


def _report(city: str, low: int) -> dict[str, Any]:
    lines = [
        f"Temperatures in {city} stayed between {low} and {low + 9} degrees.",
        "Rain is expected on two of the seven days, mostly in the evening.",
        "The wind comes from the north west, with gusts on Thursday.",
    ]
    path = f"reports/{city.lower()}/weekly.md"
    return {"path": path, "title": f"The week in {city}", "lines": lines, "overwrite": True, "mode": low}


def body(wire: Wire) -> bytes:
    """Return the body of a short answer."""
    return sent(wire, TEXT, expected(stream=False), stream=False)[0]


@cache
def frames(wire: Wire) -> list[bytes]:
    """Return the events of a stream, or the messages of xai.grpc: the shortest text that brings enough of them."""
    words = re.findall(r"\S+ ", _PROSE) * 12
    calls = expected(stream=True)
    low, high = 1, len(words)
    while low < high:
        middle = (low + high) // 2
        enough = len(sent(wire, "".join(words[:middle]), calls, stream=True)) >= EVENTS
        low, high = (low, middle) if enough else (middle + 1, high)
    return sent(wire, "".join(words[:low]), calls, stream=True)


def stream(wire: Wire) -> bytes:
    """Return the bytes of a stream."""
    return b"".join(frames(wire))


def sent(wire: Wire, text: str, calls: Iterable[Call], *, stream: bool) -> list[bytes]:
    """Return the answer that an emulated provider sends: a body alone, or the events of a stream."""
    # Imported only here: a process that counts instructions gets its traffic from another one.
    from toolparity.cassettes.emulated.provider import scripted
    from toolparity.cassettes.recorder.script_driver import opened
    from toolparity.cassettes.scripts import Round, Say, ScriptedCall
    from toolparity.cassettes.surfaces import surface

    parts = [ScriptedCall(call.name, call.arguments, id=call.id) for call in calls]
    return opened(scripted(Round([Say(text), *parts])), surface(wire), stream=stream).sent(stream=stream)


#: The wires with JSON: name -> (body, stream).
JSON_WIRES: dict[Wire, tuple[Callable[[], bytes], Callable[[], bytes]]] = {
    wire: (partial(body, wire), partial(stream, wire)) for wire in WIRES if spec(wire).framing != "messages"
}


def payloads(stream: bytes) -> list[bytes]:
    """Return the JSON payloads of a stream's events."""
    if stream.startswith(b"{"):
        return stream.splitlines()
    if stream.startswith(b"\0"):
        return [message[12 + int.from_bytes(message[4:8], "big") : -4] for message in events(stream)]
    return re.findall(rb"^data: ?(\{.*?)\r?$", stream, re.MULTILINE)


def pieces(stream: bytes, size: int) -> list[bytes]:
    """Split a stream into pieces of ``size`` bytes."""
    return [stream[start : start + size] for start in range(0, len(stream), size)]


def events(stream: bytes) -> list[bytes]:
    """Split a stream into its events: server-sent events, JSON lines, or messages of an AWS event stream."""
    if stream.startswith(b"{"):
        return stream.splitlines(keepends=True)
    if stream.startswith(b"\0"):
        found, start = [], 0
        while start < len(stream):
            end = start + int.from_bytes(stream[start : start + 4], "big")
            found.append(stream[start:end])
            start = end
        return found
    return re.findall(rb"(?s).+?\n\r?\n", stream)
