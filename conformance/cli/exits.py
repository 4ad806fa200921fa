"""The exit codes of all commands, and the choice of the code of a run."""

from __future__ import annotations

import click

ALL_WELL = 0
FAILED = 1  # a verdict or a finding that the caller asked to fail on
USAGE = 2  # click's code
STALE_BASELINE = 3
FAULT = 4  # of the suite or its input, or an output that cannot be written
NOTHING_RAN = 5
INTERRUPTED = 130

TABLE = """\
0 all well · 1 checks failed · 2 usage · 3 a stale baseline · 4 input that cannot be read, output that cannot be
written, or a fault of toolparity · 5 nothing ran · 130 interrupted. Where the reader of standard output leaves
(`| head`), the output ends quietly; the code is that of the finished run, or 0."""
_DECIDED = "toolparity.exit_code"


def decide(ctx: click.Context, code: int) -> int:
    """Store the exit code of a finished run before its output is written, so that a closed pipe does not change it."""
    ctx.meta[_DECIDED] = code
    return code


def decided(ctx: click.Context | None) -> int:
    """Return the stored exit code of a command whose output ended early; 0 if none is stored."""
    return ALL_WELL if ctx is None else ctx.meta.get(_DECIDED, ALL_WELL)


def code(*, failed: bool = False, faults: int = 0, ran: int) -> int:
    """Return the exit code of a run. Failed checks take precedence over faults, and faults over an empty run."""
    if failed:
        return FAILED
    if faults:
        return FAULT
    return ALL_WELL if ran else NOTHING_RAN
