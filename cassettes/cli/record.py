"""`toolparity record`: records scenarios through the official SDKs into cassettes."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from toolparity.normalizer.errors import MissingKey, ToolparityError
from toolparity.reports.terminal import Lines, Section, StyledText, Table, Tone

from ..library import files
from ..scripts import scripts
from ..surfaces import SURFACES
from . import console, exits, record_limits, scenario_option
from .console import ProgressBar
from .names import must_fit
from .options import OutputFile
from .record_limits import RecordingJob

if TYPE_CHECKING:
    from ..library.provenance import Origin
    from ..recorder.budget import Budget
    from ..recorder.record import Confirm, Connection, RecordOutcome

_MOST_CHANGES = 10
_PROVIDERS = sorted({surface.provider for surface in SURFACES.values()})
_WIRES = sorted({surface.wire for surface in SURFACES.values()})
_PROVIDER_LIST, _WIRE_LIST = f"[{'|'.join(_PROVIDERS)}]", f"[{'|'.join(_WIRES)}]"
_TONES: dict[str, Tone] = {
    "recorded": "good",
    "replaced": "warning",
    "same": "dim",
    "kept": "dim",
    "declined": "warning",
    "failed": "bad",
}


class JobResult(NamedTuple):
    """The result of a job: an outcome, or an error."""

    job: RecordingJob
    outcome: RecordOutcome | None
    error: ToolparityError | None = None

    @property
    def status(self) -> str:
        return "failed" if self.outcome is None else self.outcome.status


@click.command(name="record", epilog=exits.EPILOG)
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@scenario_option.scenarios
@click.option(
    "--provider",
    "providers",
    multiple=True,
    metavar=_PROVIDER_LIST,
    help="Record only this provider. Repeatable.",
)
@click.option("--wire", "wires", multiple=True, metavar=_WIRE_LIST, help="Record only this wire. Repeatable.")
@click.option("--model", help="Model to use instead of the surface's default.")
@click.option("--live/--emulated", "live", default=False, help="The provider to record.  [default: emulated]")
@click.option("--plain", "plain", is_flag=True, help="Record only plain responses.")
@click.option("--stream", "stream", is_flag=True, help="Record only streamed responses.")
@record_limits.options
@click.option("--rerecord", is_flag=True, help="Also record scenarios that are recorded already and have not changed.")
@click.option(
    "--into",
    type=OutputFile(folder=True),
    envvar="TOOLPARITY_CASSETTES",
    default=Path("cassettes"),
    callback=lambda ctx, param, value: _library(value),
    help="The library to record into (also TOOLPARITY_CASSETTES).  [default: ./cassettes]",
)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    scenarios: tuple[str, ...],
    providers: tuple[str, ...],
    wires: tuple[str, ...],
    model: str | None,
    live: bool,
    plain: bool,
    stream: bool,
    rerecord: bool,
    into: Path,
    max_calls: int | None,
    max_cost: float | None,
    price_file: Path | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Record scenarios through the official SDKs, into one cassette each.

    SCENARIO is an id or a pattern (* is a wildcard). Without SCENARIO, every scenario that a surface supports is
    recorded, plain and streamed. --emulated uses emulated providers on loopback and needs no key; the cassettes state
    their origin. --live sends requests to the real providers, with the key in OPENAI_API_KEY, ANTHROPIC_API_KEY or
    XAI_API_KEY; the provider charges for them.

    A recording replaces an old one only if it is complete, scrubbed, passes the scanner and replays. Otherwise, or if
    the recordings are equal, the old file is kept. TOOLPARITY_RAN_BY overrides the user's name in the provenance.

    With --live, the differences from the old cassette are shown before it is replaced: its shape, values and words.
    Without a terminal and --yes, nothing is sent. A cassette for which the budget is too small is not started.

    \b
    Examples:
      toolparity record --into my-cassettes
      toolparity record single-call --provider anthropic --stream
      toolparity record --scenarios my-scenarios --into my-cassettes
      toolparity record 'server-*' --live --provider openai --rerecord
      toolparity record --live --provider openai --dry-run --prices prices.toml
      toolparity record --live --provider openai --max-calls 50 --max-cost 0.50 --prices prices.toml
    """
    jobs = _jobs(scenarios, providers, wires, [False, True] if plain == stream else [stream])
    if not jobs:
        click.echo("nothing to record: none of these surfaces supports any of these scenarios", err=True)
        ctx.exit(exits.NOTHING_RAN)
    limits = record_limits.budget(jobs, model, max_calls, max_cost, price_file)
    plans = _plans(jobs, into, model, live=live, rerecord=rerecord)
    if dry_run:
        console.show(record_limits.planned(plans, model, limits))
        return
    done: list[JobResult] = []
    length = 0 if live else len(jobs)  # a bar would hide the questions
    with ProgressBar(length, "recording") as progress, _ways(live, jobs) as ways:
        confirm = record_limits.confirmation(plans, live=live, yes=yes, progress=progress)
        into.mkdir(parents=True, exist_ok=True)
        progress.note(f"recording into {into.absolute()}")
        for job in jobs:
            done.append(_recorded(job, ways[job.surface.name], into, model, rerecord, limits, confirm))
            progress.note(_line(done[-1], len(done), len(jobs)))
            progress.advance(1)
    code = exits.decide(ctx, exits.code(faults=sum(result.error is not None for result in done), ran=len(done)))
    console.show([*_sections(done, into), _spent(limits)])
    ctx.exit(code)


def _library(into: Path) -> Path:
    """Return the library folder.

    Raises BadParameter for toolparity's own package, which has the default name in a checkout.
    """
    package = files.RECORDED.parent
    if into.resolve() == package:
        shipped = os.path.relpath(files.RECORDED)
        raise click.BadParameter(f"{into} is toolparity's own package; its library is --into {shipped}")
    return into


def _jobs(
    patterns: tuple[str, ...], providers: tuple[str, ...], wires: tuple[str, ...], streams: list[bool]
) -> list[RecordingJob]:
    from ..library.inventory import modes

    known = scripts()
    must_fit("scenario", patterns, known, "SCENARIO")
    must_fit("provider", providers, _PROVIDERS, "--provider")
    must_fit("wire", wires, _WIRES, "--wire")
    return [
        RecordingJob(script, surface, stream)
        for surface in SURFACES.values()
        if (not providers or surface.provider in providers) and (not wires or surface.wire in wires)
        for script in known.values()
        if surface.plays(script)
        and (not patterns or any(fnmatch.fnmatchcase(script.id, pattern) for pattern in patterns))
        for stream in modes(script)
        if stream in streams
    ]


@contextlib.contextmanager
def _ways(live: bool, jobs: list[RecordingJob]) -> Iterator[dict[str, Connection]]:
    """Yield how to reach each surface. All missing keys are reported together, before any request is sent."""
    from ..recorder import record

    surfaces = {job.surface.name: job.surface for job in jobs}
    if live:
        ways, missing = {}, {}
        for name, surface in surfaces.items():
            try:
                ways[name] = record.live(surface)
            except MissingKey as error:
                missing[surface.key] = error
        if missing:
            raise click.UsageError("; ".join(str(error) for error in missing.values()))
        yield ways
        return
    from ..emulated.servers import running

    with running() as servers:
        yield {name: record.emulated(surface, servers.base(surface)) for name, surface in surfaces.items()}


def _plans(
    jobs: list[RecordingJob], into: Path, model: str | None, *, live: bool, rerecord: bool
) -> list[tuple[RecordingJob, str]]:
    """Return each job with what would happen to its file."""
    from ..recorder.record import plan

    origin: Origin = "live" if live else "emulated"
    return [
        (job, plan(job.script, job.surface, origin, stream=job.stream, root=into, model=model, again=rerecord))
        for job in jobs
    ]


def _spent(limits: Budget) -> Section:
    """Return the requests and the cost of a run, if there were requests."""
    entries = [(StyledText("requests"), f"{limits.calls:,}")] if limits.calls else []
    if limits.cost:
        entries.append((StyledText("cost"), f"{limits.cost:.4f}"))
    return Lines("", entries)


def _recorded(
    job: RecordingJob,
    way: Connection,
    into: Path,
    model: str | None,
    rerecord: bool,
    limits: Budget,
    confirm: Confirm | None,
) -> JobResult:
    from ..recorder.record import record

    try:
        outcome = record(
            job.script,
            job.surface,
            way,
            stream=job.stream,
            root=into,
            model=model,
            again=rerecord,
            budget=limits,
            confirm=confirm,
        )
    except ToolparityError as error:
        return JobResult(job, None, error)
    return JobResult(job, outcome)


def _line(done: JobResult, number: int, count: int) -> str:
    why = f": {_why(done)}" if done.outcome is None else f"  {done.outcome.path}"
    return f"{number}/{count} {done.job.name}: {done.status}{why}"


def _sections(done: list[JobResult], into: Path) -> list[Section]:
    rows: dict[tuple[str, str], dict[str, int]] = {}
    for result in done:
        counts = rows.setdefault((result.job.surface.name, "streamed" if result.job.stream else "plain"), {})
        counts[result.status] = counts.get(result.status, 0) + 1
    statuses = [status for status in _TONES if any(status in counts for counts in rows.values())]
    table = Table(
        "Cassettes by result",
        ["surface", "answers", *statuses],
        [[*labels, *(counts.get(status, 0) for status in statuses)] for labels, counts in rows.items()],
        2,
    )
    sections: list[Section] = [table]
    for result in done:
        if result.outcome is not None and result.outcome.changes:
            shown = [(StyledText(str(change)), "") for change in result.outcome.changes[:_MOST_CHANGES]]
            more = len(result.outcome.changes) - _MOST_CHANGES
            if more > 0:
                shown.append((StyledText(f"and {more} more", "dim"), ""))
            sections.append(Lines(f"What changed: {result.job.name}", shown))
    failed = [(StyledText(result.job.name, "bad"), _why(result)) for result in done if result.error is not None]
    sections.append(Lines("Not recorded; the old files are unchanged", failed))
    look = f"toolparity cassettes list --library {shlex.quote(str(into))}"
    sections.append(Lines("", [(StyledText("library"), str(into.absolute())), (StyledText("inspect"), look)]))
    return sections


def _why(done: JobResult) -> str:
    """Return the error without the name of the job."""
    return str(done.error).removeprefix(done.job.name).lstrip(",: ")
