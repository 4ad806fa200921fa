"""A process that serves turns over HTTP until it is killed.

    python -m tests.turns.manager.server FD URL SIDE ROUNDS SECONDS

``FD``: a socket that listens. ``SIDE``: the file to which each tool appends a line with its call's key and its name.
``SECONDS``: before each piece of an answer. It resumes the turns of a killed process by itself.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvicorn

from tests.turns.log.test_crash import tools
from tests.turns.playing import Emulated, Say, call, script
from toolparity.turns import Agent
from toolparity.turns.log import Log
from toolparity.turns.manager import TurnManager, turns_app

#: Seconds until the turns of a killed process can be resumed.
LEASE = 2.0


class Paced(Emulated):
    """An emulated provider that pauses before each piece."""

    def __init__(self, rounds: int, seconds: float) -> None:
        asking = [[Say(f"Round {number}."), call("look", n=number), call("post", n=number)] for number in range(rounds)]
        super().__init__("anthropic.messages", script(*asking, [Say("All done.")]))
        self._seconds = seconds

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        async for piece in super().ask(body):
            await asyncio.sleep(self._seconds)
            yield piece


def main(fd: str, url: str, side: str, rounds: str, seconds: str) -> None:
    provider, offered = Paced(int(rounds), float(seconds)), tools(Path(side), lambda point: None)
    agent = Agent(provider, offered, max_rounds=int(rounds) + 1)
    with Log(url, lease=LEASE) as log, socket.socket(fileno=int(fd)) as listener:
        app = turns_app(TurnManager(log, agent, resume_every=LEASE / 4))
        options: Any = {"log_config": None, "access_log": False, "backlog": 4096, "timeout_graceful_shutdown": 1}
        config = uvicorn.Config(app, http="h11", **options)  # it answers requests of HTTP 1.0
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
