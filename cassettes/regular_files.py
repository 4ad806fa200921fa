"""The check before a file is written under a temporary name and renamed."""

from __future__ import annotations

import contextlib
import errno
import stat
from pathlib import Path


def must_be_regular(path: Path) -> None:
    """Raise OSError if a path is a device, a pipe or a socket: the new file would take its place, even /dev/null."""
    with contextlib.suppress(FileNotFoundError):
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a directory cannot be replaced
            raise OSError(errno.EINVAL, "it is not a regular file")
