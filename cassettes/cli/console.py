"""Standard output and standard error: width, colours, progress, and the list of unreadable places."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import click

from toolparity.reports.escape import visible
from toolparity.reports.terminal import Section, render

from ..sources import Problem

if TYPE_CHECKING:
    from rich.progress import Progress

#: The delay before the progress bar appears.
DELAY_SECONDS = 2.0
#: How often a run reports its progress in lines, where standard error is not a terminal.
LINE_SECONDS = 30.0
#: How many skipped files are named.
_NAMED = 3


def width() -> int:
    """Return the number of columns. A file or a pipe counts as very wide, so that tables are not split."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else 10_000


def use_colour() -> bool:
    """Return whether to write colours: only to a terminal, and not if the user disabled them (NO_COLOR, TERM=dumb)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show(sections: Sequence[Section]) -> None:
    """Print the sections of a report."""
    text = render(sections, width=width(), colour=use_colour())
    if text.strip():
        click.echo(text, nl=False)


class ProgressBar:
    """A context manager that shows a progress bar, after a delay. Without a terminal it is a line now and then.

    ``length``: the total amount of work, in the units of ``advance``.
    """

    def __init__(self, length: int, label: str) -> None:
        self._length = length
        self._label = label
        self._done = 0
        self._is_bar = sys.stderr.isatty()
        self._shows_from = time.monotonic() + (DELAY_SECONDS if self._is_bar else LINE_SECONDS)
        self._bar: Progress | None = None

    def advance(self, amount: int) -> None:
        """Add ``amount`` to the finished part of the length."""
        self._done += amount
        if self._length <= 0:
            return
        if not self._is_bar:
            if time.monotonic() > self._shows_from and self._done < self._length:
                click.echo(f"{self._label}: {100 * self._done // self._length} %", err=True)
                self._shows_from = time.monotonic() + LINE_SECONDS
            return
        if self._bar is None and time.monotonic() > self._shows_from:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True, redirect_stdout=False)
            self._bar.add_task(self._label, total=self._length)
            self._bar.start()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done)

    def note(self, text: str) -> None:
        """Write a line to standard error, above the bar."""
        if self._bar is None:
            click.echo(text, err=True)
        else:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


class Steps:
    """A context manager that shows the current step of a long operation, and how long it runs.

    On a terminal it is one line that disappears at the end. Elsewhere each kind of step, which is its first word, is
    written once.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._kinds: set[str] = set()
        self._progress: Progress | None = None

    def report(self, step: str) -> None:
        """Show a step."""
        if self._progress is not None:
            self._progress.update(self._progress.task_ids[0], description=f"{self._label}: {step}")
        elif (kind := step.partition(" ")[0]) not in self._kinds:
            self._kinds.add(kind)
            click.echo(f"{self._label}: {step} ...", err=True)

    def note(self, text: str) -> None:
        """Write a line that remains, above the step."""
        if self._progress is None:
            click.echo(text, err=True)
        else:
            self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Steps:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
            self._progress.add_task(self._label, total=None)
            self._progress.start()
        else:
            click.echo(f"{self._label} ...", err=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()


class Problems:
    """A context manager that groups unreadable places: one line for each file and kind of problem.

    The lines of a file are written when a problem of the next file arrives, or at exit. ``faults``: how many places
    make the result incomplete.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._path = ""
        self._kinds: dict[tuple[str, bool], tuple[Problem, int]] = {}
        self._skipped: list[str] = []
        self._skipped_count = 0
        self.faults = 0

    def add(self, problem: Problem, count: int = 1) -> None:
        """Count a problem, or the first of ``count`` similar ones. Problems must arrive in the order of the input."""
        if problem.folder:
            self._write(visible(str(problem)))
            return
        if not problem.fault:
            self._skipped_count += count
            if len(self._skipped) < _NAMED:
                self._skipped.append(problem.source)
            return
        self.faults += count
        path = problem.source.rpartition("#")[0] or problem.source
        if path != self._path:
            self._flush()
            self._path = path
        first, before = self._kinds.get(problem.kind, (problem, 0))
        self._kinds[problem.kind] = (first, before + count)

    def _flush(self) -> None:
        for problem, count in self._kinds.values():
            text = visible(str(problem))
            self._write(text if count == 1 else f"{text}; {count:,} similar places in the file")
        self._kinds.clear()

    def __enter__(self) -> Problems:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._flush()
        if self._skipped_count:
            names = ", ".join(self._skipped) + (", …" if self._skipped_count > len(self._skipped) else "")
            files = "1 file" if self._skipped_count == 1 else f"{self._skipped_count:,} files"
            self._write(visible(f"skipped {files} without traffic: {names}"))
