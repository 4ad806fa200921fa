"""Index of a library's recorded responses, and the choice of the response to a request.

By content: the recorded request that matches (`cassettes.matching`). By scenario, if the client names one: the response
of the round that the request is at, whatever its content, since a program under test may use its own wording. The
model's messages in the request count the rounds: none means the first, and ``previous_response_id`` means the round
after that response. Every response can be served any number of times, with headers that state its source.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Assistant
from toolparity.normalizer.errors import MalformedBody, ToolparityError
from toolparity.normalizer.requests import read_request

from .. import emulation_marker
from ..emulated.encoding import encoding
from ..emulated.improvised import improvised
from ..emulated.script_player import ConnectionReset, Play, ProviderRefusal, StoredAnswers, play
from ..errors import InvalidProvenance, RequestNotRecorded
from ..library import CassettePath, find, load
from ..library.provenance import is_slug
from ..matching import BodyDifference, differences
from ..scripts import Script
from ..surfaces import SURFACES, Surface

#: How many differences from the nearest recorded request a message lists.
_LISTED = 8
#: Sent beside `emulation_marker.HEADER`: the cassette's path in the library and the interaction's number.
PLACE_HEADER = "x-toolparity-cassette"
UNKNOWN = "unknown"
#: The model in the path of a request.
_IN_PATH = re.compile(r"/models?/(?P<model>.+?)(?:/converse(?:-stream)?|/invoke[a-z-]*|:\w+)$")
#: Providers without a base URL, because their addresses contain the model.
_WITHOUT_BASE = frozenset(("bedrock",))


#: Members of a request's body that do not count.
Ignored = frozenset[str]
NOTHING: Ignored = frozenset()


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
    def location(self) -> str:
        return f"{self.path}#{self.number + 1}"

    @cached_property
    def model(self) -> str | None:
        """The model in the recorded request, or None."""
        if in_path := _IN_PATH.search(urlsplit(str(self.request.get("uri") or "")).path):
            return unquote(in_path["model"])
        try:
            request = json_codec.decode(self.body)
        except ValueError:
            return None
        request = request.get("message", request) if isinstance(request, dict) else {}
        model = request.get("model") if isinstance(request, dict) else None
        return model if isinstance(model, str) else None

    @property
    def source_headers(self) -> dict[str, str]:
        """Headers that state the source of the response."""
        return {emulation_marker.HEADER: self.origin, PLACE_HEADER: quote(self.location, safe="/#")}


class ResponseIndex:
    """Index of recorded responses.

    ``root``: the library; None means the shipped one. ``scenarios``: load only these; if empty, load all. ``scripts``:
    by id, what the emulated providers play over HTTP if no recorded request has the words of a script. ``improvises``:
    they make up responses to all other requests. Raises UnreadableCassette if a cassette cannot be read.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        scenarios: Sequence[str] = (),
        scripts: Mapping[str, Script] = MappingProxyType({}),
        *,
        improvises: bool = False,
    ) -> None:
        self._scripts = scripts
        self._improvises = improvises
        self._responses: dict[tuple[str, str], list[RecordedResponse]] = {}
        for file in find(root):
            if file.name is not None and (not scenarios or file.name in scenarios):
                self._responses.setdefault((str(file.provider), str(file.wire)), []).extend(_responses_in(file))

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
            for provider, wire in self._responses
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
        return {"/".join(key): len(responses) for key, responses in self._responses.items() if key not in served}

    @property
    def origins(self) -> list[str]:
        """The origin of each response that has an address."""
        return [recorded.origin for surface in self.surfaces for recorded in self._of(surface)]

    def count(self, surface: Surface) -> int:
        """Return the number of responses of a surface."""
        return len(self._of(surface))

    def models(self, provider: str) -> list[str]:
        """Return the models in a provider's recorded requests, sorted."""
        models = {
            recorded.model
            for (recorded_provider, _), responses in self._responses.items()
            if recorded_provider == provider
            for recorded in responses
        }
        return sorted(model for model in models if model is not None)

    @property
    def scenarios(self) -> list[str]:
        """All scenario names that a client can request."""
        recorded = {recorded.scenario for responses in self._responses.values() for recorded in responses}
        return sorted(recorded | self._scripts.keys())

    def add(self, file: CassettePath) -> None:
        """Add the responses of a cassette, in place of those that the index has from this file."""
        kept = [
            known for known in self._responses.get((str(file.provider), str(file.wire)), []) if known.path != file.shown
        ]
        self._responses[str(file.provider), str(file.wire)] = [*kept, *_responses_in(file)]

    def match(
        self, surface: Surface, body: bytes, *, stream: bool, scenario: str | None = None, ignored: Ignored = NOTHING
    ) -> RecordedResponse | None:
        """Return the response to the recorded request that has the same meaning, or None.

        ``ignored``: members of the body that do not count.
        """
        for recorded in self._candidates(surface, stream, scenario):
            if next(_compared(recorded, body, surface, ignored), None) is None:
                return recorded
        return None

    def find(
        self, surface: Surface, body: bytes, *, stream: bool, scenario: str | None = None, ignored: Ignored = NOTHING
    ) -> RecordedResponse:
        """Return the response to a request: see `match`, else that of its round of the scenario, else of a script.

        Raises RequestNotRecorded with the nearest request and the differences.
        """
        if (played := self._played(surface, body, stream, scenario)) is not None:
            return played
        candidates = self._candidates(surface, stream, scenario)
        ranked = []
        for recorded in candidates:
            found = list(_compared(recorded, body, surface, ignored))
            if not found:
                return recorded
            ranked.append((len(found), recorded.location, found))
        if scenario is not None:
            return _round(candidates, surface, body)
        raise _unrecorded(surface, stream, min(ranked, key=lambda entry: entry[:2], default=None))

    def _played(self, surface: Surface, body: bytes, stream: bool, scenario: str | None) -> RecordedResponse | None:
        """Return what the emulated provider answers to a request with the words of a script, None for another one."""
        if surface.by_messages or SURFACES.get(surface.name) != surface or scenario not in (None, *self._scripts):
            return None
        scripts = self._scripts if scenario is None else {scenario: self._scripts[scenario]}
        stored = StoredAnswers()
        try:
            value = json_codec.decode(body)
            if self._improvises and scenario is None:
                request = read_request(value, surface.wire, provider=surface.provider)
                made_up = improvised(request)
                scripts = {**scripts, made_up.id: made_up}  # the last, so that the others go first
                if (before := request.previous_response_id) is not None:
                    stored.keep(before, Play(surface, made_up, -1, made_up.rounds[0], request, value))
            played = play(surface, value, stored, scripts)
            content = b"".join(played.sent(stream=stream))
        except (ProviderRefusal, ConnectionReset, ToolparityError, ValueError):
            return None
        kind = encoding(surface).stream_type if stream else "application/json"
        headers = {name: [value] for name, value in surface.emulation.headers(played).items()}
        response = {
            "status": {"code": 200},
            "headers": {**headers, "content-type": [kind]},
            "body": {"string": content},
        }
        id = played.script.id
        return RecordedResponse(id, emulation_marker.EMULATED, f"script/{id}", played.number, stream, {}, response)

    def _candidates(self, surface: Surface, stream: bool, scenario: str | None) -> list[RecordedResponse]:
        """Return the responses of a mode, or raise RequestNotRecorded if the scenario has none."""
        candidates = [recorded for recorded in self._of(surface) if recorded.stream is stream]
        if scenario is not None:
            candidates = [recorded for recorded in candidates if recorded.scenario == scenario]
            if not candidates:
                raise self._no_scenario(scenario, surface, stream)
        return candidates

    def _of(self, surface: Surface) -> list[RecordedResponse]:
        return self._responses.get((surface.provider, surface.wire), [])

    def _no_scenario(self, scenario: str, surface: Surface, stream: bool) -> RequestNotRecorded:
        names = self.scenarios
        if scenario in names:
            mode = "streamed" if stream else "plain"
            return RequestNotRecorded(f"the scenario {scenario} was not recorded {mode}", where=surface.name)
        hint = f"one of {', '.join(names)}"
        return RequestNotRecorded(f"unknown scenario: {scenario!r}", where=surface.name, hint=hint)


def _responses_in(file: CassettePath) -> Iterable[RecordedResponse]:
    loaded = load(file.path)
    try:
        origin: str = loaded.provenance.origin
    except InvalidProvenance:
        origin = UNKNOWN
    for number, interaction in enumerate(loaded.interactions):
        yield RecordedResponse(
            str(file.name), origin, file.shown, number, file.stream, interaction["request"], interaction["response"]
        )


def _compared(recorded: RecordedResponse, body: bytes, surface: Surface, ignored: Ignored) -> Iterator[BodyDifference]:
    if ignored:
        return differences(_without(recorded.body, ignored), _without(body, ignored))
    return differences(recorded.body, body, rpc=surface.by_messages)


@lru_cache(maxsize=512)  # a request is compared with every recorded one
def _without(body: bytes, members: Ignored) -> bytes:
    try:
        value = json_codec.decode(body)
    except ValueError:
        return body
    if not isinstance(value, dict):
        return body
    return json_codec.encode({name: member for name, member in value.items() if name not in members})


def _round(candidates: list[RecordedResponse], surface: Surface, body: bytes) -> RecordedResponse:
    """Return the response of the request's round, which is the number of model messages so far."""
    try:
        value = json_codec.decode(body)
        value = value["message"] if surface.by_messages else value
        round = _answers_before(value, surface)
    except (ToolparityError, ValueError, KeyError, TypeError) as error:
        raise RequestNotRecorded(f"the request cannot be read: {error}", where=surface.name) from None
    before = value.get("previous_response_id")
    if isinstance(before, str):
        name = json_codec.encode(before)
        round += next((recorded.number + 1 for recorded in candidates if name in recorded.answer), 0)
    for recorded in candidates:
        if recorded.number == round:
            return recorded
    scenario, rounds = candidates[0].scenario, len(candidates)
    what = f"the scenario {scenario} has {rounds} rounds, and the request is at round {round + 1}"
    raise RequestNotRecorded(what, where=surface.name)


def _answers_before(value: Any, surface: Surface) -> int:
    """Count the model's messages in a request. Raises ToolparityError if its messages cannot be read."""
    try:
        request = read_request(value, surface.wire, provider=surface.provider)
    except MalformedBody:
        if isinstance(value, dict) and not (value.get("messages") or value.get("contents")):
            return 0
        raise
    return sum(isinstance(turn, Assistant) for turn in request.messages)


def _unrecorded(surface: Surface, stream: bool, nearest: Any) -> RequestNotRecorded:
    mode = "streamed" if stream else "plain"
    if nearest is None:
        return RequestNotRecorded(f"the library has no {mode} response of {surface.name}", where=surface.name)
    count, location, found = nearest
    listed = "; ".join(str(difference) for difference in found[:_LISTED]) + ("; …" if count > _LISTED else "")
    what = f"not recorded. The nearest request, {location}, differs in {listed}"
    return RequestNotRecorded(what, where=surface.name)


__all__ = ["ResponseIndex", "RecordedResponse"]
