"""Writes the table of faults into serve.md: python docs/serve.py"""

from __future__ import annotations

from pathlib import Path

from toolparity.cassettes.replay.faults import FAULTS

PAGE = Path(__file__).with_name("serve.md")
_BEGIN, _END = "<!-- faults: python docs/serve.py -->\n", "<!-- end of faults -->"


def table() -> str:
    """Return the table in Markdown."""
    rows = [f"| `{name}{'' if name == 'empty' else '=N'}` | {option.effect} |" for name, option in FAULTS.items()]
    return "\n".join(["| option | effect |", "|---|---|", *rows]) + "\n"


def written(page: str) -> str:
    """Return the page with the table."""
    before, _, rest = page.partition(_BEGIN)
    return f"{before}{_BEGIN}{table()}{_END}{rest.partition(_END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
