"""The state diagram of a turn: as Mermaid with the inputs that keep a phase, and as a picture."""

from __future__ import annotations

from pathlib import Path

from docs.generate import PAGES, filled
from toolparity.conformance.demo.state_picture import state_picture
from toolparity.turns.machine.table import diagram

#: The background is opaque, because a page that shows the file can be light or dark.
_STYLE = (
    "svg{background:#fcfcfa}text{font:11px system-ui,sans-serif;text-anchor:middle;fill:#575c66}"
    ".phase .name{font-size:14px;font-weight:650;fill:#1b1d21}.arrow path{fill:none;stroke:#575c66}"
    ".head{fill:#575c66}rect{fill:#e4eef7;stroke:#0b4fa8}"
)


def files() -> dict[Path, str]:
    """Return the page with the diagram, and the picture."""
    page = filled("architecture.md", {"states": f"```mermaid\n{diagram()}\n```"})
    return {**page, PAGES / "turn-states.svg": state_picture(_STYLE)}
