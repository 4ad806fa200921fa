"""The stdio transport of MCP: a server as a child process, with one JSON message per line in each direction.

The SDK's own transport buffers a line of any length, ends the connection at a character that is not UTF-8, and does not
report why a server ended. This one limits a message, skips what is not one, and keeps the end of the error output.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
from asyncio.subprocess import Process, SubprocessStreamProtocol
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..execution.tool_results import quoted

if TYPE_CHECKING:
    from mcp.client import Transport
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

_log = logging.getLogger("toolparity")
#: Maximum bytes of one message. A server that sends a longer one is disconnected.
MAX_MESSAGE = 16 << 20
#: How many bytes of the error output are kept.
_ERROR_OUTPUT = 2000
#: Seconds for a server to end: after its input was closed, and after SIGTERM. MCP's specification has this order:
#: https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown
_GRACE = 2.0


class StdioTransport:
    """Starts a program and yields the streams of its messages. It ends with the context.

    ``ended``: why the program can no longer be used, None while it can.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None, cwd: str | None) -> None:
        self.ended: str | None = None
        self._command = command
        self._env = env
        self._cwd = cwd
        self._error_output = b""
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> TransportStreams:
        import anyio
        from mcp.client.stdio import get_default_environment

        # What `create_subprocess_exec` does, but it does not return the transport, which must be closed.
        loop = asyncio.get_running_loop()
        self._transport, protocol = await loop.subprocess_exec(
            lambda: SubprocessStreamProtocol(MAX_MESSAGE, loop),
            *self._command,
            env={**get_default_environment(), **(self._env or {})},
            cwd=self._cwd,
            start_new_session=True,  # the programs that it starts end with it
        )
        self._process = Process(self._transport, protocol, loop)
        self._received, received = anyio.create_memory_object_stream[Any](0)
        to_send, self._to_send = anyio.create_memory_object_stream[Any](0)
        self._streams = (received, to_send, self._received, self._to_send)
        self._tasks = [asyncio.create_task(work) for work in (self._read(), self._write(), self._read_errors())]
        return received, to_send

    async def __aexit__(self, *_: object) -> None:
        self.ended = self.ended or "the connection was closed"
        try:
            await self._stop_process()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)
            self._transport.close()
            for stream in self._streams:
                stream.close()

    async def _read(self) -> None:
        """Pass on the messages. The end of the stream ends the session."""
        import anyio

        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with self._received:
                while (message := await self._next_message()) is not None:
                    await self._received.send(message)

    async def _next_message(self) -> SessionMessage | None:
        """Return the next message, None at the end. Other output of the program is skipped."""
        stdout = self._process.stdout
        assert stdout is not None
        while True:
            try:
                line = await stdout.readline()
            except ValueError:  # of `readline`, for a line over the limit
                self.ended = f"it sent a message of more than {MAX_MESSAGE >> 20} MiB"
                return None
            if not line:
                await self._note_end()
                return None
            message = _message(line)
            if message is not None:
                return message
            if line.strip():
                _log.debug("MCP server %s wrote no message: %s", self._command[0], quoted(repr(line[:500]), 200))

    async def _note_end(self) -> None:
        """Set the reason why the program ended, with its last line of error output."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _GRACE)
        code = self._process.returncode
        reason = "it closed its output" if code is None else f"it ended with exit code {code}"
        lines = self._error_output.decode("utf-8", "replace").strip().splitlines()
        self.ended = self.ended or (f"{reason}: {quoted(lines[-1], 300)}" if lines else reason)

    async def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(ConnectionError):  # the end of the output shows that the program ended
            async for message in self._to_send:
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(data.encode("utf-8", "backslashreplace") + b"\n")
                await stdin.drain()

    async def _read_errors(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while chunk := await stderr.read(1 << 16):
            self._error_output = (self._error_output + chunk)[-_ERROR_OUTPUT:]
            _log.debug("MCP server %s: %s", self._command[0], quoted(chunk[:2000].decode("utf-8", "replace"), 2000))

    async def _stop_process(self) -> None:
        process = self._process
        if process.stdin is not None:
            process.stdin.close()
        for number in (None, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            if number is not None:
                self._signal(number)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _GRACE)
                return

    def _signal(self, number: int) -> None:
        """Send a signal to the program and to all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)


def _message(line: bytes) -> SessionMessage | None:
    """Return the message in a line, None if there is none. Characters that are not Unicode are replaced."""
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter as adapter

    try:
        return SessionMessage(adapter.validate_json(line, by_name=False))
    except ValueError:
        pass
    try:  # pydantic refuses half a surrogate pair in any text of the message
        text = json.dumps(json.loads(line.decode("utf-8", "replace")), ensure_ascii=False)
        return SessionMessage(adapter.validate_json(text.encode("utf-8", "replace"), by_name=False))
    except (ValueError, RecursionError):
        return None


if TYPE_CHECKING:
    _: type[Transport] = StdioTransport
