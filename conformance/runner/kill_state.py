"""The state of a kill run in a file: the results of the subjects that are done, so that an interrupted run can resume.

The file has one JSON value a line: first what the run is about, then a result for each known-bad subject and for each
task of `survival`, as they finish. A line that was cut by the end of the process is ignored.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from toolparity import __version__
from toolparity.cassettes.scripts import scenario_files

from ..errors import InvalidRunState
from .bench import Death
from .judge import CaseFilter

Value = TypeVar("Value")

#: The folders that decide the results: code, cassettes, scenarios, and the list of equivalent subjects.
_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("cassettes", "conformance", "normalizer", "turns")


class _About(Struct, frozen=True, tag="run"):
    """The run to which the results belong."""

    toolparity: str
    code: str
    cases: CaseFilter


class Counts(Struct, frozen=True, tag="subject"):
    """How often each law fails a known-bad subject in its first scenario."""

    name: str
    by: dict[str, int]


class Deaths(Struct, frozen=True, tag="task"):
    """How the generated subjects of a task fared."""

    name: str
    deaths: list[Death]


class KillState:
    """Results by name. Without a path they are kept nowhere.

    Raises InvalidRunState if the file has results of another run: other code, other scenarios or other cases.
    """

    def __init__(self, path: Path | None, case_filter: CaseFilter) -> None:
        self._path = path
        self._found: dict[tuple[type, str], Counts | Deaths] = {}
        if path is None:
            return
        about = _About(__version__, _code(), case_filter)
        header = msgspec.json.encode(about) + b"\n"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith(b"\n")]
        if not whole and header.startswith(b"".join(lines)):
            path.write_bytes(header)
            return
        try:
            first, *results = [msgspec.json.decode(line, type=_About | Counts | Deaths) for line in whole or lines]
        except msgspec.MsgspecError as error:
            raise InvalidRunState(f"not the state of a kill run: {error}", where=str(path)) from None
        if first != about:
            hint = "delete the file to start again"
            raise InvalidRunState("the results belong to other code or other cases", where=str(path), hint=hint)
        self._found = {(type(each), each.name): each for each in results if not isinstance(each, _About)}
        if len(whole) < len(lines):
            path.write_bytes(b"".join(whole))

    def get(self, kind: type[Value], name: str) -> Value | None:
        """Return the result of a subject or a task, or None if it is not done."""
        found = self._found.get((kind, name))
        return found if isinstance(found, kind) else None

    def add(self, result: Counts | Deaths) -> None:
        """Keep a result."""
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(result) + b"\n")


def _code() -> str:
    """Return a digest of what decides the results, and of scenarios that are elsewhere."""
    digest = hashlib.sha256(repr((sys.version_info[:2], sorted(scenario_files().items()))).encode())
    for package in _PACKAGES:
        for path in sorted(path for path in (_ROOT / package).rglob("*") if path.is_file()):
            if "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(_ROOT).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
