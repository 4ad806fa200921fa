"""Which cases a run takes: the plain run's sample, all with `--thorough`, or one share of them.

    collected cases -> plain: the sample of tests marked `thorough`; no page or service without a change
                    -> --pages [K/N]: these pages, and services, too, or a part of them
                    -> --thorough: everything; --share K/N: the Kth of N parts of what the others leave out

With `-n`, each worker collects only its lane: some of the files. So no file is imported twice.
"""

from __future__ import annotations

import random
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from zlib import crc32

import pytest

from tests.support import thoroughness
from toolparity.cassettes.surfaces import SURFACES

ROOT = Path(__file__).resolve().parents[2]


#: Of cases that differ only in their wire or surface, the plain run keeps this many. Other tests keep other wires.
WIRES = 3


class Share(NamedTuple):
    """One of ``count`` parts of some cases; ``number`` counts from 1."""

    number: int
    count: int

    def has(self, id: str) -> bool:
        """Return whether a case is in this part. It follows from the id alone, so a new case moves no other."""
        return crc32(id.encode()) % self.count == self.number - 1


def share(text: str) -> Share:
    """Parse ``K/N``. Raises ValueError."""
    number, slash, count = text.partition("/")
    if not (slash and number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise ValueError(f"a share is K/N with 1 <= K <= N, such as 3/14, got {text!r}")
    return Share(int(number), int(count))


def taken(
    items: Sequence[pytest.Item], *, thorough: bool = False, share: Share | None = None, pages: Share | None = None
) -> list[pytest.Item]:
    """Return the cases of a run. The plain run, all pages and all shares together have each case.

    Those of modules that themselves try more with `--thorough` are also in a share.
    """
    if thorough and share is None:
        return list(items)
    others = _left_out(items, pages=pages if share is None else Share(1, 1))
    if share is not None:
        return [item for item in items if (item in others or _tries_more(item)) and share.has(item.nodeid)]
    return [item for item in items if item not in others]


def _left_out(items: Sequence[pytest.Item], *, pages: Share | None) -> set[pytest.Item]:
    """Return the cases that only `--thorough` runs, and those that await a change and are not in ``pages``."""
    found = set()
    groups: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    keep: dict[tuple[str, str], int] = {}
    for item in items:
        if not (pages and pages.has(item.nodeid)) and _awaits_change(item):
            found.add(item)
            if pages is None:
                continue  # else it is counted below, so that the parts of the pages are those of the same cases
        marker = item.get_closest_marker("thorough")
        parameters = getattr(item, "callspec", SimpleNamespace(params={})).params
        if marker is not None:
            group = item.nodeid.split("[")[0], marker.kwargs.get("per", "").format_map(parameters)
            groups[group].append(item)
            keep[group] = marker.kwargs.get("keep", 0)
        elif wire := next((value for value in parameters.values() if isinstance(value, str) and value in SURFACES), ""):
            group = item.nodeid.replace(wire, "{wire}", 1), ""
            groups[group].append(item)
            keep[group] = WIRES
    # The same cases in each run, spread over all parameters, and a new case does not change which others are taken.
    for group, cases in groups.items():
        found.update(sorted(cases, key=lambda case: crc32(case.nodeid.encode()))[keep[group] :])
    return found


def _tries_more(item: pytest.Item) -> bool:
    """Return whether the module of a case asks how many examples to try."""
    module = getattr(item, "module", None)
    return any(
        getattr(module, name, None) is getattr(thoroughness, name) for name in ("examples", "sampled", "is_thorough")
    )


def _awaits_change(item: pytest.Item) -> bool:
    """Return whether an item is a page or a service of which nothing changed."""
    marks = [mark for name in ("page", "service") if (mark := item.get_closest_marker(name)) is not None]
    own = item.path.relative_to(ROOT).as_posix()
    return any(not _is_changed((*mark.args, own)) for mark in marks)


def _is_changed(sources: Iterable[str]) -> bool:
    return any(path == source or path.startswith(f"{source}/") for source in sources for path in changed_paths())


@cache
def changed_paths() -> tuple[str, ...]:
    """Return the files that differ from the branch that this one follows: committed, uncommitted and new ones."""
    commands = ("diff --name-only @{upstream}...", "diff --name-only HEAD", "ls-files --others --exclude-standard")
    return tuple(line for command in commands for line in _git(*command.split()).splitlines())


def _git(*arguments: str) -> str:
    """Return what git prints, or "" without git, without a repository or without a branch to compare with."""
    try:
        return subprocess.run(("git", *arguments), cwd=ROOT, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def shuffle(items: list[pytest.Item], seed: str) -> None:
    """Shuffle the files, and the cases of each. Those of one file stay together, so that it makes its fixtures once."""
    order = random.Random(seed)
    files: dict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        files[item.path].append(item)
    shuffled = list(files.values())
    order.shuffle(shuffled)
    for cases in shuffled:
        order.shuffle(cases)
    items[:] = [item for cases in shuffled for item in cases]


def lane(path: Path, workers: int) -> int:
    """Return the number of the worker, from 0, that runs a file of tests.

    A lane has neighbouring files, which need the same libraries: each of them takes seconds to import, and 50 MB.
    """
    return _lanes(workers)[path.resolve()]


@cache
def _lanes(workers: int) -> dict[Path, int]:
    """Return the lane of each file. The time of a file is estimated by the square root of its size."""
    lanes: dict[Path, int] = {}
    files = sorted((ROOT / "tests").rglob("*.py"))
    sizes = [path.stat().st_size ** 0.5 for path in files]
    before, total = 0.0, sum(sizes)
    for path, size in zip(files, sizes, strict=True):
        lanes[path] = int((before + size / 2) * workers / total)
        before += size
    return lanes
