"""The traffic of a scenario on a surface: its responses, the files that hold them, and excerpts for reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from toolparity.cassettes.chunking import CHUNKINGS, events
from toolparity.cassettes.emulated.script_player import ProviderRefusal
from toolparity.cassettes.errors import UnreadableSource
from toolparity.cassettes.library import RECORDED, load, path_for
from toolparity.cassettes.own_scenarios import of_scenarios
from toolparity.cassettes.scenario_folder import own_folder, own_library
from toolparity.cassettes.scripts import Script
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.errors import ToolparityError
from toolparity.reports import results
from toolparity.reports.results import brief

from ..oracle import oracle
from ..subjects import SubjectExchange
from ..subjects.reference import read_answer
from .broken import broken
from .case import Case, CaseRound
from .generated import generated_pieces, played_rounds
from .scenarios import Scenario, scenarios

#: The maximum lengths of an excerpt and of the canonical blocks, in characters.
_EXCERPT, _BLOCKS = 600, 1200


class TrafficResponse(Struct, frozen=True):
    """One response on a wire.

    ``pieces``: see `conformance.subjects.SubjectExchange`. ``request``: None if it is not known. ``provider``: the
    provider that sent the response, if it is not the surface's own.
    """

    surface: str
    stream: bool
    pieces: list[bytes]
    request: Any
    status: int
    source: str
    provider: str | None = None


@lru_cache(maxsize=64)  # those of one scenario
def responses(scenario: str, surface: str, mode: str) -> list[TrafficResponse]:
    """Return the responses in order, one per round. Raises UnreadableSource if the cassette is missing or invalid.

    The emulated provider plays the user's scenarios that are not recorded.
    """
    played = scenarios()[scenario]
    if played.script is None:
        return [_handwritten(played, surface, mode == "stream")]
    if played.file.generated and played.file.request is None:
        return [_generated(played.script, surface, mode == "stream")]
    if played.file.generated or (
        own_folder() is not None and not _cassette(scenario, surface, mode == "stream").exists()
    ):
        return _played(played.script, surface, mode == "stream")
    return list(_recorded(scenario, surface, mode == "stream"))


of_scenarios(responses)


def _cassette(scenario: str, surface: str, stream: bool) -> Path:
    """Return the path of a cassette: in the user's library if the scenarios are the user's."""
    if own_folder() is None:
        return path_for(surface, scenario, stream=stream)
    return path_for(surface, scenario, stream=stream, root=own_library())


def _played(script: Script, surface_name: str, stream: bool) -> list[TrafficResponse]:
    source = f"scenarios/{script.id}.toml"
    try:
        rounds = list(played_rounds(script, SURFACES[surface_name], stream=stream))
    except ProviderRefusal as error:
        hint = f"record it: toolparity record {script.id} --scenarios {own_folder()} --into {own_library()}"
        raise UnreadableSource(
            f"only a recording has this response: {error.message}", where=source, hint=hint
        ) from None
    return [TrafficResponse(surface_name, stream, pieces, request, 200, source) for request, pieces in rounds]


def _recorded(scenario: str, surface: str, stream: bool) -> Iterator[TrafficResponse]:
    path = _cassette(scenario, surface, stream)
    if not path.exists():
        at = SURFACES[surface]
        hint = f"toolparity record {scenario} --provider {at.provider} --wire {at.wire}"
        raise UnreadableSource("no cassette of this scenario", where=str(path), hint=hint)
    for exchange in load(path).exchanges:
        pieces = exchange.frames if exchange.frames is not None else [exchange.body or b""]
        if exchange.frames is not None and exchange.body is not None:
            pieces = [*exchange.frames, exchange.body]  # the status of a call that ended with an error
        if exchange.stream and exchange.frames is None:
            pieces = events(pieces[0])
        yield TrafficResponse(
            surface, bool(exchange.stream), pieces, exchange.request, exchange.status or 200, str(path)
        )


def _handwritten(scenario: Scenario, surface_name: str, stream: bool) -> TrafficResponse:
    body = next(b for b in scenario.file.bodies if (b.surface, b.stream) == (surface_name, stream))
    surface, file = SURFACES[surface_name], scenario.file
    request = body.request
    if request is None and file.ask:
        request = oracle(surface.wire).request_body(file.ask, file.tools, surface.model, stream=stream)
    pieces = oracle(surface.wire).pieces(body.data, stream=stream)
    source = f"scenarios/{body.file or scenario.id}"
    return TrafficResponse(surface_name, stream, pieces, request, body.status, source, body.provider)


def _generated(script: Script, surface_name: str, stream: bool) -> TrafficResponse:
    surface = SURFACES[surface_name]
    request = oracle(surface.wire).request_body(script.ask, script.tools, surface.model_of(script), stream=stream)
    pieces = generated_pieces(script, surface, request, stream=stream)
    return TrafficResponse(surface_name, stream, pieces, request, 200, f"scenarios/{script.id}.toml")


def repieced(response: TrafficResponse, chunking: str, seed: str) -> list[bytes] | None:
    """Return the same bytes in other pieces, or the pieces up to a cut. None: the response cannot be cut so.

    ``chunking``: a name of `toolparity.cassettes.chunking.CHUNKINGS`, or a cut of `conformance.cases.broken`, whose
    place follows from ``seed``.
    """
    if chunking in CHUNKINGS:
        return CHUNKINGS[chunking](b"".join(response.pieces))
    if not response.stream or response.status >= 400:
        return None
    return broken(SURFACES[response.surface].wire, response.pieces, chunking, seed)


# where the traffic comes from


def source_path(case: Case) -> str:
    """Return the file that holds the traffic of a case, relative to its package."""
    scenario = scenarios()[case.scenario]
    if scenario.script is not None and not scenario.file.generated:
        path = _cassette(case.scenario, case.surface, case.stream)
        if own_folder() is None:
            return f"recorded/{path.relative_to(SURFACES[case.surface].library or RECORDED).as_posix()}"
        if path.exists():
            return path.as_posix()
    bodies = (b for b in scenario.file.bodies if (b.surface, b.stream) == (case.surface, case.stream))
    file = next((body.file for body in bodies), None)
    return f"scenarios/{file or f'{scenario.id}.toml'}"


def sources(cases: Iterable[Case]) -> list[results.EvidenceSource]:
    """Return one source for each cassette and each handwritten body that the cases need, in their order."""
    listed: dict[str, results.EvidenceSource] = {}
    for case in cases:
        path = source_path(case)
        if path in listed:
            continue
        scenario = scenarios()[case.scenario]
        if scenario.script is None or scenario.file.generated:
            listed[path] = results.EvidenceSource(path, "written" if scenario.script is None else "emulated")
            continue
        try:
            provenance = load(_cassette(case.scenario, case.surface, case.stream)).provenance
        except ToolparityError:
            continue  # the verdicts of the cases report it
        sdk = f"{provenance.sdk} {provenance.sdk_version}"
        listed[path] = results.EvidenceSource(
            path, provenance.origin, str(provenance.date), provenance.provider, provenance.model or "", sdk
        )
    return list(listed.values())


# excerpts


def wire_excerpts(case: Case, rounds: Sequence[CaseRound]) -> results.Traffic:
    """Return the wire excerpts of a case: the beginning of each response as text, and its canonical blocks."""
    seen = [
        results.WireExcerpt(
            oracle(round.exchange.wire).excerpt(round.exchange, _EXCERPT),
            sum(map(len, round.exchange.pieces)),
            _blocks(round.exchange),
        )
        for round in rounds
    ]
    return results.Traffic(case.scenario, case.surface, case.mode, seen, source_path(case))


def _blocks(exchange: SubjectExchange) -> str:
    """Return the blocks as this project's normalizer reads them, whichever subject is tested."""
    try:
        response = read_answer(exchange)
    except ToolparityError as error:
        return brief(str(error), _BLOCKS)
    return brief([block for choice in response.choices for block in choice.blocks], _BLOCKS)
