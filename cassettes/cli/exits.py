"""Exit codes, and errors of commands as one line on standard error: never a traceback."""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

import click

from toolparity.normalizer.errors import ToolparityError

from .stopping import Terminated

ALL_WELL = 0
FAILED = 1  # a verdict or a finding that the caller asked to fail on
USAGE = 2  # click's code
STALE_BASELINE = 3
FAULT = 4  # of the suite or its input, or an output that cannot be written
NOTHING_RAN = 5
FAILED_AND_STALE = 6  # both 1 and 3
INTERRUPTED = 130

EPILOG = """\
Exit codes: 0 success · 1 a check failed · 2 usage error · 3 stale baseline · 4 input that cannot be read, output that
cannot be written, an internal error, or a run that a budget ended early · 5 nothing ran · 6 a check failed and the
baseline is stale · 130 interrupted · 143 terminated (commands that serve: 0).
If the reader of standard output closes it (`| head`), the command ends silently, with the code of the finished run
or 0."""
_DECIDED = "toolparity.exit_code"

#: Top-level module -> the extra that installs it, if it is not "conformance".
_EXTRAS = {
    "alembic": "log",
    "docstring_parser": "turns",
    "jsonschema": "turns",
    "psycopg": "postgres",
    "sqlalchemy": "log",
}
#: Commands that need less than the suite: top-level module -> the extra that is enough.
_ENOUGH = {
    "audit": dict.fromkeys(("jinja2", "markupsafe"), "html"),
    "cassettes": dict.fromkeys(("google", "grpc", "vcr"), "cassettes"),
    "report": dict.fromkeys(("jinja2", "markupsafe"), "html"),
}
_DISTRIBUTIONS = {"google": "protobuf", "grpc": "grpcio", "vcr": "vcrpy"}


def decide(ctx: click.Context, code: int) -> int:
    """Store the exit code of a finished run before its output is written, so that a closed pipe does not change it."""
    ctx.meta[_DECIDED] = code
    return code


def code(*, failed: bool = False, faults: int = 0, ran: int) -> int:
    """Return the exit code of a run. Failed checks take precedence over faults, and faults over an empty run."""
    if failed:
        return FAILED
    if faults:
        return FAULT
    return ALL_WELL if ran else NOTHING_RAN


@contextlib.contextmanager
def from_errors(ctx: click.Context | None) -> Iterator[None]:
    """Print errors and raise click's Exit with the matching code. Standard output is flushed first."""
    try:
        try:
            yield
        except click.exceptions.Exit:
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the pipe (`| head`)
        _discard_stdout()
        raise click.exceptions.Exit(ALL_WELL if ctx is None else ctx.meta.get(_DECIDED, ALL_WELL)) from None
    except Terminated as error:
        if error.code:
            _say("terminated")
        raise click.exceptions.Exit(error.code) from None
    except KeyboardInterrupt:
        _say("interrupted")
        raise click.exceptions.Exit(INTERRUPTED) from None
    except ToolparityError as error:
        _say(f"toolparity: {error}")
        raise click.exceptions.Exit(FAULT) from None
    except ModuleNotFoundError as error:
        _say(f"toolparity: {missing_extra(error, ctx.invoked_subcommand if ctx else None)}")
        raise click.exceptions.Exit(USAGE) from None
    except OSError as error:
        _discard_stdout()
        where = f"{error.filename}: " if error.filename else "the output cannot be written: "
        _say(f"toolparity: {where}{error.strerror or error}")
        raise click.exceptions.Exit(FAULT) from None


def prepare_streams() -> None:
    """Replace streams whose file descriptor is closed (`>&-`), and escape characters that standard output cannot show.

    Writing to a closed standard output raises OSError like any other output error; standard error discards what is
    written, and escapes by default. A console of Windows, or the locale C, has few characters.
    """
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_ClosedStdout()))
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (until the process ends)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    _flush_stderr_at_exit()


@functools.cache
def _flush_stderr_at_exit() -> None:
    """Let what standard error cannot take be lost. The interpreter would write it again, and exit with 120.

    Registered once in a process.
    """

    def flush() -> None:
        try:
            sys.stderr.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                _redirect_to_null(sys.stderr)

    atexit.register(flush)


class _ClosedStdout(io.RawIOBase):
    """Standard output that was closed before the program started."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise OSError(errno.EBADF, "standard output is closed")


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        click.echo(text, err=True)


def _discard_stdout() -> None:
    """Redirect standard output to null, because otherwise the interpreter reports the unwritten buffer at exit."""
    try:
        _redirect_to_null(sys.stdout)
    except (OSError, ValueError):
        sys.stdout = io.StringIO()


def _redirect_to_null(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def missing_extra(error: ModuleNotFoundError, command: str | None) -> str:
    """Return what to install for a missing module. Re-raises the error if the module belongs to toolparity."""
    module = (error.name or "").partition(".")[0]
    if module in ("", "toolparity"):
        raise error
    extra = {**_EXTRAS, **_ENOUGH.get(command or "", {})}.get(module, "conformance")
    module = _DISTRIBUTIONS.get(module, module)
    return f"{module} is not installed; install it with: pip install 'toolparity[{extra}]'"


def unavailable(name: str, error: ModuleNotFoundError) -> click.Command:
    """Return a command that ends with exit code 2 and says what to install, whatever its arguments are."""
    reason = missing_extra(error, name)

    def refuse() -> None:
        raise click.UsageError(f"{name} cannot run: {reason}")

    return click.Command(
        name,
        callback=refuse,
        help=f"Not available: {reason}",
        short_help="(not available: needs an extra, see its --help)",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
