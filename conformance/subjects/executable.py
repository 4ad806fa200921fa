"""Any program in any language as a subject: one JSON line in, one JSON line out (docs/subjects.md).

The program is started once and asked line by line. What goes wrong with it is told of it, and never of the suite: a
program that hangs is ended after a time, one that dies is started again, one that floods or prints no JSON is cut off.
"""

from __future__ import annotations

import base64
import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Sequence
from typing import IO, Any

from normalizer import jsontext
from normalizer.errors import BadAnswer, UnknownSubject

from . import CLAIMS, Ask, Next

#: Seconds that a program has for an answer, and for its first word.
TIMEOUT = float(os.environ.get("TOOLPARITY_SUBJECT_TIMEOUT", "20"))
#: No answer is longer.
MOST_BYTES = 64 * 1024 * 1024
#: A program that failed so often in a row is not asked again.
PATIENCE = 3
_HELLO = {"op": "hello"}


class Executable:
    """``command``: the program and its arguments. Says hello at once, to learn what the program claims."""

    def __init__(self, command: Sequence[str], *, timeout: float = TIMEOUT) -> None:
        if not command:
            raise UnknownSubject("exec: names no program", hint="exec:node my_subject.mjs")
        self._command = list(command)
        self._timeout = timeout
        self._process: _Process | None = None
        self._failed = 0
        hello = self._asked(_HELLO)
        claims = hello.get("claims") or []
        if not isinstance(claims, list) or (unknown := [c for c in claims if c not in CLAIMS]):
            self.close()
            raise UnknownSubject(f"{command[0]} claims {unknown}", hint=f"claims are {', '.join(CLAIMS)}")
        wires = hello.get("wires")
        self.name = str(hello.get("name") or os.path.basename(command[-1]))
        self.version = str(hello.get("version") or "")
        self.claims = frozenset(claims)
        self.wires = None if wires is None else frozenset(map(str, wires))

    def read(self, ask: Ask) -> Any:
        """What the program says of an answer. Raises BadAnswer where it says nothing that can be read."""
        return self._asked({"op": "read", **_told(ask)})

    def next_request(self, ask: Next) -> Any:
        """The request that the program makes."""
        results = [
            {"call_id": one.call_id, "name": one.name, "content": one.content, "is_error": one.is_error}
            for one in ask.results
        ]
        line = {"op": "next", **_told(ask.ask), "results": results, "to": ask.to, "to_provider": ask.provider}
        given = self._asked(line)
        if "request" not in given:
            raise BadAnswer("no request in the answer to op next", hint='answer {"request": {…}}')
        return given["request"]

    def close(self) -> None:
        """End the program."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _asked(self, line: dict[str, Any]) -> dict[str, Any]:
        if self._failed >= PATIENCE:
            raise BadAnswer(f"{self._command[0]} failed {PATIENCE} times in a row and is not asked again")
        try:
            if self._process is None:
                self._process = _Process(self._command)
                if line != _HELLO:  # one that was started again is greeted again
                    self._process.ask(jsontext.encode(_HELLO), self._timeout)
            given = jsontext.decode(self._process.ask(jsontext.encode(line), self._timeout))
        except (BadAnswer, UnknownSubject):
            self._failed += 1
            self.close()
            raise
        except ValueError as error:
            self._failed += 1
            self.close()
            raise BadAnswer(
                f"the line is no JSON: {error}", hint="print one JSON object a line, and nothing else"
            ) from None
        if not isinstance(given, dict):
            raise BadAnswer(f"the line is a {type(given).__name__}, and no JSON object")
        self._failed = 0
        return given


class _Process:
    """A running program with its pipes. A thread reads what it prints, so that nobody waits for ever."""

    def __init__(self, command: list[str]) -> None:
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise UnknownSubject(f"{command[0]} cannot be started: {error}") from None
        self._lines: queue.Queue[bytes | None] = queue.Queue(maxsize=4)
        self._complaint = b""
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._overhear, args=(self._process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, line: bytes, timeout: float) -> bytes:
        """Raises BadAnswer where no line comes back."""
        if not self._lines.empty() and self._process.poll() is None:
            raise BadAnswer("it printed more than one line for one line", hint="print one JSON object a line")
        writer = threading.Thread(target=self._write, args=(line + b"\n",), daemon=True)
        writer.start()
        try:
            given = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise BadAnswer(f"no answer within {timeout:g} s{self._said()}") from None
        if given is None:
            try:
                ended = f"ended with code {self._process.wait(timeout=1)}"
            except subprocess.TimeoutExpired:
                ended = "closed its output"
            self._threads[1].join(timeout=0.2)  # what it complained of
            raise BadAnswer(f"the program {ended}{self._said()}")
        if len(given) > MOST_BYTES:
            raise BadAnswer(f"its line is longer than {MOST_BYTES:,} bytes")
        return given

    def end(self) -> None:
        """Kill the program and whatever it started."""
        self._ended.set()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        while True:  # a reader that waits for room sees the end
            try:
                self._lines.get_nowait()
            except queue.Empty:
                break
        for thread in self._threads:
            thread.join(timeout=2)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError, ValueError):
                    pipe.close()

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def _listen(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := pipe.readline(MOST_BYTES + 1):
                if not line.strip():
                    continue
                while not self._ended.is_set():
                    try:
                        self._lines.put(line, timeout=0.5)
                        break
                    except queue.Full:
                        continue
                if self._ended.is_set() or len(line) > MOST_BYTES:
                    return
        with contextlib.suppress(queue.Full):
            self._lines.put(None, timeout=1)

    def _overhear(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while some := pipe.read1(4096):  # type: ignore[attr-defined]
                self._complaint = (self._complaint + some)[-600:]

    def _said(self) -> str:
        told = " ".join(self._complaint.decode("utf-8", "replace").split())
        return f"; on stderr: {told[-300:]}" if told else ""


def _told(ask: Ask) -> dict[str, Any]:
    request = ask.request if isinstance(ask.request, dict) else {}
    return {
        "wire": ask.wire,
        "provider": ask.provider,
        "stream": ask.stream,
        "policy": ask.policy,
        "limit": ask.limit,
        "status": ask.status,
        "tools": request.get("tools") or [],
        "request": ask.request,
        "pieces": [base64.b64encode(piece).decode() for piece in ask.pieces],
    }
