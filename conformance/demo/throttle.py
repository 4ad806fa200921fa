"""Delays of the demo, so that its steps are visible."""

from __future__ import annotations

import asyncio

#: The number of progress reports of a tool.
STEPS = 4


class Throttle:
    """``piece``: the delay before each piece of a response, in seconds.

    ``tool``: the duration of a tool, in seconds.
    """

    def __init__(self, piece: float = 0.02, tool: float = 1.2) -> None:
        self._piece = piece
        self._tool = tool

    async def piece(self) -> None:
        """Wait before a piece of a response is passed on."""
        await asyncio.sleep(self._piece)

    async def step(self, tool: str) -> None:
        """Wait before a tool's next step."""
        await asyncio.sleep(self._tool / STEPS)
