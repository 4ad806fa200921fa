"""The table of faults of the stand-in provider."""

from __future__ import annotations

from pathlib import Path

from docs.generate import filled
from toolparity.cassettes.replay.faults import FAULTS


def files() -> dict[Path, str]:
    """Return the page."""
    rows = [f"| `{name}{'' if name == 'empty' else '=N'}` | {option.effect} |" for name, option in FAULTS.items()]
    return filled("serve.md", {"faults": "\n".join(["| option | effect |", "|---|---|", *rows])})
