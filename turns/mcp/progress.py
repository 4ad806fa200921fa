"""Progress of an MCP call as events of its turn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..execution.typed.injection import current_call

if TYPE_CHECKING:
    from mcp.shared.dispatcher import ProgressFnT

#: Seconds between two reports. What a server sends in between is dropped, so that it cannot flood the turn.
_INTERVAL = 0.1


def progress_reporter() -> ProgressFnT:
    """Return the function that reports the progress of the current call as `call_progress`.

    The data is an object with ``progress``, ``total`` and ``message``, without those that the server does not send.
    """
    context = current_call.get(None)
    last: float | None = None

    async def report(progress: float, total: float | None, message: str | None) -> None:
        nonlocal last
        now = time.monotonic()
        if context is None or (last is not None and now - last < _INTERVAL):
            return
        last = now
        data = {"progress": progress, "total": total, "message": message}
        context.progress({name: value for name, value in data.items() if value is not None})

    return report
