"""`toolparity check`: checks whether a subject keeps the laws."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from toolparity.cassettes.cli import exits, options, scenario_option
from toolparity.cassettes.cli.console import ProgressBar
from toolparity.cassettes.cli.names import Named, must_fit, unknown
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.policies import POLICIES
from toolparity.reports import results
from toolparity.reports.kill_matrix import surviving_mutants, unneeded_laws
from toolparity.reports.results import Report

from ..cases.case import Case
from ..cases.scenarios import scenarios as known_scenarios
from ..clients.table import coding_agent
from ..known_bad import known_bad
from ..runner import baseline, fail_on, suite
from ..runner.judge import CaseFilter
from ..subjects import shipped
from . import gateway_options, needs, rendering
from .subjects import must_be_subjects

if TYPE_CHECKING:
    from ..clients.table import CodingAgent
    from .gateway_run import Settings

_WIRES = list(dict.fromkeys(surface.wire for surface in SURFACES.values()))
_PROVIDERS = list(dict.fromkeys(surface.provider for surface in SURFACES.values()))


#: An option, the options with which it cannot be combined, and the error.
_EXCLUDES = (
    (
        "--no-baseline",
        ("--baseline", "--update-baseline"),
        "--no-baseline cannot be combined with --baseline or --update-baseline",
    ),
    ("--gateway", ("SUBJECT", "--kill"), "--gateway tests a gateway only: omit SUBJECT and --kill"),
    ("--fail-on", ("--update-baseline", "--kill"), "--fail-on cannot be combined with --update-baseline or --kill"),
    (
        "--kill",
        ("SUBJECT", "--baseline", "--no-baseline", "--update-baseline", "--compare", "--earlier"),
        "--kill runs the known-bad subjects only: omit SUBJECT, baseline options and other runs",
    ),
)


def _refuse_contradictions(chosen: set[str]) -> None:
    for option, others, error in _EXCLUDES:
        if option in chosen and not chosen.isdisjoint(others):
            raise click.UsageError(error)


def _fail_on(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[results.Outcome, ...]:
    """Return the outcomes that fail the run. Raises click.BadParameter for an unknown one."""
    try:
        return fail_on.outcomes(values)
    except ValueError as error:
        raise click.BadParameter(unknown("outcome", str(error), fail_on.CHOICES), ctx, param) from None


@click.command(name="check", epilog=exits.EPILOG)
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@scenario_option.scenarios
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
@click.option(
    "--baseline",
    "files",
    multiple=True,
    metavar="[SUBJECT=]FILE",
    help="The baseline: a file of expected failures. Repeatable, with the subject before the file.",
)
@click.option("--no-baseline", is_flag=True, help="Expect no failures; ignore the shipped baselines.")
@click.option("--update-baseline", is_flag=True, help="Write the failures of this run to the baseline.")
@click.option("--unreleased", is_flag=True, help="Also fail for checks that the last release does not require.")
@click.option(
    "--fail-on",
    "failing",
    multiple=True,
    callback=_fail_on,
    metavar="OUTCOME,...",
    help=f"Fail on these outcomes only: {', '.join(fail_on.CHOICES)}. Repeatable.  "
    f"[default: {','.join(fail_on.DEFAULT)}]",
)
@rendering.options
@gateway_options.options
@click.option("--once", is_flag=True, help="Read each response once. Unstable subjects are not detected.")
@click.option(
    "--exhaustive",
    is_flag=True,
    help="Hand each conversation over to every other wire, and split long streams byte by byte at both ends, too. "
    "Without it, the cases take turns, and together cover every pair of wires. With --kill: also run the tables of "
    "mistakes and the faulty gateways, for some ten minutes.",
)
@options.jobs
@click.option(
    "--kill", "kills", is_flag=True, help="Run the known-bad subjects against the suite: every one must fail a law."
)
@click.option(
    "--resume",
    "state",
    type=options.OutputFile(stdout=False),
    metavar="FILE",
    help="With --kill: keep the results of finished subjects in this file, and continue a run that was interrupted.",
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    subjects: tuple[str, ...],
    files: tuple[str, ...],
    no_baseline: bool,
    update_baseline: bool,
    unreleased: bool,
    failing: tuple[results.Outcome, ...],
    once: bool,
    exhaustive: bool,
    jobs: int | None,
    kills: bool,
    state: Path | None,
    old: tuple[Path, ...],
    earlier: tuple[Path, ...],
    gateway: str | None,
    **filters_and_formats: Any,
) -> None:
    """Run subjects against every scenario, on every wire, plain and streamed, under every policy.

    SUBJECT is a shipped subject, an entry point of the group toolparity.subjects, my.module:Subject, or exec:COMMAND.
    The name of an installed library can have a version, such as litellm==1.100.0.
    The default is this project's own normalizer. No network is used: the traffic comes from the cassettes.
    With --gateway, the suite tests a gateway or proxy at a URL instead.

    \b
    Examples:
      toolparity check
      toolparity check documented-goclaw --policy first
      toolparity check my.module:Subject --scenario 'parallel-*' --wire openai.chat
      toolparity check --json run.json --html page.html --compare main.json
      toolparity check --gateway http://127.0.0.1:4000 --client openai.chat --upstream anthropic.messages
      toolparity check --gateway http://127.0.0.1:4000 --as claude-code
      toolparity check my.module:Subject --fail-on error,fail
      toolparity check my.module:Subject --scenarios my-scenarios
      toolparity check --kill --resume kill.jsonl
    """
    settings = gateway_options.settings(gateway, filters_and_formats)
    filters = {name: filters_and_formats.pop(name) for name in CaseFilter.__struct_fields__}
    case_filter = CaseFilter(**filters)
    agent = coding_agent(settings.agent) if settings is not None and settings.agent else None
    if agent is None:
        must_fit("scenario", case_filter.scenarios, known_scenarios(), "--scenario")
    else:
        must_fit("need", case_filter.scenarios, agent.needs, "--scenario")
        own = SURFACES[agent.surface]
        for option, has in (("surface", own.name), ("provider", own.provider), ("wire", own.wire)):
            if has not in (getattr(case_filter, f"{option}s") or [has]):
                raise click.UsageError(f"--as {agent.name} judges {has} only: omit --{option}")
    chosen = {
        "SUBJECT": subjects,
        "--baseline": files,
        "--no-baseline": no_baseline,
        "--update-baseline": update_baseline,
        "--fail-on": failing != fail_on.DEFAULT,
        "--gateway": settings,
        "--kill": kills,
        "--compare": old,
        "--earlier": earlier,
    }
    _refuse_contradictions({option for option, value in chosen.items() if value})
    must_be_subjects(subjects)
    outputs, others = rendering.outputs(filters_and_formats), rendering.others(old, earlier)
    if agent is None and not any(case_filter.cases()):
        click.echo("nothing ran: no case matches all filters", err=True)
        ctx.exit(exits.NOTHING_RAN)
    if kills:
        _kill(ctx, case_filter, jobs or 0, exhaustive, state, outputs)
        return
    if state is not None:
        raise click.UsageError("--resume needs --kill")
    names = subjects or ("normalizer",) if settings is None else settings.subjects
    baselines = _baselines(files, names)
    if update_baseline:
        known_gateway = settings is not None and settings.known is not None
        _check_baseline_files(names, baselines, known_gateway=known_gateway)
    needed = agent.needs if agent else ()
    expected = suite.expected_failures(baselines, none=no_baseline, new=update_baseline, needs=needed)
    left_out = _left_out(case_filter, settings) if agent is None else agent.left_out(case_filter.scenarios)
    how = {
        "left_out": left_out,
        "unreleased": unreleased,
        "twice": not once,
        "exhaustive": exhaustive,
        "jobs": jobs or 0,
    }
    run = _run(settings, names, case_filter, expected=expected, **how)
    if update_baseline:
        _update(run, names, baselines, needed, left_out)
    report = Report(run, *others)
    if update_baseline:
        code = exits.ALL_WELL if run.results else exits.NOTHING_RAN
    else:
        code = _code(run, failing, regressed=rendering.regressed(report))
    exits.decide(ctx, code)
    _print_and_write(report, outputs, agent)
    if not update_baseline and (hits := [f"{run.count(name):,} {name}" for name in failing if run.count(name)]):
        click.echo(f"the run fails on: {', '.join(hits)}", err=True)
    if code == exits.NOTHING_RAN:
        click.echo("nothing ran: the subjects support none of these cases", err=True)
    ctx.exit(code)


def _left_out(case_filter: CaseFilter, settings: Settings | None) -> list[Case]:
    """Return the cases that were not selected. A gateway has one policy, and the surfaces of its upstreams."""
    if settings is None:
        return case_filter.left_out()
    chosen, upstreams = replace(case_filter, policies=()), settings.upstreams
    others = (case for case in CaseFilter().cases() if upstreams and case.surface not in upstreams)
    return [*chosen.left_out(), *others]


def _run(settings: Settings | None, names: Sequence[str], case_filter: CaseFilter, **run_options: Any) -> results.Run:
    """Run the subjects with these names, or the gateway of these settings."""
    with ProgressBar(sum(1 for _ in case_filter.cases()) * len(names), "checking") as progress:
        run_options["on_progress"] = progress.advance
        if settings is None:
            return suite.run(names, case_filter, **run_options)
        from .gateway_run import run as run_gateway

        return run_gateway(settings, case_filter, **run_options)


def _baselines(texts: Sequence[str], names: Sequence[str]) -> dict[str, Path]:
    """Return the files by the subject that their option names, "" for one that names none."""
    files: dict[str, Path] = {}
    for text in texts:
        name, _, path = text.rpartition("=")
        name, path = (name, path) if name in names else ("", text)
        if name in files:
            raise click.UsageError(f"--baseline {text}: {name or 'the subjects'} would have two baselines")
        if os.path.isdir(path):  # False for a name that is too long, where Path.is_dir raises
            raise click.UsageError(f"--baseline {text}: it is a directory; name a file")
        files[name] = Path(path)
    return files


def _check_baseline_files(names: Sequence[str], files: dict[str, Path], *, known_gateway: bool) -> None:
    """Raise a usage error if the baselines of these subjects cannot be written."""
    rest = [name for name in names if name not in files]
    own = [name for name in rest if not (known_gateway or shipped(name))]
    if "" not in files and own:
        raise click.UsageError(f"--update-baseline needs --baseline FILE for {', '.join(own)}")
    if "" in files and len(rest) > 1:
        raise click.UsageError("--update-baseline with --baseline accepts only one subject: write SUBJECT=FILE")
    for path in [files.get(name) or files.get("") or baseline.shipped_path(name) for name in names]:
        folder = not path.parent.exists()  # it will be created
        options.must_be_writable(path.parent if folder else path, folder=folder)


def _update(
    run: results.Run,
    names: Sequence[str],
    files: dict[str, Path],
    needs: Iterable[str],
    left_out: Collection[Case],
) -> None:
    for tested, name in zip(run.subjects, names, strict=True):
        path = files.get(name) or files.get("") or baseline.shipped_path(tested.name)
        own = [result for result in run.results if result.subject == tested.name]
        baseline.write(path, baseline.updated_entries(own, baseline.read(path, needs), left_out))
        click.echo(f"written: {path}", err=True)


def _print_and_write(report: Report, outputs: dict[str, Path], agent: CodingAgent | None = None) -> None:
    """Print first: the report is shown even if a file cannot be written. ``agent``: the run is about its needs."""
    if not rendering.writes_stdout(outputs):
        if agent is None:
            rendering.show(report)
        else:
            needs.show(report.run, agent)
    rendering.write(report, outputs)


def _code(run: results.Run, failing: Sequence[results.Outcome], *, regressed: bool) -> int:
    """Return the exit code of a run that fails on the outcomes ``failing``."""
    stale = bool("stale" in failing and run.count("stale"))
    if regressed or run.count(*(name for name in failing if name not in ("error", "stale"))):
        return exits.FAILED_AND_STALE if stale else exits.FAILED
    if "error" in failing and run.count("error"):
        return exits.FAULT
    if stale:
        return exits.STALE_BASELINE
    return exits.ALL_WELL if run.count(*results.KEPT, *results.BROKEN) else exits.NOTHING_RAN


def _kill(
    ctx: click.Context,
    case_filter: CaseFilter,
    jobs: int,
    exhaustive: bool,
    state: Path | None,
    outputs: dict[str, Path],
) -> None:
    from ..gateway.known_bad import known_gateways, with_kills  # servers and clients, which no other run needs
    from ..runner import kill, survival  # with the SDKs of the tables of mistakes

    # Each gateway has its own cases, so that a filter leaves out all of them.
    with_gateways = exhaustive and case_filter == CaseFilter()
    gateways = [gateway for gateway in known_gateways().values() if gateway.law] if with_gateways else []
    total = len(known_bad()) + len(survival.tasks(tables=exhaustive)) + len(gateways)
    with ProgressBar(total, "killing") as progress:
        run = kill.run(case_filter, jobs=jobs, tables=exhaustive, state=state, on_progress=progress.advance)
        report = Report(with_kills(run, progress.advance) if gateways else run)
    generated = report.run.generated
    alive = surviving_mutants(report.run) or (generated and (generated.survivors or generated.stale or generated.gaps))
    code = exits.decide(ctx, exits.FAILED if alive or unneeded_laws(report.run) else exits.ALL_WELL)
    _print_and_write(report, outputs)
    ctx.exit(code)
