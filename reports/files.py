"""Reading results and histories, and checks of output paths."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from pathlib import Path

import msgspec

from toolparity.normalizer.errors import ToolparityError

from . import versions
from .results import FORMATS, Run, format_of, read

STDIN = "-"
_GZIP = b"\x1f\x8b"
_HINT = "pass a file that toolparity check --json wrote"


class UnreadableResults(ToolparityError, ValueError):
    """A file does not contain the results of a run in a format that this version supports."""


class ReportNotWritten(ToolparityError, OSError):
    """A report could not be written."""


def load(path: Path) -> Run:
    """Load the run of a results file.

    ``-`` is standard input. The function unpacks gzip data. Raises UnreadableResults if the file cannot be read, is not
    JSON, or has another format.
    """
    piped = str(path) == STDIN
    where = "standard input" if piped else str(path)
    try:
        data = sys.stdin.buffer.read() if piped else path.read_bytes()
        if data.startswith(_GZIP):
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableResults(problem, where=where, hint=_HINT) from None
    return _parsed(data, where)


def _parsed(data: bytes, where: str) -> Run:
    try:
        format = format_of(data)
    except msgspec.ValidationError:
        raise UnreadableResults("not the results of a run: other JSON", where=where, hint=_HINT) from None
    except msgspec.DecodeError as error:
        problem = "the file is empty" if not data.strip() else f"not JSON, or incomplete: {error}"
        raise UnreadableResults(problem, where=where, hint=_HINT) from None
    if format not in FORMATS:
        hint = "run the suite again, or use the version of toolparity that wrote the file"
        raise UnreadableResults(
            f"format {format!r} is not supported, only {', '.join(FORMATS)}", where=where, hint=hint
        )
    try:
        return read(data)
    except msgspec.DecodeError as error:
        raise UnreadableResults(f"not valid {format}: {error}", where=where, hint=_HINT) from None


def load_history(path: Path) -> versions.LibraryHistory:
    """Load the history of a library. Raises UnreadableResults if the file cannot be read or is not a history."""
    hint = "pass a file that toolparity history --json wrote"
    try:
        return versions.read(path.read_bytes())
    except OSError as error:
        raise UnreadableResults(error.strerror or str(error), where=str(path), hint=hint) from None
    except msgspec.DecodeError as error:
        raise UnreadableResults(f"not valid {versions.FORMAT}: {error}", where=str(path), hint=hint) from None


def unwritable(path: Path, *, folder: bool = False) -> str:
    """Return why a file cannot be written to ``path``, or "" if it can. The file system is left unchanged.

    With ``folder``, ``path`` is a directory for files, which may be missing. A device or a pipe is not opened, so an
    error of its own shows only when the caller writes to it.
    """
    try:
        if path.is_dir() is not folder and path.exists():
            return "it is not a directory" if folder else "it is a directory"
        if path.exists():
            return "" if os.access(path, os.W_OK) else "permission denied"
        parent = path.parent
        while folder and not parent.exists() and parent != parent.parent:
            parent = parent.parent  # missing parent directories are created later
        if not parent.is_dir():
            return f"{parent} is not a directory" if parent.exists() else f"there is no directory {parent}"
        if not os.access(parent, os.W_OK | os.X_OK):
            return f"permission denied in {parent}"
        if folder:
            return ""
        with open(path, "xb"):  # finds other errors: a read-only file system, a name too long
            pass
        path.unlink()
    except OSError as error:
        return error.strerror or str(error)
    return ""
