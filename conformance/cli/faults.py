"""Turns errors of a command into one line on standard error and an exit code, never a traceback."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator

import click

from toolparity.normalizer.errors import ToolparityError

from . import exits, extras


@contextlib.contextmanager
def turned_into_exits(ctx: click.Context | None) -> Iterator[None]:
    """Print errors and raise click's Exit with the matching code. Standard output is flushed first."""
    try:
        try:
            yield
        except click.exceptions.Exit:
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
        raise click.exceptions.Exit(exits.decided(ctx)) from None  # the reader closed the pipe (`| head`)
    except KeyboardInterrupt:
        _say("interrupted")
        raise click.exceptions.Exit(exits.INTERRUPTED) from None
    except ToolparityError as error:
        _say(f"toolparity: {error}")
        raise click.exceptions.Exit(exits.FAULT) from None
    except ModuleNotFoundError as error:
        _say(f"toolparity: {extras.hint(error)}")
        raise click.exceptions.Exit(exits.USAGE) from None
    except OSError as error:
        _forget_stdout()
        where = f"{error.filename}: " if error.filename else "the output cannot be written: "
        _say(f"toolparity: {where}{error.strerror or error}")
        raise click.exceptions.Exit(exits.FAULT) from None


def replace_closed_streams() -> None:
    """Replace streams whose file descriptor is closed (`>&-`).

    Writing to standard output then raises OSError like any other output error; standard error discards what is written.
    """
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Closed()))
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (until the process ends)


class _Closed(io.RawIOBase):
    """Standard output that was closed before the program started."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise OSError(errno.EBADF, "standard output is closed")


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        click.echo(text, err=True)


def _forget_stdout() -> None:
    """Redirect standard output to null, because otherwise the interpreter reports the unwritten buffer at exit."""
    try:
        descriptor = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    except (OSError, ValueError):
        sys.stdout = io.StringIO()
