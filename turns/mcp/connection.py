"""One connection to an MCP server: a client of the official SDK in a separate task.

When a transport fails, the SDK cancels the task that entered its client. That must not be the task of the caller.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import McpFailed
from ..execution.exceptions import EXITS, described
from .stdio import StdioTransport

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Tool

_log = logging.getLogger("toolparity")
#: Maximum pages of a listing: a server that always names a next one would never end.
_PAGES = 1000
#: Seconds before lost notifications about changes are requested again.
_RELISTEN = 5.0


class Connection:
    """A session with a server. ``on_change`` is called when the server reports that its tools changed.

    ``target``: see `mcp.Client`. ``options``: further arguments of it.
    """

    def __init__(self, name: str, target: Any, on_change: Callable[[], None], options: dict[str, Any]) -> None:
        from mcp import Client

        self._name = name
        self._stdio = target if isinstance(target, StdioTransport) else None
        self._on_change = on_change
        self._handler = options.pop("message_handler", None)
        self.client: Client = Client(target, message_handler=self._handle, **options)
        self._closing = asyncio.Event()
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._is_lost = False
        self.is_expired = False  # the server does not know the session any more, and has not processed the last request
        self._task: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether calls can be sent."""
        running = self._task is not None and not self._task.done() and not self._closing.is_set()
        return running and not self._is_lost and not self.is_expired and self.ended is None

    @property
    def ended(self) -> str | None:
        """Why a program ended, None if it runs or is not a program."""
        return self._stdio.ended if self._stdio is not None else None

    async def open(self, timeout: float) -> None:
        """Connect. Raises McpFailed."""
        self._task = asyncio.create_task(self._run(), name=f"MCP server {self._name}")
        try:
            await asyncio.wait_for(asyncio.shield(self._opened), timeout)
        except TimeoutError:
            await self.close()
            what = f"the MCP server did not answer within {timeout:g} seconds"
            raise McpFailed(what, where=self._name) from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the session, and the program if the transport started one."""
        self._closing.set()
        if self._task is None or self._task.done():
            return
        if not self._opened.done():
            self._task.cancel()
        await asyncio.wait([self._task])

    def lose(self) -> None:
        """Note that the session cannot be used any more: its end is only seen when a request fails."""
        self._is_lost = True

    def expire(self) -> None:
        """Note that the server does not know the session any more."""
        self.is_expired = True

    async def listed(self) -> list[Tool]:
        """Return all tools that the server lists. Raises McpFailed for a listing that does not end."""
        tools: list[Tool] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await self.client.list_tools(cursor=cursor, cache_mode="refresh")
            tools += page.tools
            if page.next_cursor is None or page.next_cursor == cursor:
                return tools
            cursor = page.next_cursor
        raise McpFailed(f"the listing of its tools has more than {_PAGES} pages", where=self._name)

    async def _run(self) -> None:
        """Hold the connection until `close`. Never raises, because nothing awaits the task."""
        try:
            async with self.client:
                watching = asyncio.create_task(self._watch())
                try:
                    self._opened.set_result(None)
                    await self._closing.wait()
                finally:
                    watching.cancel()
                    await asyncio.wait([watching])
        except BaseException as error:
            if not self._opened.done():
                self._opened.set_exception(self._failure(error))
                self._opened.exception()  # `open` may have stopped waiting
            elif not self._closing.is_set():
                _log.warning("the connection to MCP server %s ended: %s", self._name, described(leaf(error)))
            if isinstance(error, EXITS):
                raise

    def _failure(self, error: BaseException) -> McpFailed:
        cause = leaf(error)
        if self.ended is not None:
            what = f"the MCP server cannot be used: {self.ended}"
        elif isinstance(cause, OSError):
            what = f"the MCP server cannot be reached: {cause.strerror or cause}"
        else:
            what = f"the MCP server cannot be used: {described(cause, 1000)}"
        return McpFailed(what, where=self._name)

    async def _handle(self, message: Any) -> None:
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._on_change()
        if self._handler is not None:
            await self._handler(message)

    async def _watch(self) -> None:
        """Ask for notifications of changes. Servers of versions before 2026-07-28 send them by default."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        while self.is_open:
            try:
                async with self.client.listen(tools_list_changed=True) as subscription:
                    async for _ in subscription:
                        self._on_change()
            except SubscriptionLost:
                pass
            except Exception as error:
                if not isinstance(error, ListenNotSupportedError):
                    _log.debug("MCP server %s does not report changes: %s", self._name, described(leaf(error)))
                return
            await asyncio.sleep(_RELISTEN)
            self._on_change()  # a notification may have been lost


def leaf(error: BaseException) -> BaseException:
    """Return the first error in the groups that the SDK raises."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
