"""`toolparity smoke`: checks quickly whether a subject's connection to the suite or its implementation is wrong."""

from __future__ import annotations

import click

from toolparity.cassettes.cli import exits
from toolparity.normalizer.errors import MissingExtra

from ..errors import InvalidAnswer, UnknownSubject
from ..runner import smoke
from ..subjects import subject
from .subjects import must_be_subjects


@click.command(name="smoke", epilog=exits.EPILOG)
@click.argument("name", metavar="SUBJECT")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 600),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="Timeout for each answer of a program. After the first timeout the program is not called again.",
)
@click.pass_context
def command(ctx: click.Context, name: str, timeout: float) -> None:
    """Check one simple call on each wire that a subject reads, plain and streamed, twice.

    The result shows within seconds what to fix: the connection to the suite (exit 4) or the implementation (exit 1).

    \b
    Examples:
      toolparity smoke my.module:Subject
      toolparity smoke exec:"node subject.mjs"
    """
    must_be_subjects([name])
    try:
        tested = subject(name, timeout=timeout, patience=1)
    except MissingExtra:
        raise
    except (InvalidAnswer, UnknownSubject) as error:
        click.echo(f"connection\thello\t{error}")
        click.echo("The connection is broken: the suite cannot start or import the subject.", err=True)
        ctx.exit(exits.FAULT)
    if hasattr(tested, "close"):
        ctx.call_on_close(tested.close)
    claims = ", ".join(sorted(tested.claims)) or "nothing"
    click.echo(f"ok\thello\t{' '.join(filter(None, (tested.name, tested.version)))}, claims {claims}")
    results = []
    for result in smoke.smoke_results(tested):
        results.append(result)
        click.echo(f"{result.fault or 'ok'}\t{result.wire} {result.mode}\t{result.text}")
    faults = {result.fault for result in results if result.fault}
    if not results:
        click.echo("Nothing ran: the subject reads none of the suite's wires.", err=True)
        ctx.exit(exits.NOTHING_RAN)
    if "connection" in faults:
        click.echo("The connection is broken: the suite cannot read the subject's answers.", err=True)
        ctx.exit(exits.FAULT)
    if faults:
        click.echo("The subject is connected, but its answers differ from the wire.", err=True)
        ctx.exit(exits.FAILED)
    click.echo("The subject is connected and reads a simple call. Continue with toolparity check.", err=True)
