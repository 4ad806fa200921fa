"""Write the state diagram of a turn again: ``python docs/state_diagram.py``.

It is in `docs/architecture.md`, as Mermaid with the inputs that keep a phase, and in `docs/turn-states.svg`.
"""

from __future__ import annotations

import re
from pathlib import Path

from toolparity.conformance.demo.state_picture import state_picture
from toolparity.turns.machine.table import diagram

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "architecture.md"
PICTURE = DOCS / "turn-states.svg"
_BLOCK = re.compile(r"(?<=```mermaid\n)stateDiagram-v2\n.*?(?=\n```)", re.DOTALL)
#: The background is opaque, because a page that shows the file can be light or dark.
_STYLE = (
    "svg{background:#fcfcfa}text{font:11px system-ui,sans-serif;text-anchor:middle;fill:#575c66}"
    ".phase .name{font-size:14px;font-weight:650;fill:#1b1d21}.arrow path{fill:none;stroke:#575c66}"
    ".head{fill:#575c66}rect{fill:#e4eef7;stroke:#0b4fa8}"
)


def page(text: str) -> str:
    """Return the text of the page with the current diagram."""
    return _BLOCK.sub(diagram(), text, count=1)


def picture() -> str:
    """Return the current picture."""
    return state_picture(_STYLE)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
    PICTURE.write_text(picture(), "utf-8")
