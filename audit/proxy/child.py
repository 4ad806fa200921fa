"""The program of a worker process: reads exchanges from standard input and writes the result of each.

    python -m toolparity.audit.proxy.child TASK OPTIONS

TASK is a name in `TASKS`, and OPTIONS is JSON. The proxy kills the program when it has all results, so the end of the
input shows that the proxy was killed. The judge ends then. The recorder completes what it has, and prints how much.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

import msgspec

from . import framing
from .copies import ExchangeCopy

#: The longest that a recorder continues after the proxy, in seconds.
_ALONE_SECONDS = 30.0


class Task(NamedTuple):
    """``run``: returns the result of an exchange. ``target``: what the task must complete without the proxy, if any."""

    run: Callable[[ExchangeCopy], bytes]
    target: str | None = None


def _judge(options: str) -> Task:
    from .judge import Judge
    from .judgement import JudgeOptions, shown

    judge = Judge(msgspec.json.decode(options, type=JudgeOptions))
    encode = msgspec.msgpack.Encoder().encode
    return Task(lambda copy: encode(shown(judge(copy))))


def _record(options: str) -> Task:
    from .recording import Recorder, RecordOptions

    given = msgspec.json.decode(options, type=RecordOptions)
    recorder = Recorder(given)
    return Task(lambda copy: recorder(copy).encode(), given.path)


#: Name -> function that returns the task, given its options.
TASKS: dict[str, Callable[[str], Task]] = {"judge": _judge, "record": _record}


class _Tally:
    """The results of a recorder, for the case that the proxy is killed."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._results = Counter[str]()
        self._first = self._last = 0

    def add(self, number: int, result: bytes) -> None:
        self._results[result.decode()] += 1
        self._first, self._last = min(self._first or number, number), max(self._last, number)

    def print(self) -> None:
        """Print the results of the exchanges, by their numbers. A number without a result is that of a lost one."""
        if lost := self._last - self._first + 1 - self._results.total():
            self._results["lost with the proxy"] = lost
        counts = ", ".join(f"{result}: {count:,}" for result, count in sorted(self._results.items()))
        text = f"of its exchanges #{self._first:,} to #{self._last:,}: {counts}" if counts else "nothing to record"
        print(f"{self._target}: the proxy was killed; {text}", file=sys.stderr, flush=True)


def _read_ahead(pipe: IO[bytes], tally: _Tally) -> Iterator[bytes]:
    """Yield the messages. A thread takes them out of the pipe, so that they are not lost with the proxy."""
    waiting: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def read() -> None:
        while (message := framing.read(pipe)) is not None:
            waiting.put(message)
        waiting.put(None)
        time.sleep(_ALONE_SECONDS)
        tally.print()
        os._exit(1)

    threading.Thread(target=read, daemon=True).start()
    return iter(waiting.get, None)


def main(name: str, options: str) -> None:
    """Process exchanges until the input ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a supervisor may send them to all processes of the proxy
        signal.signal(number, signal.SIG_IGN)
    # Whatever a library prints must not get between the results.
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    task = TASKS[name](options)
    decode = msgspec.msgpack.Decoder(ExchangeCopy).decode
    tally = None if task.target is None else _Tally(task.target)
    pipe = sys.stdin.buffer
    for message in iter(lambda: framing.read(pipe), None) if tally is None else _read_ahead(pipe, tally):
        copy = decode(message)
        result = task.run(copy)
        if tally is not None:
            tally.add(copy.number, result)
        try:
            framing.write(results, result)
        except OSError:  # the proxy was killed
            if tally is None:
                break
    if tally is not None:
        tally.print()
    os._exit(0)  # without another try to write the results


if __name__ == "__main__":
    main(*sys.argv[1:])
