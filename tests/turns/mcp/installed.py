"""MCP's reference servers and its conformance suite, where they are installed.

    npm install @modelcontextprotocol/server-everything @modelcontextprotocol/conformance …
    export TOOLPARITY_MCP_BIN=node_modules/.bin:venv/bin

TOOLPARITY_MCP_BIN: the folders with their programs, before those of PATH.
"""

from __future__ import annotations

import os
import shutil

import pytest


def program(name: str) -> str:
    """The path of a program. Without it the test is skipped."""
    path = os.pathsep.join(filter(None, (os.environ.get("TOOLPARITY_MCP_BIN"), os.environ.get("PATH"))))
    found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"{name} is not installed: set TOOLPARITY_MCP_BIN to the folders with the programs of MCP")
    return os.path.abspath(found)
