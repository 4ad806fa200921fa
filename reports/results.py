"""Results of a run of the suite: the data that every report is rendered from.

This module is independent of the suite. The JSON schema of `Run` is published as `reports/results.schema.json`.

    Run -> subjects, laws, scenarios        what was tested, and against what
        -> results: one per case and subject -> verdicts: one per law; rounds: output of the subject
        -> traffic: one per scenario, surface and mode -> content of the wire
        -> sources                          provenance of the traffic
        -> kills                            which law failed which known-bad subject
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from shlex import quote
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from toolparity.normalizer import json_codec

from .reproduction import Reproduction
from .versions import LibraryHistory

FORMAT = "toolparity-results/3"
#: Older formats that are still read. Format 2 has no roles of subjects; format 1 has ``told`` in place of ``rounds``.
FORMAT_2, FORMAT_1 = "toolparity-results/2", "toolparity-results/1"
FORMATS = (FORMAT, FORMAT_2, FORMAT_1)

_Kind = TypeVar("_Kind")

#: Excludes negative numbers, NaN and infinity.
Seconds = Annotated[float, Meta(ge=0, le=1e12)]
Number = Annotated[int, Meta(ge=0)]

Outcome = Literal["pass", "fail", "error", "stale", "new", "expected", "unsupported"]

#: Outcome -> meaning, in the order of reports, worst first.
OUTCOMES: dict[Outcome, str] = {
    "error": "The harness failed, or its input is faulty.",
    "fail": "The subject breaks the law.",
    "stale": "An expected failure passed: the baseline is out of date.",
    "new": "The subject breaks the law in a case that is not required before the next release.",
    "expected": "The subject breaks the law, as the baseline expects.",
    "unsupported": "The subject does not claim what the law needs, or the suite cannot judge it fairly yet.",
    "pass": "The subject keeps the law.",
}

Effect = Literal["", "lost", "duplicated", "altered", "executed", "refused", "misreported", "malformed"]

#: Effect of a failure -> meaning. A failure in a file of an earlier version has no effect.
EFFECTS: dict[Effect, str] = {
    "executed": "Something ran, or would run, that must not.",
    "lost": "A call, a result or content is missing, and nothing reports it.",
    "duplicated": "A call or content was given twice, or invented.",
    "altered": "Content differs from the wire.",
    "misreported": "A report about the response is wrong: its stop, usage, completeness, status, findings or warnings.",
    "malformed": "A provider would refuse the request.",
    "refused": "The subject raised an error: nothing is missing silently.",
}

Role = Literal["implementation", "reference", "known-bad"]

#: Role of a subject -> meaning. Reports present implementations first, and the others apart from them.
ROLES: dict[Role, str] = {
    "implementation": "A library, gateway, agent or program under test.",
    "reference": "This project's own code. The laws are written against it.",
    "known-bad": "Faulty on purpose, to show that the suite finds its faults.",
}

#: Outcomes that fail a run.
BAD: tuple[Outcome, ...] = ("error", "fail", "stale")
#: Outcomes of a kept law, whatever the baseline says, and those of a broken or undecided one.
KEPT: tuple[Outcome, ...] = ("pass", "stale")
BROKEN: tuple[Outcome, ...] = ("error", "fail", "new", "expected")


#: Origin of evidence -> meaning, strongest evidence first.
ORIGINS: dict[str, str] = {
    "live": "Recorded from the provider itself.",
    "imported": "Recorded from a provider by another project, and imported.",
    "emulated": "Recorded from our own servers, which emulate the provider's format. No provider answered.",
    "written": "A body file written for its scenario, because no server sends such an answer on purpose.",
}

#: What precedes the reason of the baseline in the reason of an expected failure.
KNOWN = " (expected: "

#: Template of the command that repeats one case.
REPEAT = (
    "toolparity check {subject} --scenario {scenario} --surface {surface} --mode {mode} --policy {policy}"
    " --no-baseline --unreleased"
)


class Verdict(Struct, frozen=True, omit_defaults=True):
    """One law in one case.

    ``reason``, ``expected`` and ``got`` describe the first round in which it was broken (``round``, from 0). ``effect``
    is a key of `EFFECTS`, and "" without a failure.
    """

    check: str
    outcome: Outcome
    reason: str = ""
    round: Number | None = None
    expected: str = ""
    got: str = ""
    effect: Effect = ""

    @property
    def why(self) -> str:
        """The reason, after the effect of a failure: "lost: 3 calls on the wire, 2 in the answer"."""
        return f"{self.effect}: {self.reason}" if self.effect else self.reason

    @property
    def behaviour(self) -> str:
        """What the subject does, in the words of the baseline, which all its failures of one kind share; or ""."""
        known = self.outcome == "expected" and KNOWN in self.reason
        return self.reason.rpartition(KNOWN)[2].removesuffix(")") if known else ""


class SubjectReport(Struct, frozen=True, omit_defaults=True):
    """The output of a subject for one round. Calls have the form ``name(arguments)``; long ones are cut.

    ``calls`` are those that the subject would execute, or all calls if it has no policy. ``warnings`` are its log lines
    about dropped calls, ``findings`` its finding codes. ``error`` is the reason why it refused the answer.
    """

    calls: list[str] = []
    dropped: list[str] = []
    rejected: list[str] = []
    warnings: list[str] = []
    findings: list[str] = []
    stop: str = ""
    error: str = ""


class Result(Struct, frozen=True, omit_defaults=True):
    """One case of one subject. ``surface`` is one provider on one wire.

    ``called`` is the argument that selects the subject, if it is not its name: ``my.module:Subject``, ``exec:COMMAND``;
    or options, which begin with ``--`` and are quoted for the shell. ``direct`` is a request that repeats a failure
    without the suite, as a command for the shell.
    """

    subject: str
    scenario: str
    surface: str
    mode: str
    policy: str
    verdicts: list[Verdict]
    rounds: list[SubjectReport] = []
    seconds: Seconds = 0.0
    called: str = ""
    direct: str = ""

    @property
    def case(self) -> str:
        """The identifier of the case, in the form of a pytest id."""
        return f"{self.scenario}[{self.surface}-{self.mode}-{self.policy}]"

    @property
    def repeat(self) -> str:
        """The command that repeats only this case. All names are quoted for the shell."""
        return REPEAT.format(
            subject=self.called if self.called.startswith("--") else quote(self.called or self.subject),
            scenario=quote(self.scenario),
            surface=quote(self.surface),
            mode=quote(self.mode),
            policy=quote(self.policy),
        )


class SubjectInfo(Struct, frozen=True, omit_defaults=True):
    """Name, version and claims of a subject. ``wires`` is None if it reads all wires. ``role`` is a key of `ROLES`.

    ``library``: the distribution of which the subject is one entry point, or "" if no other subject is.
    ``date``: the day of its run, and ``badge``: the file of its badge beside the page, both only in publications.
    """

    name: str
    version: str
    claims: list[str] = []
    wires: list[str] | None = None
    seconds: Seconds = 0.0
    role: Role = "implementation"
    library: str = ""
    date: str = ""
    badge: str = ""


class LawInfo(Struct, frozen=True, omit_defaults=True):
    """Id and sentence of a law. ``level`` is "must" or "should".

    ``consequences``: effect of a failure -> what it means for an application, in a sentence.
    """

    id: str
    sentence: str
    level: str
    consequences: dict[Effect, str] = {}


class ScenarioInfo(Struct, frozen=True, omit_defaults=True):
    """Id and title of a scenario. ``guards`` are the ids of known failures that it guards against."""

    id: str
    title: str
    level: str
    guards: list[str] = []


class EvidenceSource(Struct, frozen=True, omit_defaults=True):
    """The origin of evidence: a cassette, or the file of a scenario.

    A scenario's file has the origin "written" if it holds the bodies, "emulated" if they are made from its script.

    ``date`` is the time of the recording in ISO 8601.
    """

    path: str
    origin: str
    date: str = ""
    provider: str = ""
    model: str = ""
    sdk: str = ""


class WireExcerpt(Struct, frozen=True, omit_defaults=True):
    """One answer on the wire: its beginning as text, its size in bytes, and its canonical blocks as JSON text."""

    excerpt: str
    size: Number
    blocks: str = ""


class Traffic(Struct, frozen=True, omit_defaults=True):
    """The answers of one scenario, round by round. ``source``: the path of a `EvidenceSource`."""

    scenario: str
    surface: str
    mode: str
    rounds: list[WireExcerpt]
    source: str = ""


class Kill(Struct, frozen=True, omit_defaults=True):
    """A known-bad subject: its fault, the law that must fail it, and the number of failed cases by law."""

    name: str
    law: str
    sentence: str
    by: dict[str, Number] = {}


class Need(Struct, frozen=True, omit_defaults=True):
    """The generated known-bad subjects of a form that need a law, a scenario, or a member of an answer or a request.

    ``subjects``: those that the law fails, that die first in the scenario, or that change the member and die.
    ``alone``: those that no other law fails in the first two scenarios that kill them, or that no other scenario kills.
    A subject with a written mistake counts for the first scenario that kills it. ``guards``: the documented failures
    that the scenario guards.
    """

    kind: Literal["law", "scenario", "member", "request member"]
    name: str
    form: Literal["canonical", "brief"]
    subjects: Number = 0
    alone: list[str] = []
    guards: list[str] = []


class GeneratedKills(Struct, frozen=True, omit_defaults=True):
    """The kill run of the generated known-bad subjects, those that change at least one answer.

    ``needs``: for each law, scenario and member, what needs it. ``brief``: how many of those that return the brief form
    were killed, and how many there are. ``equivalents``: subjects that no law has to fail -> kind of proof; ``stale``:
    those that a law fails, or that no longer exist. ``gaps``: subjects that change no answer, because no scenario has
    the traffic for them.
    """

    subjects: Number
    needs: list[Need] = []
    brief: tuple[Number, Number] = (0, 0)
    equivalents: dict[str, str] = {}
    stale: list[str] = []
    survivors: list[str] = []
    gaps: list[str] = []


class Run(Struct, frozen=True, omit_defaults=True, tag_field="format", tag=FORMAT):
    """One run. ``date`` is its start in ISO 8601, ``seconds`` its duration."""

    toolparity: str
    date: str
    environment: dict[str, str]
    subjects: list[SubjectInfo]
    laws: list[LawInfo]
    scenarios: list[ScenarioInfo]
    results: list[Result]
    traffic: list[Traffic] = []
    sources: list[EvidenceSource] = []
    kills: list[Kill] = []
    seconds: Seconds = 0.0
    generated: GeneratedKills | None = None

    @property
    def format(self) -> str:
        """The identifier of the file format. It is the first member of the file and has a version number."""
        return FORMAT

    def verdicts(self) -> Iterator[tuple[Result, Verdict]]:
        """Iterate over all verdicts, each with its result, in order."""
        return ((result, verdict) for result in self.results for verdict in result.verdicts)

    def count(self, *outcomes: str) -> int:
        """Return the number of verdicts with one of these outcomes."""
        return sum(verdict.outcome in outcomes for _, verdict in self.verdicts())


class Report(NamedTuple):
    """Input of a renderer.

    ``before``: the run to compare with. ``earlier``: earlier runs, oldest first. ``histories``: libraries over their
    versions. ``reproductions``: scripts that repeat failures of the run.
    """

    run: Run
    before: Run | None = None
    earlier: Sequence[Run] = ()
    histories: Sequence[LibraryHistory] = ()
    reproductions: Sequence[Reproduction] = ()


def render(report: Report) -> bytes:
    """Render the run as JSON (schema: `reports/results.schema.json`)."""
    return write(report.run)


def write(run: Run) -> bytes:
    """Encode a run as JSON. The same run gives the same bytes."""
    return json_codec.encode(run) + b"\n"


def read(data: bytes) -> Run:
    """Decode a run from JSON in one of `FORMATS`. Raises msgspec.DecodeError for other data.

    The function adds subjects, laws and scenarios that only results name, so that every report includes them. Of
    several results for one case it keeps the last, as `merge` does, so that every report counts a case once.
    """
    run = _from_older_format(data) if format_of(data) in (FORMAT_1, FORMAT_2) else _decoded(data, Run)
    for result in run.results:
        if len({verdict.check for verdict in result.verdicts}) < len(result.verdicts):
            raise msgspec.ValidationError(f"two verdicts of one law in {result.subject} {result.case}")
    subjects = _missing((entry.subject for entry in run.results), (entry.name for entry in run.subjects))
    laws = _missing((verdict.check for _, verdict in run.verdicts()), (entry.id for entry in run.laws))
    scenarios = _missing((entry.scenario for entry in run.results), (entry.id for entry in run.scenarios))
    return replace(
        run,
        subjects=[*run.subjects, *(SubjectInfo(name, "") for name in subjects)],
        laws=[*run.laws, *(LawInfo(id, "", "must") for id in laws)],
        scenarios=[*run.scenarios, *(ScenarioInfo(id, "", "must") for id in scenarios)],
        results=_latest([run], "results", *_CASE),
    )


def _from_older_format(data: bytes) -> Run:
    run = _decoded(data, dict[str, Any])
    for result in run["results"] if isinstance(run.get("results"), list) else ():
        if isinstance(result, dict) and "told" in result:
            result["rounds"] = result.pop("told")
    return msgspec.convert(run | {"format": FORMAT}, Run)


def _missing(named: Iterable[str], listed: Iterable[str]) -> list[str]:
    known = {*listed}
    return [name for name in dict.fromkeys(named) if name not in known]


def format_of(data: bytes) -> str:
    """Return the format identifier of a file. Raises msgspec.DecodeError if there is none."""
    return _decoded(data, _Marked).format


class _Marked(Struct):
    """The member that every version of the format has."""

    format: str


def _decoded(data: bytes, kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        try:
            data.decode()
            plain = json_codec.decode(data)  # accepts lone surrogates, which msgspec refuses
        except ValueError as error:
            raise msgspec.DecodeError(str(error)) from None
        return msgspec.convert(plain, kind)


def schema() -> dict[str, Any]:
    """Return the JSON schema of `Run`."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Run)}


def merge(runs: Sequence[Run]) -> Run:
    """Merge several runs into one, for example one run per subject.

    If runs have an entry with the same key, the entry of the last run in ``runs`` is kept. The merged run has the
    latest date and the sum of the seconds, and joins environment values that differ with commas.
    """
    if len(runs) == 1:
        return runs[0]
    latest = max(runs, key=lambda run: run.date)
    environment: dict[str, list[str]] = {}
    for run in runs:
        for name, value in run.environment.items():
            if value not in environment.setdefault(name, []):
                environment[name].append(value)
    return replace(
        latest,
        environment={name: ", ".join(values) for name, values in environment.items()},
        subjects=_latest(runs, "subjects", "name"),
        laws=_latest(runs, "laws", "id"),
        scenarios=_latest(runs, "scenarios", "id"),
        results=_latest(runs, "results", *_CASE),
        traffic=_latest(runs, "traffic", "scenario", "surface", "mode"),
        sources=_latest(runs, "sources", "path"),
        kills=_latest(runs, "kills", "name"),
        generated=next((run.generated for run in reversed(runs) if run.generated is not None), None),
        seconds=round(sum(run.seconds for run in runs), 3),
    )


#: The members of a result that name its case.
_CASE = ("subject", "scenario", "surface", "mode", "policy")


def _latest(runs: Sequence[Run], member: str, *keys: str) -> list[Any]:
    latest = {tuple(getattr(entry, key) for key in keys): entry for run in runs for entry in getattr(run, member)}
    return list(latest.values())


def brief(value: Any, most: int = 400) -> str:
    """Return any value as text of at most ``most`` characters, for a verdict. The cut leaves the last quarter."""
    text = value if isinstance(value, str) else json_codec.shown(value)
    end = most // 4
    return text if len(text) <= most else f"{text[: most - end - 1]}…{text[-end:]}"
