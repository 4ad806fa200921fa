"""Reports unreadable places on stderr: one line for each file and kind of problem, and one for skipped files."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from toolparity.cassettes.sources import Problem

_NAMED = 3


class Problems:
    """A context manager that groups problems. ``add`` takes them in the order of the input.

    The lines of a file are written when a problem of the next file arrives, or at exit. ``faults``: how many places
    make the result incomplete.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._path = ""
        self._kinds: dict[str, tuple[Problem, int]] = {}
        self._skipped: list[str] = []
        self._skips = 0
        self.faults = 0

    def add(self, problem: Problem) -> None:
        """Count a problem.

        Its kind is the text before the first colon, because the rest differs from place to place.
        """
        if not problem.fault:
            self._skips += 1
            if len(self._skipped) < _NAMED:
                self._skipped.append(problem.source)
            return
        self.faults += 1
        path = problem.source.rpartition("#")[0] or problem.source
        if path != self._path:
            self._flush()
            self._path = path
        kind = problem.what.partition(":")[0]
        first, count = self._kinds.get(kind, (problem, 0))
        self._kinds[kind] = (first, count + 1)

    def _flush(self) -> None:
        for problem, count in self._kinds.values():
            self._write(str(problem) if count == 1 else f"{problem}; {count:,} places like this in the file")
        self._kinds.clear()

    def __enter__(self) -> Problems:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._flush()
        if self._skips:
            names = ", ".join(self._skipped) + (", …" if self._skips > len(self._skipped) else "")
            files = "1 file" if self._skips == 1 else f"{self._skips:,} files"
            self._write(f"skipped {files} without traffic: {names}")
