"""Options and output of commands that report on a run: formats, runs to compare with, and destinations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from toolparity.cassettes.cli import console
from toolparity.cassettes.cli.options import OutputFile, is_stdout, put
from toolparity.reports import formats
from toolparity.reports.compare import compare
from toolparity.reports.files import STDIN, load
from toolparity.reports.results import Report, Run, merge
from toolparity.reports.text import sections

_FILE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each format, and the options that name other runs."""
    command = click.option(
        "--earlier",
        multiple=True,
        type=_FILE,
        metavar="FILE",
        help="Results of an earlier run, for the history in the HTML page. Repeatable.",
    )(command)
    command = click.option(
        "--compare",
        "old",
        multiple=True,
        type=_FILE,
        metavar="OLD",
        help="Results to compare with. A regression exits with 1. Repeatable: parts of one run.",
    )(command)
    for name, format in reversed(formats.FORMATS.items()):
        command = click.option(
            f"--{name}", f"{name}_file", type=OutputFile(), metavar="FILE", help=f"Write {format.help}."
        )(command)
    return command


def outputs(options: dict[str, Any]) -> dict[str, Path]:
    """Return format -> path for the options that are set. Raises click.UsageError if two go to standard output."""
    paths = {name: path for name in formats.FORMATS if (path := options.pop(f"{name}_file")) is not None}
    if sum(map(is_stdout, paths.values())) > 1:
        raise click.UsageError("only one format can be written to standard output")
    return paths


def read_once(*paths: Path) -> None:
    """Raise click.UsageError if standard input is named twice."""
    if sum(str(path) == STDIN for path in paths) > 1:
        raise click.UsageError("standard input can be read only once")


def others(old: Sequence[Path], earlier: Sequence[Path]) -> tuple[Run | None, list[Run]]:
    """Return the run to compare with, or None, and the earlier runs, oldest first. Raises UnreadableResults."""
    read_once(*old, *earlier)
    before = merge([load(path) for path in old]) if old else None
    return before, sorted((load(path) for path in earlier), key=lambda one: one.date)


def show(report: Report) -> None:
    """Print the report for the terminal."""
    console.show(sections(report))


def writes_stdout(outputs: Mapping[str, Path]) -> bool:
    """Return whether a format goes to standard output, so that nothing else may be printed there."""
    return any(map(is_stdout, outputs.values()))


def write(report: Report, outputs: Mapping[str, Path]) -> None:
    """Render each format and write it to its path. Raises ReportNotWritten."""
    for name, path in outputs.items():
        put(path, formats.render(name, report))


def regressed(report: Report) -> bool:
    """Return whether a comparison was requested and found a regression."""
    return report.before is not None and bool(compare(report.before, report.run).regressions)
