"""What the commands that audit share: the options for their output, the output, and the exit code."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from toolparity.cassettes.cli import console, exits, options
from toolparity.cassettes.cli.names import unknown
from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Policy

from ..report import as_json, sections
from ..sarif import render as render_sarif
from ..summary import ALL_CODES, SEVERITIES, Audit


class FailOn(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A finding code or a severity."""

    name = "code|severity"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in ALL_CODES or value in SEVERITIES:
            return value
        known = [*SEVERITIES, *ALL_CODES]
        raise click.BadParameter(unknown("severity or finding code", value, known), ctx, param)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options ``fail_on``, ``as_data``, ``page`` and ``sarif``, which `show` takes."""
    command = click.option(
        "--sarif",
        type=options.OutputFile(),
        metavar="FILE",
        help="Write the findings as SARIF, for code scanning; - is standard output.",
    )(command)
    command = click.option(
        "--html",
        "page",
        type=options.OutputFile(),
        metavar="FILE",
        help="Write the counts as an HTML page; - is standard output.",
    )(command)
    command = click.option("--json", "as_data", is_flag=True, help="Print the counts as one JSON object.")(command)
    return click.option(
        "--fail-on",
        type=FailOn(),
        multiple=True,
        help="Exit with 1 on this finding, or on any finding of this severity or a higher one. Repeatable.",
    )(command)


def check_outputs(*, as_data: bool, page: Path | None, sarif: Path | None) -> None:
    """Raise click.UsageError if two outputs go to standard output, and ModuleNotFoundError if a page needs an extra."""
    if page is not None:
        import_module("toolparity.audit.pages.audit")  # before the audit, which can take long
    to_stdout = {"--json": as_data, "--html -": options.is_stdout(page), "--sarif -": options.is_stdout(sarif)}
    if len(names := [name for name, used in to_stdout.items() if used]) > 1:
        raise click.UsageError(f"{names[0]} and {names[1]} both write to standard output")


def show(
    ctx: click.Context,
    audit: Audit,
    *,
    policy: Policy,
    limit: int | None,
    fail_on: tuple[str, ...],
    as_data: bool,
    page: Path | None,
    sarif: Path | None,
) -> NoReturn:
    """Print the audit, write its page and its SARIF file, and end the command with the exit code of the result."""
    hits = [name for name in fail_on if audit.found(name)]
    code = exits.decide(ctx, exits.code(failed=bool(hits), faults=audit.faults, ran=audit.audited))
    # Print first: the figures are shown even if the page cannot be written.
    if as_data:
        click.echo(json_codec.encode_line(as_json(audit, policy, limit)), nl=False)
    elif not (options.is_stdout(page) or options.is_stdout(sarif)):
        console.show(sections(audit, limit))
    if page is not None:
        from ..pages.audit import render as render_page

        options.put(page, render_page(as_json(audit, policy, limit)))
    if sarif is not None:
        document, left_out = render_sarif(audit)
        options.put(sarif, json_codec.encode_line(document))
        if left_out:
            click.echo(f"{sarif}: {left_out:,} further findings are counted, but not listed", err=True)
    for name in hits:
        click.echo(f"--fail-on {name}: found {audit.found(name):,}", err=True)
    if not audit.audited and not audit.faults:
        click.echo(
            "nothing was audited: the input has no exchange of a known wire "
            "(pass recorded requests and responses; --explain shows how each file was read)",
            err=True,
        )
    ctx.exit(code)
