"""The choice of the user's own scenarios, for the command line and the pytest plug-in."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from toolparity.cassettes import scripts
from toolparity.cassettes.errors import InvalidScenario
from toolparity.cassettes.scenario_folder import VARIABLE

from . import scenarios, traffic

#: Selects the shipped scenarios although the project names a folder.
SHIPPED = "shipped"


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
    for cached in (scripts.scenario_files, scripts.scripts, scenarios.scenarios, traffic.responses):
        cached.cache_clear()


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
