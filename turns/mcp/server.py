"""Tools of an MCP server as tools of a turn.

async with McpServer("npx -y @modelcontextprotocol/server-filesystem .") as files:
    outcome = await Agent(provider, [find_boat, files]).run("Which files are here?")
"""

from __future__ import annotations

import asyncio
import logging
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from toolparity.normalizer.conversation import ToolResult
from toolparity.normalizer.errors import MissingExtra, ToolparityError

from ..errors import InvalidTool, McpFailed, TurnMisused
from ..execution.exceptions import described, message
from ..execution.tool import TIMEOUT, Tool
from ..execution.tool_results import ToolFailed
from ..execution.validation import check_schema
from .connection import Connection, leaf
from .definitions import McpDefinition
from .progress import progress_reporter
from .results import result_of_tool
from .sending import Sending, current_sending
from .stdio import StdioTransport

_log = logging.getLogger("toolparity")
#: Decides whether a call needs approval, by the definition of its tool and its arguments.
ApprovalRule = Callable[[McpDefinition, dict[str, Any]], bool]
#: Seconds between two listings, however often the server reports changes.
_RELIST = 0.2
#: The share of its timeout that a call waits for a server that starts again, so that it can report this in time.
_WAIT = 0.9
#: Maximum characters of an error in the result of a call.
_MAX_ERROR = 2000


class McpServer:
    """A connection to an MCP server. Its tools belong to each `Tools`, `Turn` or `Agent` that contains the server.

    ``server``: a URL (streamable HTTP), the command of a program (stdio) as text without shell syntax or as a list, or
    another target of `mcp.Client` in the official SDK. ``env`` and ``cwd``: for a program, which otherwise gets basic
    variables only, such as PATH. ``headers`` and ``auth``: for a URL. ``auth`` is an `httpx2.Auth`, such as the SDK's
    `mcp.client.auth.OAuthClientProvider`. ``name``: for messages, by default the target.
    ``prefix``: goes in front of the name of each tool. ``only``: the server's names of the tools to offer.
    ``approval``: True, False, or a rule. By default a call needs approval unless the server states that the tool is
    read-only or not destructive. The server itself states that: pass True or a rule if you do not trust it.
    ``approved``: the digest of each approved definition by name (see `approved`). All others are held back. Without it,
    the first definition of each tool is approved. ``timeout``: of a call, in seconds. ``connect_timeout``: to start the
    server and list its tools. ``client``: other arguments of `mcp.Client`, such as ``elicitation_callback``.

    `async with` connects. A server that ended is connected again for the next call. Raises McpFailed if the server
    cannot be used, and MissingExtra if the SDK is not installed.
    """

    def __init__(
        self,
        server: str | Sequence[str] | Any,
        *,
        name: str | None = None,
        prefix: str = "",
        only: Collection[str] | None = None,
        approval: bool | ApprovalRule | None = None,
        approved: Mapping[str, str] | None = None,
        timeout: float | None = TIMEOUT,
        connect_timeout: float = 60.0,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        headers: Mapping[str, str] | None = None,
        auth: Any = None,
        **client: Any,
    ) -> None:
        self._server = _command_or_target(server)
        self.name = name or _name_of(self._server)
        self._prefix = prefix
        self._only = only
        self._approval = approval
        self._approves_first = approved is None
        self._approved = dict(approved or {})
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._env, self._cwd, self._headers, self._auth = env, cwd, headers, auth
        self._options = client
        self._connection: Connection | None = None
        self._connecting: asyncio.Task[Connection] | None = None
        self._is_entered = False
        self._definitions: dict[str, McpDefinition] = {}
        self._tools: dict[str, Tool] = {}
        self._reported: set[str] = set()  # the digests of definitions that a warning was logged for
        self._is_stale = False
        self._relisting: asyncio.Task[None] | None = None

    async def __aenter__(self) -> McpServer:
        if self._is_entered:
            raise TurnMisused(f"the MCP server {self.name} is connected already")
        self._is_entered = True
        try:
            await self._connected()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_entered = False
        for task in (self._relisting, self._connecting):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        if self._connection is not None:
            await self._connection.close()

    def current_tools(self) -> Mapping[str, Tool]:
        """Return the tools that turns may use now. Raises TurnMisused before the first connection."""
        if self._connection is None:
            hint = "use it inside `async with McpServer(…) as server:`"
            raise TurnMisused(f"the MCP server {self.name} is not connected", hint=hint)
        return self._tools

    @property
    def definitions(self) -> list[McpDefinition]:
        """Everything that the server lists."""
        return list(self._definitions.values())

    @property
    def held(self) -> list[McpDefinition]:
        """The definitions that are held back: they are not the approved ones. To use one, pass it to `approve`."""
        return [definition for definition in self._offered() if not self._is_approved(definition)]

    @property
    def approved(self) -> dict[str, str]:
        """The digest of each approved definition by name, to be stored and passed to the next `McpServer`."""
        return dict(self._approved)

    @property
    def instructions(self) -> str | None:
        """How the server wants its tools to be used. Turns do not pass this on."""
        instructions: str | None = self._connection.client.instructions if self._connection is not None else None
        return instructions

    def approve(self, definition: McpDefinition) -> None:
        """Approve this definition of a tool, and no other one that the server may list in its place."""
        self._approved[definition.name] = definition.digest
        self._tools = self._built()

    async def refresh(self) -> None:
        """List the tools again, which happens by itself when the server reports a change. Raises McpFailed."""
        await self._list(await self._connected())

    async def _connected(self, seconds: float | None = None) -> Connection:
        """Return an open connection, after at most so many seconds. Raises McpFailed, and TimeoutError.

        The task that connects is the server's: callers that are cancelled or stop waiting leave it running.
        """
        if self._connection is not None and self._connection.is_open:
            return self._connection
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.create_task(self._connect(), name=f"connecting to MCP server {self.name}")
            self._connecting.add_done_callback(_retrieve)
        connecting = self._connecting
        done, _ = await asyncio.wait([connecting], timeout=seconds)
        if not done:
            raise TimeoutError
        if connecting.cancelled():
            raise self._closed()
        return connecting.result()

    async def _connect(self) -> Connection:
        """Replace the connection by a new one. Raises McpFailed."""
        self._check_entered()
        if self._connection is not None:
            _log.warning("MCP server %s is connected again: %s", self.name, self._connection.ended or "it was lost")
            await self._connection.close()
        connection = self._connection_to_server()
        await connection.open(self._connect_timeout)
        try:
            await self._list(connection)
            self._check_entered()  # or nothing would close it
        except BaseException:
            await connection.close()
            raise
        self._connection = connection
        return connection

    def _closed(self) -> McpFailed:
        return McpFailed("the connection to the MCP server was closed", where=self.name)

    def _check_entered(self) -> None:
        """Raises McpFailed outside `async with`."""
        if not self._is_entered:
            raise self._closed()

    def _connection_to_server(self) -> Connection:
        target = self._server
        try:
            from mcp_types import Implementation

            if isinstance(target, list):
                target = StdioTransport(target, self._env, self._cwd)
            elif isinstance(target, str):
                from .http import http_transport

                target = http_transport(target, self._headers, self._auth, lambda: connection.expire())  # noqa: PLW0108 (it is made below)
            options = {"client_info": Implementation(name="toolparity", version="0"), **self._options}
            connection = Connection(self.name, target, self._on_change, options)
        except ImportError:
            raise MissingExtra("MCP servers need the official SDK", hint="pip install 'toolparity[mcp]'") from None
        return connection

    async def _list(self, connection: Connection) -> None:
        try:
            async with asyncio.timeout(self._connect_timeout):
                listed = await connection.listed()
        except ToolparityError:
            raise
        except Exception as error:
            reason = connection.ended or described(leaf(error), _MAX_ERROR)
            raise McpFailed(f"the MCP server does not list its tools: {reason}", where=self.name) from None
        definitions: dict[str, McpDefinition] = {}
        for tool in listed:
            definitions.setdefault(tool.name, McpDefinition.of(tool))
        self._definitions = definitions
        for definition in self._offered():
            if self._approves_first:
                self._approved.setdefault(definition.name, definition.digest)
            if not self._is_approved(definition):
                self._report(definition, "its definition is not the approved one, and is held back")
        self._tools = self._built()

    def _offered(self) -> list[McpDefinition]:
        only = self._only
        return [item for item in self._definitions.values() if only is None or item.name in only]

    def _is_approved(self, definition: McpDefinition) -> bool:
        return self._approved.get(definition.name) == definition.digest

    def _report(self, definition: McpDefinition, what: str) -> None:
        """Log a warning about a definition, once."""
        if definition.digest not in self._reported:
            self._reported.add(definition.digest)
            _log.warning("MCP server %s: tool %s: %s", self.name, definition.name, what)

    def _built(self) -> dict[str, Tool]:
        tools = [self._tool(definition) for definition in self._offered() if self._is_approved(definition)]
        return {tool.name: tool for tool in tools if tool is not None}

    def _tool(self, definition: McpDefinition) -> Tool | None:
        """Return the tool for a definition, None if its schema is invalid."""
        approval: bool | Callable[[dict[str, Any]], bool]
        if self._approval is None or isinstance(self._approval, bool):
            approval = definition.destructive if self._approval is None else self._approval
        else:
            approval = partial(self._approval, definition)
        try:
            check_schema(definition.name, definition.parameters)
        except InvalidTool as error:
            self._report(definition, f"it is left out: {error.what}")
            return None
        return Tool(
            name=self._prefix + definition.name,
            function=partial(self._call, definition),
            description=definition.description,
            parameters=definition.parameters,
            timeout=self._timeout,
            idempotent=definition.idempotent,
            approval=approval,
            mapping=True,
        )

    async def _call(self, definition: McpDefinition, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool of the server. Cancelling this coroutine cancels the call on the server.

        A call that the server refused because it does not know the session, or that was not sent because the transport
        could not connect, is sent again in a new session.
        """
        from mcp import MCPError

        for may_repeat in (True, False):
            connection = await self._connection_for(definition)
            sending = Sending()
            token = current_sending.set(sending)
            try:
                result = await connection.client.call_tool(
                    definition.name, arguments, progress_callback=progress_reporter()
                )
            except MCPError as error:
                if sending.is_unsent:
                    connection.lose()
                if (connection.is_expired or sending.is_unsent) and may_repeat:
                    continue
                if sending.is_unsent:
                    raise ToolFailed("The MCP server cannot be reached: the call was not sent.") from None
                raise ToolFailed(self._refusal(connection, error)) from None
            except Exception as error:
                text = f"The result of the MCP server is invalid: {described(leaf(error), _MAX_ERROR)}"
                raise ToolFailed(text) from None
            finally:
                current_sending.reset(token)
            return result_of_tool(result)
        raise AssertionError("unreachable")

    async def _connection_for(self, definition: McpDefinition) -> Connection:
        """Return an open connection to a server that has this definition. Raises ToolFailed."""
        try:
            connection = await self._connected(None if self._timeout is None else self._timeout * _WAIT)
        except McpFailed as error:
            raise ToolFailed(error.what) from None
        except TimeoutError:
            raise ToolFailed("The MCP server is starting again: the call was not sent. Try again later.") from None
        current = self._definitions.get(definition.name)
        if current is None or current.digest != definition.digest:
            raise ToolFailed(f"The MCP server changed or removed {definition.name}, so this call was not sent to it.")
        return connection

    def _refusal(self, connection: Connection, error: Any) -> str:
        from mcp_types import CONNECTION_CLOSED

        text = message(error, _MAX_ERROR)[:_MAX_ERROR]
        if error.code != CONNECTION_CLOSED:
            return f"The MCP server answered with an error: {text}"
        connection.lose()
        reason = connection.ended or text
        return f"The MCP server ended before it answered ({reason}): whether the call took effect is not known."

    def _on_change(self) -> None:
        self._is_stale = True
        if self._relisting is None or self._relisting.done():
            self._relisting = asyncio.create_task(self._relist(), name=f"listing of MCP server {self.name}")

    async def _relist(self) -> None:
        while self._is_stale and self._is_entered:
            self._is_stale = False
            try:
                await self.refresh()
            except McpFailed as error:
                _log.warning("a change of the tools cannot be read: %s", error)
            await asyncio.sleep(_RELIST)


def _retrieve(task: asyncio.Task[Connection]) -> None:
    """Mark the exception of a task as retrieved, because its callers may have stopped waiting."""
    if not task.cancelled():
        task.exception()


def _name_of(target: Any) -> str:
    """Return the name of a target for messages: of a URL without its query and user, which may be secret."""
    if isinstance(target, list):
        return shlex.join(target)
    if isinstance(target, str):
        parts = urlsplit(target)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return str(target)


def _command_or_target(server: Any) -> Any:
    """Return a command as a list, and any other target unchanged. Raises McpFailed for a text that is neither."""
    if not isinstance(server, (str, list, tuple)):
        return server
    if isinstance(server, str) and server.startswith(("http://", "https://")):
        return server
    try:
        command = shlex.split(server) if isinstance(server, str) else list(server)
    except ValueError as error:
        raise McpFailed(f"not a command: {server!r}: {error}") from None
    if not command:
        raise McpFailed("the command is empty", hint="pass a program and its arguments")
    return command
