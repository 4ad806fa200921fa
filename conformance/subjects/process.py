"""A child process that reads and writes lines, isolated from the suite.

It may hang, exit, flood its output, print a byte a minute, or leave a child process that holds its pipes open. No
operation here blocks on a pipe: all reads and writes are non-blocking and have a deadline.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from multiprocessing import util
from typing import IO, NoReturn

from ..errors import InvalidAnswer, UnknownSubject

#: The maximum length of a line in bytes.
MOST_BYTES = 64 * 1024 * 1024
#: The number of bytes of the beginning, and of the end, of standard error that are reported. Some languages print the
#: cause first, others last.
_STDERR_SHOWN = 240
_CHUNK = 1 << 16
#: The maximum number of chunks per read, so that a pipe that fills faster than it is read cannot postpone the deadline.
_CHUNKS = 16
#: The interval in seconds at which to check whether the program still runs although its pipe is open.
_TICK = 0.1


class Process:
    """Starts the program ``command``. Raises UnknownSubject if it cannot be started."""

    def __init__(self, command: Sequence[str]) -> None:
        if os.name != "posix":
            raise UnknownSubject("programs can be tested on POSIX systems only", hint="use a Python class")
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise UnknownSubject(f"{command[0]} cannot be started: {error}") from None
        self._in, self._out, self._err = (
            _pipe(pipe) for pipe in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._output = bytearray()
        self._searched = 0
        self._errors, self._errors_end = bytearray(), b""
        self._open = {self._out: True, self._err: True}
        # Worker processes skip atexit handlers but run multiprocessing's finalizers.
        self._finalizer = util.Finalize(self, _end, args=(self._process,), exitpriority=10)

    def ask(self, line: bytes, timeout: float) -> bytes:
        """Send a line and return the line that answers it.

        ``timeout``: seconds. Raises InvalidAnswer if there is no answer in time, or more than one line.
        """
        self._receive(self._out)
        if self._output.strip():
            raise InvalidAnswer(
                "the program printed more than one line for one line", hint="print one JSON object per line"
            )
        self._output.clear()
        self._searched = 0
        unsent = memoryview(line + b"\n")
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self._in, selectors.EVENT_WRITE)
            for pipe in (pipe for pipe, is_open in self._open.items() if is_open):
                selector.register(pipe, selectors.EVENT_READ)
            while (answer := self._line()) is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise InvalidAnswer(f"no answer within {timeout:g} s{self._stderr()}")
                ready = selector.select(min(left, _TICK))
                for key, _ in ready:
                    if key.fileobj is self._in:
                        unsent = self._send(unsent)
                        if not unsent:
                            selector.unregister(self._in)
                    elif not self._receive(key.fileobj):  # type: ignore[arg-type] # these are our pipes
                        selector.unregister(key.fileobj)
                if not self._open[self._out] or (not ready and self._process.poll() is not None):
                    # A child process that holds the pipe open does not count.
                    self._receive(self._out)
                    if b"\n" not in self._output:
                        self._raise_ended()
        return answer

    def end(self) -> None:
        """Kill the program and its process group."""
        self._finalizer()

    def _line(self) -> bytes | None:
        """Return the first line that is not blank, or None.

        Raises InvalidAnswer if it is too long or if more lines follow.
        """
        while (end := self._output.find(b"\n", self._searched)) >= 0:
            line = bytes(self._output[:end])
            del self._output[: end + 1]
            self._searched = 0
            if line.strip():
                if self._output.strip():
                    what = "it printed more than one line for one line"
                    raise InvalidAnswer(what, hint="print one JSON object a line")
                return line
        self._searched = len(self._output)
        if len(self._output) > MOST_BYTES:
            raise InvalidAnswer(f"the line is longer than {MOST_BYTES:,} bytes")
        return None

    def _send(self, unsent: memoryview) -> memoryview:
        try:
            return unsent[os.write(self._in.fileno(), unsent[:_CHUNK]) :]
        except BlockingIOError:
            return unsent
        except OSError:  # it closed its input: its output shows whether it answered
            return unsent[:0]

    def _receive(self, pipe: IO[bytes]) -> bool:
        """Read what a pipe holds now. Return False at its end."""
        for _ in range(_CHUNKS):
            if not self._open[pipe] or len(self._output) > MOST_BYTES:
                break
            try:
                data = os.read(pipe.fileno(), _CHUNK)
            except BlockingIOError:
                break
            if not data:
                self._open[pipe] = False
            elif pipe is self._out:
                self._output += data
                if b"\n" in data:
                    break
            else:
                space = _STDERR_SHOWN - len(self._errors)
                self._errors += data[:space]
                self._errors_end = (
                    (self._errors_end + data[space:])[-_STDERR_SHOWN:] if len(data) > space else self._errors_end
                )
        return self._open[pipe]

    def _raise_ended(self) -> NoReturn:
        try:
            how = f"ended with code {self._process.wait(timeout=1)}"
        except subprocess.TimeoutExpired:
            how = "closed its output"
        raise InvalidAnswer(f"the program {how}{self._stderr()}")

    def _stderr(self) -> str:
        self._receive(self._err)
        gap = b" ... " if len(self._errors_end) == _STDERR_SHOWN else b""
        text = (self._errors + gap + self._errors_end).decode("utf-8", "replace")
        return f"; on stderr: {' '.join(text.split())}" if text else ""


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    os.set_blocking(pipe.fileno(), False)
    return pipe


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
