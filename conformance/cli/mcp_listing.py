"""Tools of an MCP server: a small client of the stdio transport that asks for the listing and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
from typing import Any

from ..errors import ServerFailed

_PROTOCOL = "2025-06-18"
#: Maximum bytes of one message.
_LINE = 64 << 20
#: Maximum pages of one listing: a server that repeats its cursor would never end.
_PAGES = 1000


def list_tools(command: str, *, timeout: float = 60.0) -> list[dict[str, Any]]:
    """Start an MCP server, return the tools of its ``tools/list`` in MCP's form, and stop it.

    ``command``: program and arguments, as in a shell; no shell runs it. ``timeout``: in seconds, for the whole listing.
    Raises ServerFailed if the program cannot be started, ends, answers with an error or takes too long.
    """
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise ServerFailed(f"not a command: {command!r}: {error}") from None
    if not arguments:
        raise ServerFailed("the command is empty", hint="pass a program and its arguments")
    try:
        return asyncio.run(asyncio.wait_for(_listed(arguments), timeout))
    except TimeoutError:
        raise ServerFailed(f"the server did not list its tools within {timeout:g} seconds", where=command) from None
    except OSError as error:
        raise ServerFailed(f"the server cannot be started: {error.strerror or error}", where=command) from None


async def _listed(arguments: list[str]) -> list[dict[str, Any]]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*arguments, stdin=pipe, stdout=pipe, limit=_LINE)
    try:
        session = _Session(process, arguments[0])
        client = {"name": "toolparity", "version": "0"}
        await session.ask("initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client})
        await session.send({"method": "notifications/initialized"})
        tools: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        for _ in range(_PAGES):
            page = await session.ask("tools/list", params)
            tools += [tool for tool in page.get("tools") or () if isinstance(tool, dict)]
            if not page.get("nextCursor"):
                return tools
            params = {"cursor": page["nextCursor"]}
        raise ServerFailed(f"the listing has more than {_PAGES} pages", where=arguments[0])
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class _Session:
    """JSON-RPC messages over the pipes of a process, one per line."""

    def __init__(self, process: asyncio.subprocess.Process, program: str) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout
        self._program = program
        self._last = 0

    async def send(self, message: dict[str, Any]) -> None:
        self._stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        with contextlib.suppress(ConnectionError):  # the missing answer shows that the process ended
            await self._stdin.drain()

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a request. Other messages, such as notifications of the server, are skipped."""
        self._last += 1
        await self.send({"id": self._last, "method": method, "params": params})
        while line := await self._stdout.readline():
            try:
                message = json.loads(line)
            except ValueError:  # text that the server prints beside the protocol
                continue
            if not isinstance(message, dict) or message.get("id") != self._last or "method" in message:
                continue
            result = message.get("result")
            if isinstance(result, dict):
                return result
            raise ServerFailed(f"{method} failed: {json.dumps(message.get('error'))[:300]}", where=self._program)
        raise ServerFailed(f"the server ended before it answered {method}", where=self._program)
