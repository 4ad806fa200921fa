"""The width of standard output, and whether to write colours."""

from __future__ import annotations

import os
import shutil
import sys


def width() -> int:
    """Return the number of columns. A file or a pipe counts as very wide, so that tables are not split."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else 10_000


def use_colour() -> bool:
    """Return whether to write colours: only to a terminal, and not if the user disabled them (NO_COLOR, TERM=dumb)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
