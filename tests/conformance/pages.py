"""A page of the documentation as steps that can be done: its fenced blocks, in order.

A block whose first line is a comment with a file's name is that file. A ``sh`` block is run; a comment above it says
where it ends with another code than 0, or why it is not run. A ``text`` block is what the one before it printed.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

#: Where the package is installed without its entry points, pytest is given the plug-in.
PLUGIN = (
    []
    if "toolparity" in {entry.name for entry in metadata.entry_points(group="pytest11")}
    else ["-p", "toolparity.pytest_plugin"]
)
DOCS = Path(__file__).resolve().parents[2] / "docs" / "pages"
_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]*) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_FILE = re.compile(r"(?:#|//) (?P<name>[\w./-]+\.\w+)\n")


class Block(NamedTuple):
    """``mark``: the comment above it, or ""."""

    section: str
    mark: str
    language: str
    text: str

    @property
    def file(self) -> str:
        """The name of the file that it is, or ""."""
        found = _FILE.match(self.text)
        return found["name"] if found else ""

    @property
    def code(self) -> int:
        """With which code it ends."""
        found = re.fullmatch(r"ends with (\d+)", self.mark)
        return int(found[1]) if found else 0


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page of docs/pages/, by name."""
    for part in re.split(r"^## ", (DOCS / page).read_text("utf-8"), flags=re.MULTILINE):
        section = part.partition("\n")[0].strip()
        for found in _BLOCK.finditer(part):
            yield Block(section, found["mark"] or "", found["language"], found["text"])


def do(block: Block, folder: Path, environment: Mapping[str, str], before: str) -> str:
    """Do a block in a folder; gives what it printed. ``before``: what the one before it printed."""
    if block.mark.startswith("not run: "):
        return before
    if block.language == "sh":
        command = ["bash", "-euo", "pipefail", "-c", block.text]
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == block.code, f"{block.text}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout
    if block.language == "text":
        for line in block.text.splitlines():
            assert line in before, f"{line!r} does not stand in\n{before}"
        return before
    assert block.file, f"nobody knows what to do with\n{block.text}"
    (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
    (folder / block.file).write_text(block.text, "utf-8")
    return before
