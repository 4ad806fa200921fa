"""`toolparity report`: renders the results of a run in any format, without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from toolparity.reports.compare import compare
from toolparity.reports.files import load
from toolparity.reports.results import Report, merge

from . import exits, rendering


@click.command(name="report", epilog=f"Exit codes: {exits.TABLE}")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RESULTS...")
@rendering.options
@click.pass_context
def command(
    ctx: click.Context, /, *, results: tuple[Path, ...], old: tuple[Path, ...], earlier: tuple[Path, ...], **given: Any
) -> None:
    """Render what `toolparity check --json` wrote. Nothing is run.

    Several RESULTS are told as one run, say of one subject each, or a run and the kill matrix; where two tell of the
    same case the later file holds. Without a format the report is printed. RESULTS may be packed by gzip; - is
    standard input, and as a FILE standard output.

    With --compare a regression exits with 1: a law that was kept and is broken, expected or not, or a failure that
    did not fail the run and does. New and vanished cases and changed reasons are told, and fail nothing.

    \b
    Examples:
      toolparity report run.json
      toolparity report run.json kills.json --html page.html
      toolparity report run.json --compare main.json --markdown - >> "$GITHUB_STEP_SUMMARY"
      toolparity report run.json --earlier january.json --earlier may.json --html page.html
    """
    told = rendering.files(given)
    rendering.read_once(*results, *old, *earlier)
    made = Report(merge([load(path) for path in results]), *rendering.others(old, earlier))
    ran = bool(made.run.results or made.run.kills)
    code = exits.decide(ctx, exits.code(failed=rendering.regressed(made), ran=ran))
    rendering.write(made, told)
    if not told:
        rendering.show(made)
    elif made.before is not None:
        click.echo(compare(made.before, made.run).sentence, err=True)
    if not ran:
        click.echo("there are no results in it: nothing ran", err=True)
    ctx.exit(code)
