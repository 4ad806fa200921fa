"""A page of the documentation as steps that can be done: its fenced blocks, in order.

A block whose first line is a comment with a file's name is that file. A ``sh`` or ``console`` block is run; other
Python is run in the namespace of the page. A ``text`` block is what the one before it printed, and so are the lines
of a ``console`` block after its commands; ``…`` marks what the page leaves out. A comment above a block says that it
``ends with`` another code than 0, that it serves ``in the background`` until the same command starts again, or why it
is ``not run``.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import random
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, redirect_stdout, suppress
from importlib import metadata
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

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


def matches(shown: str, printed: str) -> bool:
    """Return whether a page shows what was printed. A line ``…`` is any lines, and ``…`` in a line any characters."""
    lines = [line.rstrip() for line in shown.strip().splitlines()]
    parts = [r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in lines]
    text = "".join(line.rstrip() + "\n" for line in printed.strip().splitlines())
    return re.fullmatch("".join(parts), text) is not None


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """The commands of a block, each with the lines that the page shows below it."""
    if block.language == "sh":
        yield block.text, "…"
        return
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command = re.match(r"(?:.*\\\n)*.*(?:<<'(?P<end>\w+)'(?:.*\n)*?(?P=end))?", part)
        assert command is not None
        yield command[0], part[command.end() :]


class Reader(ExitStack):
    """Does the blocks of a page in a folder, as a reader would. Ports that the page names are replaced by free ones."""

    def __init__(self, folder: Path, environment: Mapping[str, str], names: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.folder, self.environment = folder, environment
        self.names: dict[str, Any] = {"__name__": "page"} if names is None else names
        self.printed = ""
        self._ports: dict[str, str] = {}
        self._serving: dict[str, subprocess.Popen[bytes]] = {}

    def do(self, block: Block) -> bool:
        """Do a block. Gives whether there was something to do."""
        if block.mark.startswith("not run: "):
            return False
        text = re.sub(r"(127\.0\.0\.1:|--port |--listen |PORT = )(\d{4})\b", self._port, block.text)
        if block.language in ("sh", "console"):
            each = list(commands(block._replace(text=text)))
            for number, (command, shown) in enumerate(each, 1):  # only the last one may fail
                self.printed = self._run(block, command, shown, block.code if number == len(each) else 0)
                assert matches(shown, self.printed), f"{command}\n{self.printed}"
        elif block.language == "text":
            assert matches(text, self.printed), f"{text}\nis not what was printed:\n{self.printed}"
        elif block.file:
            (self.folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / block.file).write_text(text, "utf-8")
        elif block.language == "python":
            with redirect_stdout(StringIO()) as out:
                code = compile(text, block.section, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
                if inspect.iscoroutine(made := eval(code, self.names)):
                    asyncio.run(made)
            self.printed = out.getvalue()
        else:
            return False
        return True

    def _port(self, found: re.Match[str]) -> str:
        while found[2] not in self._ports:  # as long as the page's, for the width of tables
            with socket.socket() as free, suppress(OSError):
                free.bind(("127.0.0.1", port := random.randrange(2000, 10000)))
                self._ports[found[2]] = str(port)
        return found[1] + self._ports[found[2]]

    def _run(self, block: Block, command: str, shown: str, code: int) -> str:
        line = ["bash", "-euo", "pipefail", "-c", command]
        if block.mark == "in the background":
            return self._serve(command, shown)
        given: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        ended = subprocess.run(line, cwd=self.folder, env=self.environment, check=False, **given)
        assert ended.returncode == code, f"{command}\n{ended.stdout}"
        return str(ended.stdout)

    def _serve(self, command: str, shown: str) -> str:
        if before := self._serving.pop(command, None):
            stop(before)
        log = self.folder.parent / f"{self.folder.name}.{len(self._serving)}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"], cwd=self.folder, env=self.environment, stdout=out, stderr=out
            )
        self._serving[command] = process
        self.callback(stop, process)
        until = time.monotonic() + 120
        while not matches(shown, printed := log.read_text("utf-8")) and time.monotonic() < until:
            assert process.poll() is None, printed
            time.sleep(0.05)
        return printed


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a server as Ctrl-C does."""
    process.send_signal(2)
    process.wait(60)
