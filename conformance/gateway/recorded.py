"""The recorded responses of a case, as the upstream sends them and as the laws see them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from toolparity.cassettes.surfaces import SURFACES

from ..cases.broken import CUTS
from ..cases.case import Case
from ..cases.scenarios import scenarios
from ..cases.traffic import TrafficResponse, repieced, responses
from ..subjects import SubjectExchange
from .holding import hold_of
from .upstream import Served

#: The scenarios whose first stream is held back until the client gets its beginning.
_HELD = ("parallel-three",)


def recorded_responses(case: Case, chunking: str | None) -> list[TrafficResponse]:
    """Return the responses of a case in other pieces; of a cut only the first one, or none if it cannot be cut."""
    recorded = responses(case.scenario, case.surface, case.mode)
    if chunking is None:
        return list(recorded)
    if chunking in CUTS:
        recorded = recorded[:1]
    seeds = (f"{case.scenario}/{case.surface}/{number}" for number in range(len(recorded)))
    pieced = [(response, repieced(response, chunking, seed)) for response, seed in zip(recorded, seeds, strict=True)]
    return [replace(response, pieces=pieces) for response, pieces in pieced if pieces is not None]


def served_response(case: Case, response: TrafficResponse, number: int = 0, chunking: str | None = None) -> Served:
    """Return what the upstream sends as the response ``number`` of a case."""
    surface, hold, streamed = SURFACES[case.surface], None, []
    if case.stream and case.scenario in _HELD and not (number or chunking or surface.by_messages):
        hold = hold_of(surface.wire, response.provider or surface.provider, response.pieces)
    if not case.stream and _is_equal_streamed(case, number):
        streamed = responses(case.scenario, case.surface, "stream")[number].pieces
    stream = case.stream and (response.stream or response.status >= 400)  # an error is plain for a stream, too
    return Served(surface.wire, stream, response.pieces, response.status, streamed, hold)


def _is_equal_streamed(case: Case, number: int) -> bool:
    """Return whether the stream of the scenario has the content of the plain response."""
    scenario = scenarios()[case.scenario]
    if "stream" not in scenario.modes(case.surface):
        return False
    plain, streamed = (scenario.expected(case.surface, number, stream=stream) for stream in (False, True))
    return plain == streamed


def closing_response(surface: str, *, stream: bool) -> Served:
    """Return a response with text only, for a request whose response is not judged."""
    mode = "stream" if stream else "plain"
    response = responses("text-only", surface, mode)[0]
    return Served(SURFACES[surface].wire, response.stream, response.pieces, response.status)


def exchange_of(case: Case, response: TrafficResponse, request: Any) -> SubjectExchange:
    """Return the exchange with the upstream. ``request``: what a correct gateway sends, or None."""
    surface = SURFACES[case.surface]
    return SubjectExchange(
        wire=surface.wire,
        provider=response.provider or surface.provider,
        stream=response.stream,
        pieces=response.pieces,
        policy=case.policy,
        request=request,
        status=response.status,
    )
