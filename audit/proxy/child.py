"""The program of a worker process: reads exchanges from standard input and writes the result of each.

    python -m toolparity.audit.proxy.child TASK OPTIONS

TASK is a name in `TASKS`, and OPTIONS is JSON. The program ends when its input ends, so it never survives the proxy.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

import msgspec

from . import framing
from .copies import ExchangeCopy

Task = Callable[[ExchangeCopy], bytes]


def _judge(options: str) -> Task:
    from .judge import Judge
    from .judgement import JudgeOptions, shown

    judge = Judge(msgspec.json.decode(options, type=JudgeOptions))
    encode = msgspec.msgpack.Encoder().encode
    return lambda copy: encode(shown(judge(copy)))


def _record(options: str) -> Task:
    from .recording import Recorder, RecordOptions

    recorder = Recorder(msgspec.json.decode(options, type=RecordOptions))
    return lambda copy: recorder(copy).encode()


#: Name -> function that returns the task, given its options.
TASKS: dict[str, Callable[[str], Task]] = {"judge": _judge, "record": _record}


def main(name: str, options: str) -> None:
    """Process exchanges until the input ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a supervisor may send them to all processes of the proxy
        signal.signal(number, signal.SIG_IGN)
    # Whatever a library prints must not get between the results.
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    task = TASKS[name](options)
    decode = msgspec.msgpack.Decoder(ExchangeCopy).decode
    while (message := framing.read(sys.stdin.buffer)) is not None:
        framing.write(results, task(decode(message)))


if __name__ == "__main__":
    main(*sys.argv[1:])
