"""The exit codes of every command, and which of them a run deserves."""

from __future__ import annotations

ALL_WELL = 0
FAILED = 1  # a verdict or a finding that the caller asked to fail on
USAGE = 2  # click's own
STALE_BASELINE = 3
FAULT = 4  # of the harness or its input
NOTHING_RAN = 5
INTERRUPTED = 130

TABLE = """\
0 all well · 1 something that was asked to fail on · 2 usage · 3 a stale baseline · 4 input that cannot be read, or a
fault of toolparity · 5 nothing ran · 130 interrupted"""


def code(*, failed: bool = False, faults: int = 0, ran: int) -> int:
    """What was asked for outweighs faults; a fault outweighs having nothing to show for it."""
    if failed:
        return FAILED
    if faults:
        return FAULT
    return ALL_WELL if ran else NOTHING_RAN
