"""`toolparity check`: does a subject keep the laws?"""

from __future__ import annotations

import datetime
import platform
import time
from collections.abc import Sequence
from pathlib import Path

import click

from cassettes.surfaces import SURFACES
from normalizer import __version__
from normalizer.policies import POLICIES
from reports import results
from reports.terminal import render

from .. import baseline, runner
from ..bench import Choice
from ..check_report import sections
from ..kill import killed, matrix
from ..known_bad import known_bad
from ..provenance import sources
from ..subjects import subject
from . import exits, screen
from .progress import Progress


@click.command(name="check", epilog=f"Exit codes: {exits.TABLE}")
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@click.option("--scenario", "scenarios", multiple=True, metavar="PATTERN", help="Only these scenarios (* is a joker).")
@click.option("--surface", "surfaces", multiple=True, type=click.Choice(list(SURFACES)), help="Only these surfaces.")
@click.option("--provider", "providers", multiple=True, help="Only these providers.")
@click.option("--wire", "wires", multiple=True, help="Only these wires.")
@click.option("--policy", "policies", multiple=True, type=click.Choice(list(POLICIES)), help="Only these policies.")
@click.option("--mode", "modes", multiple=True, type=click.Choice(["plain", "stream"]), help="Only plain, or streamed.")
@click.option("--baseline", "file", type=click.Path(path_type=Path), help="The file of expected failures.")
@click.option("--update-baseline", is_flag=True, help="Write the failures of this run as the expected ones.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the results as JSON.")
@click.option("--once", is_flag=True, help="Ask each question once: does not find subjects that are unstable.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Worker processes.  [default: one a core]")
@click.option("--kill", is_flag=True, help="Put the known-bad subjects to the suite: each must be failed by its law.")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    subjects: tuple[str, ...],
    scenarios: tuple[str, ...],
    surfaces: tuple[str, ...],
    providers: tuple[str, ...],
    wires: tuple[str, ...],
    policies: tuple[str, ...],
    modes: tuple[str, ...],
    file: Path | None,
    update_baseline: bool,
    json_file: Path | None,
    once: bool,
    jobs: int | None,
    kill: bool,
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
      toolparity check --kill
    """
    choice = Choice(scenarios, providers, (*wires, *surfaces), policies, modes)
    if kill:
        _kill(ctx, choice, jobs or 0)
        return
    run = _run(subjects or ("normalizer",), choice, file, twice=not once, jobs=jobs or 0)
    if update_baseline:
        for tested in run.subjects:
            path = file or baseline.SHIPPED / f"{tested.name}.yaml"
            mine = [verdict for verdict in run.verdicts if verdict.subject == tested.name]
            baseline.write(path, baseline.updated(mine, baseline.read(path)))
            click.echo(f"written: {path}", err=True)
    if json_file is not None:
        json_file.write_bytes(results.write(run))
    click.echo(render(sections(run), width=screen.width(), colour=screen.colour()), nl=False)
    if update_baseline:
        ctx.exit(exits.ALL_WELL if run.verdicts else exits.NOTHING_RAN)
    ctx.exit(_code(run))


def _run(names: Sequence[str], choice: Choice, file: Path | None, *, twice: bool, jobs: int) -> results.Run:
    subjects = [subject(name) for name in names]
    began = time.monotonic()
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    cases = list(choice.cases())
    verdicts: list[results.Verdict] = []
    with Progress(len(cases) * len(subjects), "checking") as progress:
        for name, tested in zip(names, subjects, strict=True):
            mine = list(runner.verdicts(name, choice, twice=twice, jobs=jobs, on_progress=progress.advance))
            known = baseline.read(file or baseline.SHIPPED / f"{tested.name}.yaml")
            verdicts.extend(baseline.applied(mine, known))
    environment = {"python": platform.python_version(), "system": platform.system()}
    told = [results.Tested(one.name, one.version, sorted(one.claims)) for one in subjects]
    seconds = round(time.monotonic() - began, 3)
    return results.Run(__version__, date, environment, told, verdicts, sources(cases), seconds)


def _code(run: results.Run) -> int:
    if run.count("fail"):
        return exits.FAILED
    if run.count("error"):
        return exits.FAULT
    if run.count("stale"):
        return exits.STALE_BASELINE
    return exits.ALL_WELL if run.count("pass", "expected") else exits.NOTHING_RAN


def _kill(ctx: click.Context, choice: Choice, jobs: int) -> None:
    with Progress(len(known_bad()), "killing") as progress:
        found = killed(choice, jobs=jobs, on_progress=progress.advance)
    click.echo(render(matrix(found), width=screen.width(), colour=screen.colour()), nl=False)
    ctx.exit(exits.ALL_WELL if found.perfect else exits.FAILED)
