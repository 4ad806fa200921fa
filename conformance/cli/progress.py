"""A progress bar for long work: only on a terminal, and only after a delay."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

import click

#: The delay before the bar appears.
PATIENCE_SECONDS = 2.0


class Progress:
    """A context manager. ``advance`` moves the bar; ``note`` writes a line to stderr without corrupting it."""

    def __init__(self, length: int, label: str) -> None:
        self._length = length
        self._label = label
        self._began = time.monotonic()
        self._done = 0
        self._bar: Any = None
        self._wanted = sys.stderr.isatty() and length > 0

    def advance(self, amount: int) -> None:
        """Add ``amount`` to the finished part of the length."""
        self._done += amount
        if self._bar is not None:
            self._bar.update(amount)
        elif self._wanted and time.monotonic() - self._began > PATIENCE_SECONDS:
            self._bar = click.progressbar(length=self._length, label=self._label, file=sys.stderr)
            self._bar.__enter__()
            self._bar.update(self._done)

    def note(self, text: str) -> None:
        """Write a line to stderr."""
        if self._bar is not None:
            click.echo("\r\x1b[K", nl=False, err=True)
        click.echo(text, err=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.__exit__(kind, error, trace)
