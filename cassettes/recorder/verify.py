"""Verification of a library, as CI runs it: each file must pass the checks in `STEPS`, in order.

No part of a file is trusted before the step that checks it, so a hostile file yields a `CassetteProblem` rather than raising. A
step that cannot be judged is listed as open, with the reason: an earlier step failed, or an imported cassette lacks the
data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct, field

from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.model import Response

from .. import emulation_marker
from ..errors import SecretsLeft, UnreadableCassette, UnreadableSource
from ..library import files
from ..library.files import Cassette, CassettePath
from ..library.provenance import Origin, Provenance
from ..library.writing import scanned, scrubbed
from ..scripts import Script, scripts
from ..sources.decoding import response_of
from ..surfaces import SURFACES, Surface, surface_of
from .replay import replay

RECORD_AGAIN = "record it again: toolparity record --rerecord --into LIBRARY"


class CassetteProblem(Struct, frozen=True):
    """A defect of a cassette. ``step``: the step that found it. ``fault``: the step itself failed, judging nothing."""

    step: str
    place: str
    what: str
    hint: str = ""
    fault: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.step}: {self.what}" + (f" ({self.hint})" if self.hint else "")


class VerifiedCassette(Struct):
    """The verdict on one cassette. ``origin`` is None if unknown. ``open``: step -> why it was not judged."""

    place: CassettePath
    origin: Origin | None = None
    passed: list[str] = field(default_factory=list)
    open: dict[str, str] = field(default_factory=dict)
    problems: list[CassetteProblem] = field(default_factory=list)


class NotApplicable(Exception):
    """Raised by a step that does not apply to this cassette."""


class CassetteCheck:
    """A cassette under verification. Each part is first read by the step that checks it, then used by later steps."""

    def __init__(self, place: CassettePath) -> None:
        self.place = place
        self.where = place.shown

    @property
    def loaded(self) -> Cassette:
        return files.load(self.place.path)

    @property
    def told(self) -> Provenance:
        return self.loaded.provenance

    @property
    def script(self) -> Script:
        """The shipped script of the cassette's scenario. Raises NotJudged if there is none."""
        if self.told.scenario is None:
            raise NotApplicable("imported, of no scenario")
        found = scripts().get(self.told.scenario)
        if found is None:
            raise NotApplicable("its scenario is not known")
        return found


Check = Callable[[CassetteCheck], Iterable[str | ToolparityError]]


class Step(Struct, frozen=True):
    """One check. ``shows``: what it proves. ``judge`` yields or raises defects. ``needs``: required earlier steps."""

    name: str
    shows: str
    judge: Check
    needs: tuple[str, ...] = ("readable", "provenance")


def _readable(subject: CassetteCheck) -> Iterator[str]:
    path, root = subject.place.path, subject.place.root
    home = os.path.realpath(root)
    if os.path.commonpath([home, os.path.realpath(path)]) != home:
        raise UnreadableCassette("it is a link that leads out of the library", where=subject.where)
    loaded = subject.loaded
    if not loaded.interactions:
        yield "it holds no interaction"
    _ = loaded.requests, loaded.responses


def _provenance(subject: CassetteCheck) -> Iterator[str]:
    _ = subject.told
    return iter(())


def _place(subject: CassetteCheck) -> Iterator[str]:
    told, place = subject.told, subject.place
    name = told.scenario or place.name or ""
    try:
        path = files.file_for(told.provider, told.wire, name, told.stream, place.root)
    except UnreadableCassette as error:
        yield error.what
        return
    if path != place.path:
        yield f"by its provenance it belongs at {path.relative_to(place.root).as_posix()}"


def _digest(subject: CassetteCheck) -> Iterator[str]:
    told = subject.told
    if subject.loaded.digest != told.digest:
        yield f"its interactions were changed: {subject.loaded.digest} is not what its provenance says"
    if told.seal is None:
        yield "its provenance is not sealed: any of it could have been changed"
    elif told.seal != told.sealing:
        yield f"its provenance was changed: {told.sealing} is not its seal"


def _origin(subject: CassetteCheck) -> Iterator[str]:
    yield from emulation_marker.contradictions(subject.told.origin, subject.loaded.responses)


def _scrubbed(subject: CassetteCheck) -> Iterator[ToolparityError]:
    for gate in (scrubbed, scanned):
        try:
            gate(subject.place.path)
        except SecretsLeft as error:
            yield error


def _scenario(subject: CassetteCheck) -> Iterator[str]:
    told = subject.told
    if told.scenario is None:
        raise NotApplicable("imported, of no scenario")
    script = scripts().get(told.scenario)
    if script is None:
        yield f"no scenario is called {told.scenario!r}"
        return
    if script.hash != told.scenario_hash:
        yield f"its scenario has changed since it was recorded: {script.hash} is not {told.scenario_hash}"
    if told.surface is not None and not SURFACES[told.surface].plays(script):
        yield f"{told.surface} cannot say what the scenario says"


def _decodes(subject: CassetteCheck) -> Iterator[str]:
    called_for = expected(subject.script) if subject.told.scenario in scripts() else frozenset(("*",))
    for number, response in enumerate(decoded(subject.loaded), 1):
        for finding in response.findings:
            if finding.severity == "error" and not _is_expected(finding.code, called_for):
                yield f"interaction {number}: {finding.code}: {finding.message}"


def _replays(subject: CassetteCheck) -> Iterator[str]:
    if subject.told.scenario is None:
        raise NotApplicable("imported, of no scenario: there is no request to send again")
    replay(subject.place.path)
    return iter(())


STEPS: tuple[Step, ...] = (
    Step("readable", "plain YAML of a cassette, inside the library, within the caps", _readable, ()),
    Step("provenance", "complete: origin, date, who, with what, which scenario", _provenance, ("readable",)),
    Step("place", "it stands where its provenance says", _place),
    Step("digest", "the interactions and the provenance are those that were recorded", _digest),
    Step("origin", "nothing that our emulated servers said passes for anybody else's, nor the reverse", _origin),
    Step("scrubbed", "scrubbing again changes nothing, and the scanner finds no secret", _scrubbed, ("readable",)),
    Step("scenario", "its scenario is known and has not changed since", _scenario),
    Step("decodes", "the normalizer reads it, and nothing is broken that the scenario does not break", _decodes),
    Step("replays", "through the official SDK with the network cut, every interaction played", _replays),
)

_HINTS = {
    "readable": "delete it, or restore it from version control",
    "provenance": RECORD_AGAIN,
    "place": "move it there",
    "digest": f"restore it from version control, or {RECORD_AGAIN}",
    "origin": RECORD_AGAIN,
    "scrubbed": f"revoke the secret, then {RECORD_AGAIN}",
    "scenario": RECORD_AGAIN,
    "decodes": "see toolparity cassettes show",
    "replays": RECORD_AGAIN,
}


def verify_one(place: CassettePath, steps: tuple[Step, ...] = STEPS) -> VerifiedCassette:
    """Return the verdict on one cassette. Never raises because of a file's content."""
    verdict = VerifiedCassette(place)
    subject = CassetteCheck(place)
    for step in steps:
        missing = [name for name in step.needs if name not in verdict.passed]
        if missing:
            verdict.open[step.name] = f"not {missing[0]}"
            continue
        problems = []
        try:
            problems = [_problem(step, subject, found) for found in step.judge(subject)]
        except NotApplicable as reason:
            verdict.open[step.name] = str(reason)
            continue
        except ToolparityError as error:
            problems = [_problem(step, subject, error)]
        except Exception as error:  # a failing step is a bug of ours and does not stop the others
            what = f"the step failed: {type(error).__name__}: {error}"
            problems = [CassetteProblem(step.name, subject.where, what, fault=True)]
        verdict.problems.extend(problems)
        if not problems:
            verdict.passed.append(step.name)
        if step.name == "provenance" and not problems:
            verdict.origin = subject.told.origin
    return verdict


def decoded(loaded: Cassette) -> list[Response]:
    """Decode every interaction. Raises UnreadableSource if one has another shape."""
    surface = surface_for(loaded.provenance)
    try:
        return [response_of(exchange, surface.wire, surface.provider) for exchange in loaded.exchanges]
    except (LookupError, TypeError, AttributeError) as error:
        what = f"an interaction is of another shape: {type(error).__name__}: {error}"
        raise UnreadableSource(what, where=os.fspath(loaded.path)) from None


def surface_for(told: Provenance) -> Surface:
    """Return the surface of a cassette; for an imported one of an unknown provider, a surface with the same wire."""
    found = SURFACES.get(told.surface or "") or surface_of(told.provider, told.wire)
    if found is not None:
        return found
    alike = next(surface for surface in SURFACES.values() if surface.wire == told.wire)
    return alike._replace(provider=told.provider)


def expected(script: Script) -> frozenset[str]:
    """Return the codes of error findings that a script causes. "arguments-*" matches every code with that prefix."""
    codes: set[str] = set()
    for round in script.rounds:
        if round.fault is not None:
            codes.add("error-response")
            if round.fault.after is not None:
                codes |= {"stream-incomplete", "stream-error", "raw-text-in-stream", "arguments-truncated"}
        if round.ending is not None:
            codes |= {"arguments-truncated", "provider-rejected-call"}
        if any(call.arguments_text is not None for call in round.calls):
            codes |= {"arguments-*", "provider-rejected-call"}
    return frozenset(codes)


def _is_expected(code: str, called_for: frozenset[str]) -> bool:
    return code in called_for or "*" in called_for or f"{code.partition('-')[0]}-*" in called_for


def _problem(step: Step, subject: CassetteCheck, found: str | ToolparityError) -> CassetteProblem:
    hint = _HINTS.get(step.name, "")
    if not isinstance(found, ToolparityError):
        return CassetteProblem(step.name, subject.where, found, hint)
    path, where = os.fspath(subject.place.path), found.where
    place = where.replace(path, subject.where) if path in where else subject.where
    what = found.what if path in where or not where or where == subject.where else f"{where}: {found.what}"
    return CassetteProblem(step.name, place, what, found.hint or hint)
