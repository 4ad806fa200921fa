"""The option --scenarios of several commands: the user's own folder of scenarios."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..errors import InvalidScenario
from ..scenario_folder import VARIABLE

_Decorator = Callable[[Any], Any]


def _choose(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Use the folder of the option, of the environment or of pyproject.toml, until the command ends."""
    from .. import own_scenarios as own

    before = os.environ.get(VARIABLE)
    if value is None and before is None:
        folder = own.of_project(Path())
    else:
        named = value if value is not None else before
        folder = None if named == own.SHIPPED else Path(str(named))
    if folder is None and before is None:
        return
    try:
        own.use(folder)
    except InvalidScenario as error:
        raise click.BadParameter(str(error), ctx, param) from None
    ctx.call_on_close(lambda: own.use(None if before is None else Path(before)))


scenarios: _Decorator = click.option(
    "--scenarios",
    "scenario_folder",
    metavar="DIR|shipped",
    is_eager=True,
    expose_value=False,
    callback=_choose,
    help="Use the scenarios of this folder instead of the shipped ones (also TOOLPARITY_SCENARIOS, and scenarios of "
    "[tool.toolparity] in pyproject.toml).",
)
