"""Time one reader on recorded responses, in the environment of a library: see `benchmarks.peers`.

    python peer_timer.py MODULE FOLDER… < ASKS

MODULE is a program of `conformance/subjects/peers`, or `own_readers:NAME`. Every line of the input is a response to
read. It arrives over HTTP from a local server. The output has one line for each: the fewest microseconds of processor
time that this thread needed, of several attempts, and None for a response that the library does not read.
"""

import base64
import importlib
import json
import sys
import time
from typing import Any

sys.path[:0] = sys.argv[2:]

program: Any = importlib.import_module("program")  # of the folder with the programs
_ATTEMPTS = 7
_captured: list[Any] = []
program.serve = lambda *arguments, **options: _captured.append(arguments[4])


def _reader(name: str) -> Any:
    module, _, function = name.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, function) if function else _captured[-1]


def _timed(read: Any, ask: dict[str, Any], server: Any) -> float | None:
    """Return the fewest microseconds, None if the library refuses or fails."""
    server.pieces = [base64.b64decode(piece) for piece in ask["pieces"]]
    server.status, server.stream = ask["status"], ask["stream"]
    taken = []
    for _ in range(_ATTEMPTS):
        start = time.thread_time_ns()
        try:
            answer = read(ask, server)
        except Exception:
            return None
        taken.append(time.thread_time_ns() - start)
        if answer is not None and ("unsupported" in answer or "error" in answer):
            return None
    return min(taken) / 1000


def main() -> None:
    """Time every response of the input."""
    read, server = _reader(sys.argv[1]), program.Loopback()
    for line in sys.stdin:
        program.write({"microseconds": _timed(read, json.loads(line), server)})


main()
