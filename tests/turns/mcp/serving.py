"""Helpers to run calls and turns with the tools of the server in `program`, or of MCP's reference servers.

    npm install @modelcontextprotocol/server-everything @modelcontextprotocol/conformance …
    export TOOLPARITY_MCP_BIN=node_modules/.bin:venv/bin

TOOLPARITY_MCP_BIN: the folders with their programs, before those of PATH.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.turns.executing import asked
from toolparity.turns.execution.executor import Executor, FinishedCall
from toolparity.turns.execution.tools import Tools
from toolparity.turns.mcp.server import McpServer

PROGRAM = str(Path(__file__).with_name("program.py"))


def serving(mode: str = "", **options: Any) -> McpServer:
    """The server in `program`, in a mode, with the options of `McpServer`."""
    return McpServer([sys.executable, PROGRAM, *([mode] if mode else [])], **{"name": "program", **options})


async def called(server: McpServer, name: str, **arguments: Any) -> FinishedCall:
    """The call of a tool of a server, run by an executor."""
    [finished] = await Executor(Tools([server])).run([asked(name, **arguments)])
    return finished


def text_of(finished: FinishedCall) -> str:
    """The text of a result."""
    return "".join(getattr(part, "text", "") for part in finished.result.parts)


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition is true, at most 10 seconds."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.02)


def program(name: str) -> str:
    """The path of a program of MCP. Without it the test is skipped."""
    path = os.pathsep.join(filter(None, (os.environ.get("TOOLPARITY_MCP_BIN"), os.environ.get("PATH"))))
    found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"{name} is not installed: set TOOLPARITY_MCP_BIN to the folders with the programs of MCP")
    return os.path.abspath(found)
