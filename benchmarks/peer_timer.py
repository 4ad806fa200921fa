"""Time one reader on recorded responses, in the environment of a library: see `benchmarks.peers`.

    python peer_timer.py MODULE FOLDER… < ASKS

MODULE is a program of `conformance/subjects/peers`, or `own_readers:NAME`. Every line of the input is a response to
read. The HTTP client of the library gets it from memory. The output has one line for each: the fewest microseconds of
processor time from there on, of several attempts, and None for a response that the library does not read.
"""

import base64
import contextlib
import importlib
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

sys.path[:0] = sys.argv[2:]

program: Any = importlib.import_module("program")  # of the folder with the programs
_ATTEMPTS = 7
_captured: list[Any] = []
program.serve = lambda *arguments, **options: _captured.append(arguments[3:5])


class Memory:
    """The response that every HTTP client gets, in place of the suite's `Loopback`. No server is at ``url``.

    ``pieces``: the body in pieces. ``began``: the processor time at which the client got the response.
    """

    url = "http://127.0.0.1:9"

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.status, self.stream = 200, False
        self.began = 0

    def start(self) -> list[bytes]:
        """Return the pieces, and start the clock."""
        self.began = time.process_time_ns()
        return self.pieces

    def serve(self, client: Any) -> None:
        """Have the clients of a module get the response: httpx, or another one with its names."""
        memory = self

        class Body(client.SyncByteStream, client.AsyncByteStream):  # type: ignore[misc]
            def __iter__(self) -> Iterator[bytes]:
                return iter(memory.pieces)

            async def __aiter__(self) -> AsyncIterator[bytes]:
                for piece in memory.pieces:
                    yield piece

        def respond() -> Any:
            kind = "text/event-stream" if memory.stream else "application/json"
            response = client.Response(memory.status, headers={"content-type": kind}, stream=Body())
            memory.start()
            return response

        async def respond_async() -> Any:
            return respond()

        client.HTTPTransport.handle_request = lambda transport, request: respond()
        client.AsyncHTTPTransport.handle_async_request = lambda transport, request: respond_async()


def _reader(name: str) -> Any:
    """Return the reader of a module. A program of the suite refuses the wires that its library does not read."""
    module, _, function = name.partition(":")
    loaded = importlib.import_module(module)
    if function:
        return getattr(loaded, function)
    wires, read = _captured[-1]
    return lambda ask, memory: read(ask, memory) if ask["wire"] in wires else {"unsupported": "the wire"}


def _timed(read: Any, ask: dict[str, Any], memory: Memory) -> float | None:
    """Return the fewest microseconds, None if the library refuses or fails."""
    memory.pieces = [base64.b64decode(piece) for piece in ask["pieces"]]
    memory.status, memory.stream = ask["status"], ask["stream"]
    taken = []
    for _ in range(_ATTEMPTS):
        memory.began = 0
        try:
            answer = read(ask, memory)
        except Exception:
            return None
        taken.append(time.process_time_ns() - memory.began)
        if answer is not None and ("unsupported" in answer or "error" in answer):
            return None
        if not memory.began:
            raise RuntimeError("the library got the response from no HTTP client that is known here")
    return min(taken) / 1000


def main() -> None:
    """Time every response of the input."""
    memory = Memory()
    for name in ("httpx", "httpx2"):
        with contextlib.suppress(ModuleNotFoundError):
            memory.serve(importlib.import_module(name))
    read = _reader(sys.argv[1])
    for line in sys.stdin:
        program.write({"microseconds": _timed(read, json.loads(line), memory)})


main()
