"""The runs of a verification over time, one a line in a file of JSON lines: rates only, no requests and no replies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from toolparity.cassettes.library.locks import locked
from toolparity.turns.secrets import without_credentials

from .errors import EndpointFailed
from .rates import Pairs, Rate
from .report import Verification


class Run(Struct, frozen=True, omit_defaults=True):
    """One run. ``checks``: check -> its rate. ``pairs``: check -> what this endpoint and the ``reference`` passed."""

    date: str
    toolparity: str
    url: str
    wire: str
    model: str
    scenarios: list[str]
    modes: list[str]
    checks: dict[str, Rate]
    reference: str = ""
    pairs: dict[str, Pairs] = {}
    asked: str = ""  # see `Verification`

    def __post_init__(self) -> None:
        if not all(0 <= rate.passed <= rate.judged != 0 for rate in self.checks.values()):
            raise ValueError("a rate needs observations")

    def asks_the_same(self, other: Run) -> bool:
        """Return whether another run asked the same endpoint and model the same."""
        members = ("url", "wire", "model", "scenarios", "modes", "asked")
        return all(getattr(self, name) == getattr(other, name) for name in members)


def run_of(result: Verification) -> Run:
    """Return what a history keeps of a result. Credentials in its texts are replaced."""
    rates = {check.check: Rate(check.passed, check.judged) for check in result.checks if check.judged}
    own = (result.date, result.toolparity, result.url, result.wire, result.model, result.scenarios, result.modes)
    if (reference := result.reference) is None:
        return without_credentials(Run(*own, rates, asked=result.asked))
    pairs = {one.check: one.pairs for one in reference.checks}
    return without_credentials(Run(*own, rates, f"{reference.url}, {reference.model}", pairs, result.asked))


def read(path: Path) -> list[Run]:
    """Return the runs in a file, none if it is missing. The line of a writer that was killed is left out.

    Raises EndpointFailed if the file is not a history.
    """
    content = path.read_bytes() if path.exists() else b""
    lines = [line for line in content.splitlines() if line.strip()]
    runs = [*_runs(lines)]
    torn = len(lines) == 1 and not content.endswith(b"\n") and b'{"date":'.startswith(lines[0][:8])
    if lines and not runs and not torn:
        raise EndpointFailed("the file is not a history of runs", where=str(path), hint="name another one")
    return runs


def append(path: Path, run: Run) -> list[Run]:
    """Add a run to a file, and return all of its runs. Other processes that add a run meanwhile wait."""
    with locked(path.absolute().parent):
        runs = read(path)
        with path.open("a+b") as file:
            file.seek(max(file.tell() - 1, 0))
            torn = file.read() not in (b"", b"\n")
            file.write(b"\n" * torn + msgspec.json.encode(run) + b"\n")
            file.flush()
            os.fsync(file.fileno())
    return [*runs, run]


def _runs(lines: list[bytes]) -> Iterator[Run]:
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=Run)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
