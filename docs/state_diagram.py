"""Write the state diagram of a turn in `docs/architecture.md` again: ``python docs/state_diagram.py``."""

from __future__ import annotations

import re
from pathlib import Path

from toolparity.normalizer.turns.machine.table import diagram

PAGE = Path(__file__).resolve().parent / "architecture.md"
_BLOCK = re.compile(r"(?<=```mermaid\n)stateDiagram-v2\n.*?(?=\n```)", re.DOTALL)


def page(text: str) -> str:
    """Return the text of the page with the current diagram."""
    return _BLOCK.sub(diagram(), text, count=1)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
