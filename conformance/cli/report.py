"""`toolparity report`: renders the results of a run in any format, without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from toolparity.cassettes.cli import exits
from toolparity.reports.compare import compare
from toolparity.reports.files import load
from toolparity.reports.results import Report, merge

from . import rendering


class ReportCommand(click.Command):
    """Renders results, unless the first argument is `upstream`, which is a separate command."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] == ["upstream"]:
            from . import upstream

            return upstream.command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(name="report", cls=ReportCommand, epilog=exits.EPILOG)
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RESULTS...")
@rendering.options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    results: tuple[Path, ...],
    old: tuple[Path, ...],
    earlier: tuple[Path, ...],
    **files: Any,
) -> None:
    """Render the results that `toolparity check --json` wrote, without running anything.

    Several RESULTS are merged into one run, for example one file per subject, or a run and the kill matrix. If two
    files have the same case, the later file is used. Without a format option the report is printed. RESULTS may be
    compressed with gzip; - is standard input, and as a FILE standard output.

    With --compare a regression exits with 1: a law that passed and fails now, even if the failure is expected, or a
    failure that did not fail the run and does now. New and removed cases and changed reasons are reported, but fail
    nothing.

    \b
    Examples:
      toolparity report run.json
      toolparity report run.json kills.json --html page.html
      toolparity report run.json --compare main.json --markdown - >> "$GITHUB_STEP_SUMMARY"
      toolparity report run.json --earlier january.json --earlier may.json --html page.html
      toolparity report upstream SUBJECT CASE    the draft of a bug report for the project of a library
    """
    outputs = rendering.outputs(files)
    rendering.read_once(*results, *old, *earlier)
    report = Report(merge([load(path) for path in results]), *rendering.others(old, earlier))
    ran = bool(report.run.results or report.run.kills)
    code = exits.decide(ctx, exits.code(failed=rendering.regressed(report), ran=ran))
    rendering.write(report, outputs)
    if not outputs:
        rendering.show(report)
    elif report.before is not None:
        click.echo(compare(report.before, report.run).sentence, err=True)
    if not ran:
        click.echo("the files have no results: nothing ran", err=True)
    ctx.exit(code)
