"""What commands that report on a run share: an option a format, runs to hold it against, and where it all goes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from toolparity.normalizer.errors import ReportNotWritten
from toolparity.reports import formats
from toolparity.reports.compare import compare
from toolparity.reports.files import STDIN, load
from toolparity.reports.results import Report, Run, merged
from toolparity.reports.terminal import render
from toolparity.reports.text import sections

from . import screen
from .options import Output

_STDOUT = "-"
_FILE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for each format of the table, and those that name other runs."""
    command = click.option(
        "--earlier",
        multiple=True,
        type=_FILE,
        metavar="FILE",
        help="Results of an earlier run, for the history of the page. Repeatable.",
    )(command)
    command = click.option(
        "--compare",
        "old",
        multiple=True,
        type=_FILE,
        metavar="OLD",
        help="Results to compare with: tells what changed; a regression exits with 1. Repeatable: parts of one run.",
    )(command)
    for name, (_, what) in reversed(formats.FORMATS.items()):
        command = click.option(f"--{name}", f"{name}_file", type=Output(), metavar="FILE", help=f"Write {what}.")(
            command
        )
    return command


def files(given: dict[str, Any]) -> dict[str, Path]:
    """Format -> where it goes, of the options that were given. Raises click.UsageError."""
    told = {name: path for name in formats.FORMATS if (path := given.pop(f"{name}_file")) is not None}
    if sum(map(is_stdout, told.values())) > 1:
        raise click.UsageError("only one format can go to standard output")
    return told


def read_once(*paths: Path) -> None:
    """Raises click.UsageError where standard input is asked for twice."""
    if sum(str(path) == STDIN for path in paths) > 1:
        raise click.UsageError("standard input can be read only once")


def others(old: Sequence[Path], earlier: Sequence[Path]) -> tuple[Run | None, list[Run]]:
    """What a run is held against, and its history, oldest first. Raises UnreadableResults."""
    read_once(*old, *earlier)
    before = merged([load(path) for path in old]) if old else None
    return before, sorted((load(path) for path in earlier), key=lambda one: one.date)


def show(made: Report) -> None:
    """The report for the terminal."""
    click.echo(render(sections(made), width=screen.width(), colour=screen.colour()), nl=False)


def taken(told: Mapping[str, Path]) -> bool:
    """Whether a format goes to standard output: then nothing else does."""
    return any(map(is_stdout, told.values()))


def is_stdout(path: Path | None) -> bool:
    """Whether this file is standard output."""
    return str(path) == _STDOUT


def write(made: Report, told: Mapping[str, Path]) -> None:
    """Render each format to where it goes. Raises ReportNotWritten."""
    for name, path in told.items():
        put(path, formats.render(name, made))


def put(path: Path, data: bytes) -> None:
    """Write a file, or standard output. Raises ReportNotWritten."""
    if is_stdout(path):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        path.write_bytes(data)
    except OSError as error:
        raise ReportNotWritten(error.strerror or str(error), where=str(path)) from None


def regressed(made: Report) -> bool:
    """Whether a comparison was asked for and found a regression."""
    return made.before is not None and bool(compare(made.before, made.run).regressions)
