"""How wide standard output is, and whether it shows colours."""

from __future__ import annotations

import os
import shutil
import sys


def width() -> int:
    """Columns. A file or a pipe has no width: there tables are not split."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else 10_000


def colour() -> bool:
    """Whether to write colours: not into files, and not where the user wants none."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
