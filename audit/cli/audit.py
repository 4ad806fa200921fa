"""`toolparity audit`: counts what the application did with calls, and what each policy would do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from toolparity.cassettes.cli import exits, options
from toolparity.cassettes.cli.console import Problems, ProgressBar
from toolparity.cassettes.cli.names import Named
from toolparity.cassettes.sources import disk_size
from toolparity.normalizer.model import Policy, Wire

from ..bulk.parallel import Engine, audit_paths, local_engine
from ..sarif import KEPT
from . import audit_explain, audit_parts
from .audit_output import check_outputs, output_options, show

#: The values of --engine.
ENGINES = ("local", "dask")


class AuditCommand(click.Command):
    """The command, with commands below it. A path that is named like one of them is passed as ./part."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in audit_parts.COMMANDS:
            return audit_parts.COMMANDS[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(name="audit", cls=AuditCommand, epilog=exits.EPILOG)
@options.paths
@options.policy
@options.limit
@options.wire
@options.format
@options.column
@output_options
@click.option(
    "--explain",
    "explains",
    is_flag=True,
    help="Print how each file was read and what was left, instead of the audit.",
)
@options.jobs
@click.option(
    "--engine",
    type=Named("engine", ENGINES),
    default="local",
    show_default=True,
    help="What the workers are: processes of this machine, or workers of a Dask cluster.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="The Dask scheduler, such as tcp://10.0.0.1:8786.  [default: $DASK_SCHEDULER_ADDRESS, else a cluster of "
    "--jobs workers on this machine]",
)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    paths: tuple[str, ...],
    policy: Policy,
    limit: int | None,
    wire: Wire | None,
    format: str | None,
    columns: tuple[str, ...],
    fail_on: tuple[str, ...],
    as_data: bool,
    page: Path | None,
    sarif: Path | None,
    explains: bool,
    jobs: int | None,
    engine: str,
    scheduler: str | None,
) -> None:
    """Find calls that an application lost, and count what each policy would do to recorded traffic.

    The audit links each request to the response that it continues, and reports calls that were dropped, answered twice,
    answered under another id and so on, each with both places. What the traffic does not prove is counted as not
    judged.

    For each wire, the audit also shows exchanges, client calls, responses with parallel calls, server calls, the calls
    that the policies first, all and batch would keep and drop, the calls that cannot run and why, the findings by code,
    and the exchanges with the most severe findings. PATH is anything that `toolparity normalize` reads: a file, a
    directory, or - for standard input. Input that cannot be read is reported in one line on stderr, and the audit
    continues. Memory use does not grow with the input.

    The table always shows all policies. --policy selects the one whose dropped calls count as findings.

    --explain prints for each file how its format was recognized, by which steps its exchanges were found, how many
    calls they have by an independent count, and what was not read.

    Input that is too large for one machine: `toolparity audit part` audits a part of it, and `toolparity audit merge`
    merges the results. Both have a --help.

    \b
    Examples:
      toolparity audit "$(toolparity cassettes path)"
      toolparity audit --html audit.html recordings/
      toolparity audit --explain logs/
      toolparity audit --fail-on dropped-in-fact --sarif audit.sarif traffic.jsonl
      toolparity audit --policy first --fail-on dropped-call recordings/
      toolparity audit --fail-on error --json - < response.json
      toolparity audit --engine dask --scheduler tcp://10.0.0.1:8786 s3://bucket/logs/
    """
    check_outputs(as_data=as_data, page=page, sarif=sarif)
    if explains:
        if as_data or page is not None or sarif is not None or fail_on:
            raise click.UsageError(
                "--explain prints no audit: it takes neither --json nor --html nor --sarif nor --fail-on"
            )
        audit_explain.explain(ctx, paths, wire=wire, format=format, columns=columns)
    if scheduler is not None and engine != "dask":
        raise click.UsageError("--scheduler needs --engine dask")
    with (
        _engine(engine, scheduler, jobs or 0) as workers,
        ProgressBar(disk_size(paths), "auditing") as progress,
        Problems(progress.note) as problems,
    ):
        audit = audit_paths(
            paths,
            wire=wire,
            format=format,
            columns=columns,
            policy=policy,
            limit=limit,
            engine=workers,
            kept=None if sarif is None else KEPT,
            on_problem=problems.add,
            on_progress=progress.advance,
        )
    show(ctx, audit, policy=policy, limit=limit, fail_on=fail_on, as_data=as_data, page=page, sarif=sarif)


@contextmanager
def _engine(name: str, scheduler: str | None, jobs: int) -> Iterator[Engine]:
    if name == "local":
        yield local_engine(jobs)
        return
    from ..bulk.dask_engine import dask_engine

    with dask_engine(scheduler, jobs) as engine:
        yield engine
