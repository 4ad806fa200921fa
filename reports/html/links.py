"""Fragment addresses of the page, which `assets/state.js` reads: filters and cases."""

from __future__ import annotations

import re
from urllib.parse import quote

from ..escape import cut
from ..results import Result
from .columns import NAME

_HALVES = re.compile("[\ud800-\udfff]")


def case(result: Result) -> str:
    """Return the address that opens the evidence of a case."""
    parts = (result.subject, result.scenario, result.surface, result.mode, result.policy)
    return f"#case={'/'.join(map(_part, parts))}"


def filtered(**members: str) -> str:
    """Return the address that sets filters, such as ``subject`` and ``law``."""
    return "#" + "&".join(f"{name}={_part(value)}" for name, value in members.items())


def _part(name: str) -> str:
    return quote(_HALVES.sub("\ufffd", cut(name, NAME)), safe="")
