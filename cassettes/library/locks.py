"""Locks that a process holds until it releases them or ends: flock, or the locks of msvcrt on Windows."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def _module(name: str) -> Any:
    with contextlib.suppress(ImportError):
        return importlib.import_module(name)
    return None


_fcntl, _msvcrt = _module("fcntl"), _module("msvcrt")
#: Windows keeps other processes from reading the byte that is locked: one that no cassette has.
_LOCKED_BYTE = 2**31 - 2
_PAUSE = 0.01
#: The folders that each thread has locked.
_held = threading.local()


def acquire(descriptor: int, *, wait: bool = True) -> None:
    """Lock an open file until it is closed. Without ``wait``, raises OSError if another process has locked it."""
    if _fcntl is not None:
        _fcntl.flock(descriptor, _fcntl.LOCK_EX | (0 if wait else _fcntl.LOCK_NB))
        return
    os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
    while True:
        try:
            _msvcrt.locking(descriptor, _msvcrt.LK_NBLCK, 1)
            break
        except PermissionError:
            if not wait:
                raise
            time.sleep(_PAUSE)
    os.lseek(descriptor, 0, os.SEEK_SET)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder, so that one writer at a time replaces files in it. A killed writer releases the lock.

    A thread that holds the lock may enter again: to read a file, change its content, and replace it.
    """
    held: set[Path] = _held.__dict__.setdefault("folders", set())
    if folder in held:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY) if _fcntl is not None else _stand_in(folder)
    try:
        acquire(descriptor)
        held.add(folder)
        yield
    finally:
        held.discard(folder)
        os.close(descriptor)


def _stand_in(folder: Path) -> int:
    """Open the file whose lock is that of the folder. Windows cannot lock a folder itself."""
    name = hashlib.sha256(os.fsencode(os.path.normcase(folder.resolve()))).hexdigest()
    return os.open(Path(tempfile.gettempdir(), f"toolparity-{name[:32]}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
