"""Index of a library's recorded responses, and the choice of the response to a request.

By content: the recorded request that matches (`cassettes.matching`). By scenario, if the client names one: the response
of the round that the request is at, whatever its content, since a program under test may use its own wording. The
model's messages in the request count the rounds: none means the first, and ``previous_response_id`` means the round
after that response. Every response can be served any number of times, with headers that state its source.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Assistant
from toolparity.normalizer.errors import MalformedBody, ToolparityError
from toolparity.normalizer.requests import read_request

from .. import emulation_marker
from ..errors import InvalidProvenance, RequestNotRecorded
from ..library import CassettePath, find, load
from ..library.provenance import is_slug
from ..matching import differences
from ..surfaces import SURFACES, Surface

#: How many differences from the nearest recorded request a message lists.
_TOLD = 8
#: Sent beside `emulation_marker.HEADER`: the cassette's path in the library and the interaction's number.
PLACE_HEADER = "x-toolparity-cassette"
UNKNOWN = "unknown"
#: Providers without a base URL, because their addresses contain the model.
_WITHOUT_BASE = frozenset(("bedrock",))


class RecordedResponse(Struct, frozen=True, dict=True):
    """One recorded response. ``number``: its round, from 0. ``request``, ``response``: plain data as in the cassette.

    ``origin``: from the cassette's provenance, or "unknown".
    """

    scenario: str
    origin: str
    path: str
    number: int
    stream: bool
    request: dict[str, Any]
    response: dict[str, Any]

    @cached_property
    def body(self) -> bytes:
        """The recorded request's body."""
        body = self.request.get("body") or b""
        return body.encode() if isinstance(body, str) else bytes(body)

    @cached_property
    def answer(self) -> bytes:
        """The recorded response's body."""
        held = self.response.get("body")
        body = held.get("string") if isinstance(held, dict) else held
        return body.encode() if isinstance(body, str) else bytes(body or b"")

    @property
    def place(self) -> str:
        return f"{self.path}#{self.number + 1}"

    @cached_property
    def model(self) -> str | None:
        """The model in the recorded request, or None."""
        try:
            asked = json_codec.decode(self.body)
        except ValueError:
            return None
        asked = asked.get("message", asked) if isinstance(asked, dict) else {}
        model = asked.get("model") if isinstance(asked, dict) else None
        return model if isinstance(model, str) else None

    @property
    def told(self) -> dict[str, str]:
        """Headers that state the source of the response."""
        return {emulation_marker.HEADER: self.origin, PLACE_HEADER: quote(self.place, safe="/#")}


class ResponseIndex:
    """Index of recorded responses.

    ``root``: the library; None means the shipped one. ``scenarios``: load only these; if empty, load all. Raises
    UnreadableCassette if a cassette cannot be read.
    """

    def __init__(self, root: str | os.PathLike[str] | None = None, scenarios: Sequence[str] = ()) -> None:
        self._tracks: dict[tuple[str, str], list[RecordedResponse]] = {}
        for place in find(root):
            if place.name is not None and (not scenarios or place.name in scenarios):
                self._tracks.setdefault((str(place.provider), str(place.wire)), []).extend(_tracks(place))

    def __len__(self) -> int:
        """Return the number of responses that have an address."""
        return sum(len(self._of(surface)) for surface in self.surfaces)

    @cached_property
    def surfaces(self) -> tuple[Surface, ...]:
        """The surfaces with an address: ours, and other providers' with recorded responses on one of our wires."""
        ours = {(surface.provider, surface.wire): surface for surface in SURFACES.values()}
        alike: dict[str, Surface] = {}
        for surface in SURFACES.values():
            alike.setdefault(surface.wire, surface)
        others = [
            alike[wire]._replace(name=f"{provider}/{wire}", provider=provider)
            for provider, wire in self._tracks
            if (provider, wire) not in ours
            and wire in alike
            and not alike[wire].by_messages
            and is_slug(provider)
            and provider not in _WITHOUT_BASE
        ]
        return (*ours.values(), *others)

    @property
    def unserved(self) -> dict[str, int]:
        """The number of responses without an address, by "provider/wire"."""
        served = {(surface.provider, surface.wire) for surface in self.surfaces}
        return {"/".join(key): len(tracks) for key, tracks in self._tracks.items() if key not in served}

    @property
    def origins(self) -> list[str]:
        """The origin of each response that has an address."""
        return [track.origin for surface in self.surfaces for track in self._of(surface)]

    def models(self, provider: str) -> list[str]:
        """Return the models in a provider's recorded requests, sorted."""
        tracks = [track for (whose, _), held in self._tracks.items() if whose == provider for track in held]
        return sorted({track.model for track in tracks if track.model is not None})

    @property
    def scenarios(self) -> list[str]:
        """All scenario names that a client can request."""
        return sorted({track.scenario for tracks in self._tracks.values() for track in tracks})

    def find(self, surface: Surface, body: bytes, *, stream: bool, scenario: str | None = None) -> RecordedResponse:
        """Return the response to a request. Raises RequestNotRecorded with the nearest request and the differences."""
        tracks = [track for track in self._of(surface) if track.stream is stream]
        if scenario is not None:
            tracks = [track for track in tracks if track.scenario == scenario]
            if not tracks:
                raise self._no_scenario(scenario, surface, stream)
        ranked = []
        for track in tracks:
            found = list(differences(track.body, body, rpc=surface.by_messages))
            if not found:
                return track
            ranked.append((len(found), track.place, track, found))
        if scenario is not None:
            return _round(tracks, surface, body)
        raise _unrecorded(surface, stream, min(ranked, key=lambda one: one[:2], default=None))

    def _of(self, surface: Surface) -> list[RecordedResponse]:
        return self._tracks.get((surface.provider, surface.wire), [])

    def _no_scenario(self, scenario: str, surface: Surface, stream: bool) -> RequestNotRecorded:
        names = self.scenarios
        if scenario in names:
            mode = "streamed" if stream else "plain"
            return RequestNotRecorded(f"the scenario {scenario} was not recorded {mode}", where=surface.name)
        what = f"no scenario is called {scenario!r}; there are {', '.join(names)}"
        return RequestNotRecorded(what, where=surface.name)


def _tracks(place: CassettePath) -> Iterable[RecordedResponse]:
    loaded = load(place.path)
    try:
        told: str = loaded.provenance.origin
    except InvalidProvenance:
        told = UNKNOWN
    for number, one in enumerate(loaded.interactions):
        yield RecordedResponse(
            str(place.name), told, place.shown, number, place.stream, one["request"], one["response"]
        )


def _round(tracks: list[RecordedResponse], surface: Surface, body: bytes) -> RecordedResponse:
    """Return the response of the request's round, which is the number of model messages so far."""
    try:
        value = json_codec.decode(body)
        value = value["message"] if surface.by_messages else value
        spoken = _spoken(value, surface)
    except (ToolparityError, ValueError, KeyError, TypeError) as error:
        raise RequestNotRecorded(f"the request cannot be read: {error}", where=surface.name) from None
    before = value.get("previous_response_id")
    if isinstance(before, str):
        name = json_codec.encode(before)
        spoken += next((track.number + 1 for track in tracks if name in track.answer), 0)
    for track in tracks:
        if track.number == spoken:
            return track
    told = f"the scenario {tracks[0].scenario} has {len(tracks)} rounds, and the request is at round {spoken + 1}"
    raise RequestNotRecorded(told, where=surface.name)


def _spoken(value: Any, surface: Surface) -> int:
    """Count the model's messages in a request. Raises ToolparityError if its messages cannot be read."""
    try:
        request = read_request(value, surface.wire, provider=surface.provider)
    except MalformedBody:
        if isinstance(value, dict) and value.get("messages") is None:
            return 0
        raise
    return sum(isinstance(turn, Assistant) for turn in request.messages)


def _unrecorded(surface: Surface, stream: bool, nearest: Any) -> RequestNotRecorded:
    mode = "streamed" if stream else "plain"
    if nearest is None:
        return RequestNotRecorded(f"no {mode} answer of {surface.name} is in the library", where=surface.name)
    count, place, _, found = nearest
    told = "; ".join(str(one) for one in found[:_TOLD]) + ("; …" if count > _TOLD else "")
    return RequestNotRecorded(f"not recorded. The nearest request, {place}, differs in {told}", where=surface.name)


__all__ = ["ResponseIndex", "RecordedResponse"]
