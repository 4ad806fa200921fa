"""Options and arguments that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from toolparity.normalizer.policies import POLICIES
from toolparity.normalizer.wires.registry import names
from toolparity.reports.files import ReportNotWritten, unwritable

from ..sources import FORMATS
from .names import Named


class OutputFile(click.Path):
    """A file to write (- is standard output), or with ``folder`` a directory to write into.

    It is checked when the options are parsed, so that a long run does not fail at the end because of its output.
    """

    def __init__(self, *, folder: bool = False, stdout: bool = True) -> None:
        super().__init__(path_type=Path, file_okay=not folder, dir_okay=folder, allow_dash=stdout and not folder)
        self._folder = folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path: Any = super().convert(value, param, ctx)
        if str(value) == "-" and not self.allow_dash:
            self.fail("it cannot be written to standard output: name a file", param, ctx)
        if not (self.allow_dash and str(path) == "-"):
            must_be_writable(path, param, ctx, folder=self._folder)
        return path


def must_be_writable(
    path: Path, param: click.Parameter | None = None, ctx: click.Context | None = None, *, folder: bool = False
) -> None:
    """Raise click.BadParameter if the path cannot be written."""
    why = unwritable(path, folder=folder)
    if why:
        raise click.BadParameter(f"{str(path)!r} cannot be written: {why}", ctx, param)


_Decorator = Callable[[Any], Any]

#: Whether a path exists is checked when it is read: a missing one does not stop the others.
paths: _Decorator = click.argument("paths", nargs=-1, required=True, type=click.Path())
wire: _Decorator = click.option(
    "--wire", type=Named("wire", names()), help="The wire of input that does not show it, such as a single body."
)
format: _Decorator = click.option(
    "--format",
    "format",
    type=Named("format", FORMATS),
    help="The format of the input, if its name and beginning do not show it.",
)
column: _Decorator = click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME",
    help="A column that holds the entry, in Parquet, a database (TABLE.COLUMN) or JSON lines. Repeat it for several "
    "columns that hold its members, such as request and response, or request=NAME and response=NAME.",
)
policy: _Decorator = click.option(
    "--policy",
    type=Named("policy", POLICIES),
    default="all",
    show_default=True,
    help="Which client calls are executed: the first that can run, all concurrently, or all in order.",
)
limit: _Decorator = click.option(
    "--limit", type=click.IntRange(min=0), metavar="N", help="Keep at most N calls of a response."
)
jobs: _Decorator = click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Number of worker processes.  [default: one per core]"
)


_STDOUT = "-"


def is_stdout(path: Path | None) -> bool:
    """Return whether the path means standard output."""
    return str(path) == _STDOUT


def put(path: Path, data: bytes) -> None:
    """Write data to a file or to standard output. Raises ReportNotWritten."""
    if is_stdout(path):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        path.write_bytes(data)
    except OSError as error:
        raise ReportNotWritten(error.strerror or str(error), where=str(path)) from None
