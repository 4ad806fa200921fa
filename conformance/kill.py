"""The kill matrix: which law fails which known-bad subject. A law that fails nobody, or a subject that its law does
not fail, is a hole in the suite.
"""

from __future__ import annotations

from msgspec import Struct

from reports.terminal import Cell, Lines, Section, Table

from .bench import Bench, Choice
from .checks import LAWS
from .known_bad import KnownBad, known_bad


class Killed(Struct):
    """``by``: known-bad subject -> law -> how many cases failed it."""

    by: dict[str, dict[str, int]]

    @property
    def alive(self) -> list[KnownBad]:
        """Those that the law named for them does not fail."""
        return [bad for name, bad in known_bad().items() if not self.by[name].get(bad.law)]

    @property
    def idle(self) -> list[str]:
        """The laws that fail nobody who is there for them."""
        meant = {bad.law for name, bad in known_bad().items() if self.by[name].get(bad.law)}
        return [law for law in LAWS if law not in meant]

    @property
    def perfect(self) -> bool:
        return not self.alive and not self.idle


def killed(choice: Choice) -> Killed:
    """Put every known-bad subject to the suite."""
    cases = list(choice.cases())
    by: dict[str, dict[str, int]] = {}
    for name, bad in known_bad().items():
        counts: dict[str, int] = {}
        bench = Bench(bad.make(), twice=False)
        for case in cases:
            for verdict in bench.verdicts(case):
                if verdict.outcome == "fail":
                    counts[verdict.check] = counts.get(verdict.check, 0) + 1
        by[name] = counts
    return Killed(by)


def matrix(found: Killed) -> list[Section]:
    """For the terminal: a row a known-bad subject, a column a law; its own law is marked."""
    rows: list[list[str | int | Cell]] = []
    for name, bad in known_bad().items():
        counts = found.by[name]
        cells: list[str | int | Cell] = []
        for law in LAWS:
            count = counts.get(law, 0)
            if law == bad.law:
                cells.append(Cell(f"[{count}]", "good" if count else "bad"))
            else:
                cells.append(count)
        rows.append([name, *cells])
    told: list[tuple[Cell, str]] = [
        (Cell(f"ALIVE {bad.name}", "bad"), f"{bad.law} does not fail it: {bad.sentence}") for bad in found.alive
    ]
    told += [(Cell(f"IDLE {law}", "bad"), "no known-bad subject is failed by this law") for law in found.idle]
    dead = len(found.by) - len(found.alive)
    busy = len(LAWS) - len(found.idle)
    told.append(
        (
            Cell(
                f"{dead} of {len(found.by)} known-bad subjects failed by their law; {busy} of {len(LAWS)} laws needed",
                "strong",
            ),
            "",
        )
    )
    return [
        Table("Kill matrix: cases in which a law fails a known-bad subject", ["subject", *LAWS], rows),
        Lines("", told),
    ]
