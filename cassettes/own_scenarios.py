"""The choice of the user's own scenarios, for the command line and the pytest plug-in."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any

from . import scripts
from .errors import InvalidScenario
from .scenario_folder import VARIABLE

#: Selects the shipped scenarios although the project names a folder.
SHIPPED = "shipped"
_caches: list[Callable[[], None]] = [scripts.scenario_files.cache_clear, scripts.scripts.cache_clear]


def of_scenarios(cached: _lru_cache_wrapper[Any]) -> None:
    """Register a cache of what the scenarios contain: `use` clears it."""
    _caches.append(cached.cache_clear)


def use(folder: Path | None) -> None:
    """Use the scenarios of a folder, or with None the shipped ones. Raises InvalidScenario if there are none."""
    if folder is None:
        os.environ.pop(VARIABLE, None)
    else:
        if not folder.is_dir():
            raise InvalidScenario("the folder of scenarios does not exist", where=str(folder))
        if not any(folder.glob("*.toml")):
            hint = "write one file for each scenario, named ID.toml; the documentation of scenarios shows one"
            raise InvalidScenario("the folder has no scenario", where=str(folder), hint=hint)
        os.environ[VARIABLE] = str(folder.resolve())
    for clear in _caches:
        clear()


def of_project(folder: Path) -> Path | None:
    """Return the folder that ``scenarios`` of [tool.toolparity] in pyproject.toml names, or None if it is none.

    A list of patterns, which only chooses among scenarios, is not a folder.
    """
    try:
        table = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return None
    named = table.get("tool", {}).get("toolparity", {}).get("scenarios")
    return folder / named if isinstance(named, str) else None
