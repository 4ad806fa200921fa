"""`toolparity check`: checks whether a subject keeps the laws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.policies import POLICIES
from toolparity.reports import results
from toolparity.reports.results import Report
from toolparity.reports.statistics import surviving_mutants, unneeded_laws

from ..cases.scenarios import scenarios as known_scenarios
from ..known_bad import known_bad
from ..runner import baseline, kill, suite
from ..runner.judge import CaseFilter
from ..subjects import known_names, shipped
from . import exits, options, rendering
from .console import ProgressBar
from .names import Named, must_fit

#: A surface is accepted too: it is a wire of one provider.
_WIRES = list(dict.fromkeys([*(surface.wire for surface in SURFACES.values()), *SURFACES]))
_PROVIDERS = list(dict.fromkeys(surface.provider for surface in SURFACES.values()))
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(name="check", epilog=f"Exit codes: {exits.TABLE}")
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@click.option(
    "--scenario", "scenarios", multiple=True, metavar="PATTERN", help="Only these scenarios (* is a wildcard)."
)
@click.option("--surface", "surfaces", multiple=True, type=Named("surface", SURFACES), help="Only these surfaces.")
@click.option(
    "--provider", "providers", multiple=True, type=Named("provider", _PROVIDERS), help="Only these providers."
)
@click.option("--wire", "wires", multiple=True, type=Named("wire", _WIRES), help="Only these wires.")
@click.option("--policy", "policies", multiple=True, type=Named("policy", POLICIES), help="Only these policies.")
@click.option(
    "--mode", "modes", multiple=True, type=Named("mode", ["plain", "stream"]), help="Only plain, or streamed."
)
@click.option("--baseline", "file", type=_FILE, metavar="FILE", help="The file of expected failures.")
@click.option("--no-baseline", is_flag=True, help="Expect no failures, not even those that are shipped.")
@click.option("--update-baseline", is_flag=True, help="Write the failures of this run as the expected ones.")
@click.option("--unreleased", is_flag=True, help="Fail also for what is not required before the next release.")
@rendering.options
@click.option("--once", is_flag=True, help="Ask each question once: does not find subjects that are unstable.")
@options.jobs
@click.option(
    "--kill", "kills", is_flag=True, help="Put the known-bad subjects to the suite: each must be failed by its law."
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    subjects: tuple[str, ...],
    scenarios: tuple[str, ...],
    surfaces: tuple[str, ...],
    providers: tuple[str, ...],
    wires: tuple[str, ...],
    policies: tuple[str, ...],
    modes: tuple[str, ...],
    file: Path | None,
    no_baseline: bool,
    update_baseline: bool,
    unreleased: bool,
    once: bool,
    jobs: int | None,
    kills: bool,
    old: tuple[Path, ...],
    earlier: tuple[Path, ...],
    **given: Any,
) -> None:
    """Put subjects to every scenario, on every wire, plain and streamed, under every policy.

    SUBJECT is a shipped one, an entry point of the group toolparity.subjects, my.module:Subject, or
    exec:COMMAND. Without one it is this project's own normalizer. Nothing is sent anywhere: the traffic comes from
    the cassettes.

    \b
    Examples:
      toolparity check
      toolparity check documented-goclaw --policy first
      toolparity check my.module:Subject --scenario 'parallel-*' --wire openai.chat
      toolparity check --json run.json --html page.html --compare main.json
      toolparity check --kill
    """
    choice = CaseFilter(scenarios, providers, wires, policies, modes, surfaces)
    must_fit("scenario", scenarios, known_scenarios(), "--scenario")
    if no_baseline and (file is not None or update_baseline):
        raise click.UsageError("--no-baseline goes with neither --baseline nor --update-baseline")
    if kills and (subjects or file or no_baseline or update_baseline or old or earlier):
        raise click.UsageError("--kill is of the known-bad subjects alone: without SUBJECT, baseline and other runs")
    must_fit("subject", [name for name in subjects if ":" not in name], known_names(), "SUBJECT")
    told, others = rendering.files(given), rendering.others(old, earlier)
    if not any(choice.cases()):
        click.echo("nothing ran: no case fits all of these filters together", err=True)
        ctx.exit(exits.NOTHING_RAN)
    if kills:
        _kill(ctx, choice, jobs or 0, told)
        return
    names = subjects or ("normalizer",)
    if update_baseline and file is None and (own := [name for name in names if not shipped(name)]):
        raise click.UsageError(f"--update-baseline of {', '.join(own)}: say where, with --baseline FILE")
    if update_baseline and file is not None and len(names) > 1:
        raise click.UsageError("a baseline is of one subject: --update-baseline with --baseline takes one at a time")
    if update_baseline:
        for path in [file] if file is not None else [baseline.SHIPPED / f"{name}.yaml" for name in names]:
            folder = not path.parent.exists()  # it will be created
            options.must_be_writable(path.parent if folder else path, folder=folder)
    begun = update_baseline and file is not None and not file.exists()
    with ProgressBar(sum(1 for _ in choice.cases()) * len(names), "checking") as progress:
        run = suite.run(
            names,
            choice,
            expected=suite.expected_failures(file, none=no_baseline or begun),
            unreleased=unreleased,
            twice=not once,
            jobs=jobs or 0,
            on_progress=progress.advance,
        )
    if update_baseline:
        _update(run, file)
    made = Report(run, *others)
    if update_baseline:
        code = exits.ALL_WELL if run.results else exits.NOTHING_RAN
    else:
        code = exits.FAILED if rendering.regressed(made) else _code(run)
    exits.decide(ctx, code)
    _tell(made, told)
    if code == exits.NOTHING_RAN:
        click.echo("nothing ran: the subjects read none of these cases", err=True)
    ctx.exit(code)


def _update(run: results.Run, file: Path | None) -> None:
    for tested in run.subjects:
        path = file or baseline.SHIPPED / f"{tested.name}.yaml"
        mine = [result for result in run.results if result.subject == tested.name]
        baseline.write(path, baseline.updated_entries(mine, baseline.read(path)))
        click.echo(f"written: {path}", err=True)


def _tell(made: Report, told: dict[str, Path]) -> None:
    """Print first: the report is shown even if a file cannot be written."""
    if not rendering.taken(told):
        rendering.show(made)
    rendering.write(made, told)


def _code(run: results.Run) -> int:
    if run.count("fail"):
        return exits.FAILED
    if run.count("error"):
        return exits.FAULT
    if run.count("stale"):
        return exits.STALE_BASELINE
    return exits.ALL_WELL if run.count(*results.KEPT, *results.BROKEN) else exits.NOTHING_RAN


def _kill(ctx: click.Context, choice: CaseFilter, jobs: int, told: dict[str, Path]) -> None:
    with ProgressBar(len(known_bad()), "killing") as progress:
        made = Report(kill.run(choice, jobs=jobs, on_progress=progress.advance))
    code = exits.decide(ctx, exits.FAILED if surviving_mutants(made.run) or unneeded_laws(made.run) else exits.ALL_WELL)
    _tell(made, told)
    ctx.exit(code)
