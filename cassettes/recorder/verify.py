"""Verification of a library, as CI runs it: each file must pass the checks in `STEPS`, in order.

No part of a file is trusted before the step that checks it, so a hostile file yields a `CassetteProblem` rather than
raising. A step that cannot be judged is listed as open, with the reason: an earlier step failed, or an imported
cassette lacks the data.
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

RECORD_AGAIN = "record it again: toolparity record --rerecord --into LIBRARY"


class CassetteProblem(Struct, frozen=True):
    """A defect of a cassette. ``step``: the step that found it. ``fault``: the step itself failed, judging nothing.

    ``unread``: the file cannot be read.
    """

    step: str
    location: str
    what: str
    hint: str = ""
    fault: bool = False
    unread: bool = False

    def __str__(self) -> str:
        return f"{self.location}: {self.step}: {self.what}" + (f" ({self.hint})" if self.hint else "")


class VerifiedCassette(Struct):
    """The verdict on one cassette. ``origin`` is None if unknown. ``open``: step -> why it was not judged."""

    file: CassettePath
    origin: Origin | None = None
    passed: list[str] = field(default_factory=list)
    open: dict[str, str] = field(default_factory=dict)
    problems: list[CassetteProblem] = field(default_factory=list)


class NotApplicable(Exception):
    """Raised by a step that does not apply to this cassette."""


class CassetteCheck:
    """A cassette under verification. Each part is first read by the step that checks it, then used by later steps."""

    def __init__(self, file: CassettePath) -> None:
        self.file = file
        self.where = file.shown

    @property
    def loaded(self) -> Cassette:
        return files.load(self.file.path)

    @property
    def provenance(self) -> Provenance:
        return self.loaded.provenance

    @property
    def script(self) -> Script:
        """The shipped script of the cassette's scenario. Raises NotApplicable if there is none."""
        if self.provenance.scenario is None:
            raise NotApplicable("imported without a scenario")
        script = scripts().get(self.provenance.scenario)
        if script is None:
            raise NotApplicable("its scenario is unknown")
        return script


Check = Callable[[CassetteCheck], Iterable[str | ToolparityError]]


class Step(Struct, frozen=True):
    """One check. ``shows``: what it proves. ``judge`` yields or raises defects. ``needs``: required earlier steps."""

    name: str
    shows: str
    judge: Check
    needs: tuple[str, ...] = ("readable", "provenance")


def _readable(subject: CassetteCheck) -> Iterator[str]:
    path, root = subject.file.path, subject.file.root
    home = os.path.realpath(root)
    if os.path.commonpath([home, os.path.realpath(path)]) != home:
        raise UnreadableCassette("the file is a link to a place outside the library", where=subject.where)
    loaded = subject.loaded
    if not loaded.interactions:
        yield "it has no interactions"
    _ = loaded.requests, loaded.responses


def _provenance(subject: CassetteCheck) -> Iterator[str]:
    _ = subject.provenance
    return iter(())


def _place(subject: CassetteCheck) -> Iterator[str]:
    provenance, file = subject.provenance, subject.file
    name = provenance.scenario or file.name or ""
    try:
        path = files.file_for(provenance.provider, provenance.wire, name, provenance.stream, file.root)
    except UnreadableCassette as error:
        yield error.what
        return
    if path != file.path:
        yield f"its provenance requires the path {path.relative_to(file.root).as_posix()}"


def _digest(subject: CassetteCheck) -> Iterator[str]:
    provenance = subject.provenance
    if subject.loaded.digest != provenance.digest:
        yield f"its interactions were changed: their digest is {subject.loaded.digest}, not that of the provenance"
    if provenance.seal is None:
        yield "its provenance has no seal, so changes cannot be detected"
    elif provenance.seal != provenance.sealing:
        yield f"its provenance was changed: its seal should be {provenance.sealing}"


def _origin(subject: CassetteCheck) -> Iterator[str]:
    yield from emulation_marker.contradictions(subject.provenance.origin, subject.loaded.responses)


def _scrubbed(subject: CassetteCheck) -> Iterator[ToolparityError]:
    for check in (scrubbed, scanned):
        try:
            check(subject.file.path)
        except SecretsLeft as error:
            yield error


def _scenario(subject: CassetteCheck) -> Iterator[str]:
    provenance = subject.provenance
    if provenance.scenario is None:
        raise NotApplicable("imported without a scenario")
    script = scripts().get(provenance.scenario)
    if script is None:
        yield f"unknown scenario: {provenance.scenario!r}"
        return
    if script.hash != provenance.scenario_hash:
        hashes = f"its hash was {provenance.scenario_hash}, now {script.hash}"
        yield f"the scenario has changed since the recording: {hashes}"
    if provenance.surface is not None and not SURFACES[provenance.surface].plays(script):
        yield f"the surface {provenance.surface} cannot play the scenario"


def _decodes(subject: CassetteCheck) -> Iterator[str]:
    called_for = expected(subject.script) if subject.provenance.scenario in scripts() else frozenset(("*",))
    for number, response in enumerate(decoded(subject.loaded), 1):
        for finding in response.findings:
            if finding.severity == "error" and not _is_expected(finding.code, called_for):
                yield f"interaction {number}: {finding.code}: {finding.message}"


def _replays(subject: CassetteCheck) -> Iterator[str]:
    if subject.provenance.scenario is None:
        raise NotApplicable("imported without a scenario: no request to send again")
    from .replay import replay

    replay(subject.file.path)
    return iter(())


STEPS: tuple[Step, ...] = (
    Step("readable", "plain YAML of a cassette, inside the library, within the size limits", _readable, ()),
    Step("provenance", "complete: origin, date, user, client, scenario", _provenance, ("readable",)),
    Step("place", "the path matches the provenance", _place),
    Step("digest", "the interactions and the provenance are unchanged", _digest),
    Step("origin", "responses of emulated providers are marked, and no others", _origin),
    Step("scrubbed", "scrubbing again changes nothing, and the scanner finds no secret", _scrubbed, ("readable",)),
    Step("scenario", "its scenario is known and has not changed", _scenario),
    Step("decodes", "the normalizer decodes it, without errors that the scenario does not cause", _decodes),
    Step("replays", "through the official SDK with the network blocked, every interaction played", _replays),
)

_HINTS = {
    "readable": "delete it, or restore it from version control",
    "provenance": RECORD_AGAIN,
    "place": "move it to that path",
    "digest": f"restore it from version control, or {RECORD_AGAIN}",
    "origin": RECORD_AGAIN,
    "scrubbed": f"revoke the secret, then {RECORD_AGAIN}",
    "scenario": RECORD_AGAIN,
    "decodes": "see toolparity cassettes show",
    "replays": RECORD_AGAIN,
}


def verify_one(file: CassettePath, steps: tuple[Step, ...] = STEPS) -> VerifiedCassette:
    """Return the verdict on one cassette. Never raises because of a file's content."""
    verdict = VerifiedCassette(file)
    subject = CassetteCheck(file)
    for step in steps:
        missing = [name for name in step.needs if name not in verdict.passed]
        if missing:
            verdict.open[step.name] = f"not {missing[0]}"
            continue
        problems = []
        try:
            problems = [_problem(step, subject, defect) for defect in step.judge(subject)]
        except NotApplicable as reason:
            verdict.open[step.name] = str(reason)
            continue
        except ToolparityError as error:
            problems = [_problem(step, subject, error)]
        except ModuleNotFoundError:  # the command names the extra
            raise
        except Exception as error:  # a failing step is a bug in toolparity and does not stop the others
            what = f"the step failed: {type(error).__name__}: {error}"
            problems = [CassetteProblem(step.name, subject.where, what, fault=True)]
        verdict.problems.extend(problems)
        if not problems:
            verdict.passed.append(step.name)
        if step.name == "provenance" and not problems:
            verdict.origin = subject.provenance.origin
    return verdict


def decoded(loaded: Cassette) -> list[Response]:
    """Decode every interaction. Raises UnreadableSource if one has another shape."""
    surface = surface_for(loaded.provenance)
    try:
        return [response_of(exchange, surface.wire, surface.provider) for exchange in loaded.exchanges]
    except (LookupError, TypeError, AttributeError) as error:
        what = f"an interaction has an unexpected shape: {type(error).__name__}: {error}"
        raise UnreadableSource(what, where=os.fspath(loaded.path)) from None


def surface_for(provenance: Provenance) -> Surface:
    """Return the surface of a cassette; for an imported one of an unknown provider, a surface with the same wire."""
    known = SURFACES.get(provenance.surface or "") or surface_of(provenance.provider, provenance.wire)
    if known is not None:
        return known
    alike = next(surface for surface in SURFACES.values() if surface.wire == provenance.wire)
    return alike._replace(provider=provenance.provider)


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


def _problem(step: Step, subject: CassetteCheck, defect: str | ToolparityError) -> CassetteProblem:
    hint = _HINTS.get(step.name, "")
    if not isinstance(defect, ToolparityError):
        return CassetteProblem(step.name, subject.where, defect, hint)
    path, where = os.fspath(subject.file.path), defect.where
    file = where.replace(path, subject.where) if path in where else subject.where
    what = defect.what if path in where or not where or where == subject.where else f"{where}: {defect.what}"
    return CassetteProblem(step.name, file, what, defect.hint or hint)
