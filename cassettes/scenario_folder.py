"""The user's own folder of scenarios, and the lines of its files that errors are about.

The environment variable `VARIABLE` names the folder, so that worker processes have it too. Its scenarios replace those
of this package.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from pathlib import Path

from .errors import InvalidScenario

VARIABLE = "TOOLPARITY_SCENARIOS"
#: The variable of the library in which the cassettes of the user's scenarios are, and its default.
LIBRARY_VARIABLE, _LIBRARY = "TOOLPARITY_CASSETTES", "cassettes"

_TABLE = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_.-]+)\s*\]\]?")
_KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
_STEP = re.compile(r"\.?([A-Za-z_]\w*)|\[(\d+)\]")
_FIELD = re.compile(r"(?:unknown|required) field `(\w+)`")
_ROUND = re.compile(r"round (\d+)")
_LINE = re.compile(r"at line (\d+)")

#: A place in a file: names of members and indexes in lists.
_Place = tuple[str | int, ...]


def own_folder() -> Path | None:
    """Return the user's folder of scenarios, or None if the shipped ones are used."""
    name = os.environ.get(VARIABLE, "").strip()
    return Path(name) if name else None


def own_library() -> Path:
    """Return the library in which the cassettes of the user's scenarios are."""
    return Path(os.environ.get(LIBRARY_VARIABLE, "").strip() or _LIBRARY)


def located(error: InvalidScenario | UnicodeDecodeError, file: Traversable) -> InvalidScenario:
    """Return the error of a scenario file with the file and the line, and what to do."""
    if isinstance(error, UnicodeDecodeError):
        hint = "save it as UTF-8"
        return InvalidScenario(f"the file is not UTF-8: {error.reason}", where=str(file), hint=hint)
    where = f"{file}:{line_of(file.read_text('utf-8'), error.what)}"
    return InvalidScenario(error.what, where=where, hint="the documentation of scenarios shows a complete file")


def line_of(text: str, problem: str) -> int:
    """Return the line of a scenario file that the text of a problem is about; 1 if it is about the whole file."""
    if (stated := _LINE.search(problem)) is not None:
        return int(stated[1])
    wanted = _place(problem)
    best, line = 0, 1
    for number, place in _places(text):
        shared = next((n for n, (a, b) in enumerate(zip(place, wanted, strict=False)) if a != b), None)
        depth = min(len(place), len(wanted)) if shared is None else 0
        if depth > best:
            best, line = depth, number
    return line


def _place(problem: str) -> _Place:
    """Return the place that a message names, as in ``Expected `int` - at `$.rounds[0].parts[1].index```."""
    path = problem.rpartition("at `$")[2].rstrip("`") if "at `$" in problem else ""
    steps: list[str | int] = [match[1] or int(match[2]) for match in _STEP.finditer(path)]
    if (field := _FIELD.search(problem)) is not None and "unknown" in field[0]:
        steps.append(field[1])
    if not steps and (round := _ROUND.search(problem)) is not None:
        steps = ["rounds", int(round[1]) - 1]
    return tuple(steps)


def _places(text: str) -> Iterator[tuple[int, _Place]]:
    """Yield the lines of tables and of members in a TOML file, each with its place."""
    counts: dict[_Place, int] = {}
    table: _Place = ()
    for number, line in enumerate(text.splitlines(), 1):
        if (header := _TABLE.fullmatch(line.partition("#")[0].rstrip())) is not None:
            table = _of_table(header[2].split("."), counts, repeated=header[1] == "[[")
            yield number, table
        elif (key := _KEY.match(line)) is not None:
            yield number, (*table, key[1])


def _of_table(names: list[str], counts: dict[_Place, int], *, repeated: bool) -> _Place:
    """Return the place of a table. ``counts``: the tables so far in each list, which a list of tables continues."""
    place: _Place = ()
    for index, name in enumerate(names):
        place = (*place, name)
        last = index == len(names) - 1
        if last and repeated:
            counts[place] = counts.get(place, 0) + 1
        if place in counts:
            place = (*place, counts[place] - 1)
    return place
