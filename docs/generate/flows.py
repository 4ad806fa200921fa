"""The tables of flows: the tests of each heading of the requirement documents."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.generate import ROOT, filled

TABLE = ROOT / "tests" / "turns" / "flows.toml"
TITLES = {
    "000": "Tool Call Sequence Handling",
    "001": "Limiting Tool Use Blocks Implementation Plan",
    "002": "Multi-Tool Call Architecture",
    "003": "Sequential Tool Calling Implementation Plans",
    "004": "Tool Execution Flow",
}


def entries() -> list[dict[str, Any]]:
    """The table: one entry for each heading, and for each group of points under one."""
    made = []
    for entry in tomllib.loads(TABLE.read_text("utf-8"))["flow"]:
        for heading in entry.pop("headings", None) or [entry.pop("heading")]:
            made.append({"items": [], **entry, "heading": heading})
    return made


def files() -> dict[Path, str]:
    """Return the page."""
    found = entries()
    return filled("flows.md", {"flows": "".join("".join(_document(id, title, found)) for id, title in TITLES.items())})


def _document(id: str, title: str, found: list[dict[str, Any]]) -> Iterator[str]:
    yield f"\n## {id}, {title}\n\n| heading | points | public API | tests |\n|---|---|---|---|\n"
    for entry in found:
        if entry["document"] == id:
            points = ", ".join(map(str, entry["items"]))
            api = "<br>".join(f"`{name}`" for name in entry.get("api", []))
            yield f"| {entry['heading']} | {points} | {api} | {_played(entry)} |\n"


def _played(entry: dict[str, Any]) -> str:
    if "tests" in entry:
        return "<br>".join([*(f"`{test}`" for test in entry["tests"]), *([entry["note"]] if "note" in entry else [])])
    return f"open: {entry['open']}" if "open" in entry else entry["reason"]
