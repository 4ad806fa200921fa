"""`toolparity audit`: counts what each policy would do to traffic."""

from __future__ import annotations

from pathlib import Path

import click

from toolparity.cassettes.sources import disk_size
from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Policy, Wire

from ..audit.parallel import audit_paths
from ..audit.report import as_json, sections
from ..audit.summary import ALL_CODES, SEVERITIES, Audit
from . import console, exits, options, rendering
from .console import Problems, ProgressBar
from .names import unknown


class FailOn(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A finding code or a severity."""

    name = "code|severity"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in ALL_CODES or value in SEVERITIES:
            return value
        known = [*SEVERITIES, *ALL_CODES]
        raise click.BadParameter(unknown("severity or finding code", value, known), ctx, param)


@click.command(name="audit", epilog=exits.EPILOG)
@options.paths
@options.policy
@options.limit
@options.wire
@click.option(
    "--fail-on",
    type=FailOn(),
    multiple=True,
    help="Exit with 1 on this finding, or on any finding of this severity or a higher one. Repeatable.",
)
@click.option("--json", "as_data", is_flag=True, help="Print the counts as one JSON object.")
@click.option(
    "--html",
    "page",
    type=options.OutputFile(),
    metavar="FILE",
    help="Write the counts as an HTML page; - is standard output.",
)
@options.jobs
@click.pass_context
def command(
    ctx: click.Context,
    *,
    paths: tuple[str, ...],
    policy: Policy,
    limit: int | None,
    wire: Wire | None,
    fail_on: tuple[str, ...],
    as_data: bool,
    page: Path | None,
    jobs: int | None,
) -> None:
    """Count what each policy would do to recorded traffic: keep, drop or reject its calls.

    For each wire the audit shows exchanges, client calls, responses with parallel calls, server calls, the calls that
    the policies first, all and batch would keep and drop, the calls that cannot run and why, the findings by code, and
    the exchanges with the most severe findings. PATH is anything that `toolparity normalize` reads: a file, a
    directory, or - for standard input. Input that cannot be read is reported in one line on stderr, and the audit
    continues. Memory use does not grow with the input.

    The table always shows all policies. --policy selects the one whose dropped calls count as findings.

    \b
    Examples:
      toolparity audit "$(toolparity cassettes path)"
      toolparity audit --html audit.html recordings/
      toolparity audit --policy first --fail-on dropped-call recordings/
      toolparity audit --fail-on error --json - < response.json
    """
    if as_data and rendering.is_stdout(page):
        raise click.UsageError("--json and --html - both write to standard output")
    with ProgressBar(disk_size(paths), "auditing") as progress, Problems(progress.note) as problems:
        audit = audit_paths(
            paths,
            wire=wire,
            policy=policy,
            limit=limit,
            jobs=jobs or 0,
            on_problem=problems.add,
            on_progress=progress.advance,
        )
    hits = [name for name in fail_on if audit.found(name)]
    code = exits.decide(ctx, exits.code(failed=bool(hits), faults=audit.faults, ran=audit.audited))
    # Print first: the figures are shown even if the page cannot be written.
    if as_data:
        click.echo(json_codec.encode(as_json(audit, policy, limit)))
    elif not rendering.is_stdout(page):
        console.show(sections(audit, limit))
    if page is not None:
        from toolparity.reports.html.audit import render as render_page

        rendering.put(page, render_page(as_json(audit, policy, limit)))
    _conclude(audit, hits)
    ctx.exit(code)


def _conclude(audit: Audit, hits: list[str]) -> None:
    for name in hits:
        click.echo(f"--fail-on {name}: found {audit.found(name):,}", err=True)
    if not audit.audited:
        click.echo("nothing was audited: the input has no exchange of a known wire", err=True)
