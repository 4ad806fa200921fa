"""A program in any language as a subject: one JSON line in, one JSON line out (docs/subjects.md).

The program is started once and gets one line per request. Its faults are reported as its own, not as the suite's: a
program that hangs is killed after a timeout, one that exits is restarted, and one that floods its output or prints
invalid JSON is killed.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from typing import Any

from toolparity.normalizer import json_codec

from ..errors import InvalidAnswer, UnknownSubject
from . import FollowUp, SubjectExchange
from .claims import claims_of, input_of, providers_of, wires_of
from .process import Process

#: The timeout for an answer and for the first line, in seconds.
TIMEOUT = float(os.environ.get("TOOLPARITY_SUBJECT_TIMEOUT", "20"))
#: After this many failures in a row, or in total, a program is not called again: each failure may take the whole
#: timeout.
PATIENCE = 3
MOST_FAILURES = 50
_HELLO = {"op": "hello"}


class Executable:
    """Starts the program ``command`` and sends `hello` at once to read its claims.

    ``timeout``: seconds for an answer. ``patience``: as `PATIENCE`. Raises UnknownSubject if the command is empty,
    cannot be started or declares unknown names, and InvalidAnswer if it does not answer `hello`.
    """

    def __init__(self, command: Sequence[str], *, timeout: float = TIMEOUT, patience: int = PATIENCE) -> None:
        if not command:
            raise UnknownSubject("exec: names no program", hint="exec:node my_subject.mjs")
        self._command = list(command)
        self._timeout = timeout
        self._patience = patience
        self._process: Process | None = None
        self._failed = self._failures = 0
        hello = self._asked(_HELLO)
        self.name = str(hello.get("name") or os.path.basename(command[-1]))
        self.version = str(hello.get("version") or "")
        try:
            self.claims = claims_of(self.name, hello.get("claims"))
            self.wires = wires_of(self.name, hello.get("wires"))
            self.providers = providers_of(self.name, hello.get("providers"))
            self.input = input_of(self.name, hello.get("input"))
        except UnknownSubject:
            self.close()
            raise

    def read(self, ask: SubjectExchange) -> Any:
        """Return the program's answer to a response. Raises InvalidAnswer if it gives none that can be read."""
        return self._asked({"op": "read", **_told(ask)})

    def next_request(self, ask: FollowUp) -> Any:
        """Return the program's next request. Raises InvalidAnswer if it gives none."""
        results = [
            {"call_id": one.call_id, "name": one.name, "content": one.content, "is_error": one.is_error}
            for one in ask.results
        ]
        line = {"op": "next", **_told(ask.ask), "results": results, "to": ask.to, "to_provider": ask.provider}
        given = self._asked(line)
        if "request" not in given:
            raise InvalidAnswer("no request in the answer to op next", hint='answer {"request": {…}}')
        return given["request"]

    def close(self) -> None:
        """End the program."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _asked(self, line: dict[str, Any]) -> dict[str, Any]:
        if self._failed >= self._patience:
            raise InvalidAnswer(f"{self._command[0]} failed {self._failed} times in a row and is not asked again")
        if self._failures >= MOST_FAILURES:
            raise InvalidAnswer(f"{self._command[0]} failed {self._failures} times and is not asked again")
        try:
            if self._process is None:
                self._process = Process(self._command)
                if line != _HELLO:  # a restarted program gets hello first
                    self._process.ask(json_codec.encode(_HELLO), self._timeout)
            given = _object(self._process.ask(json_codec.encode(line), self._timeout))
        except (InvalidAnswer, UnknownSubject):
            self._failed += 1
            self._failures += 1
            self.close()
            raise
        self._failed = 0
        return given


def _object(line: bytes) -> dict[str, Any]:
    try:
        given = json_codec.decode(line)
    except ValueError as error:
        hint = "print one JSON object a line, and nothing else"
        raise InvalidAnswer(f"the line is no JSON: {error}; it begins {line[:60]!r}", hint=hint) from None
    if not isinstance(given, dict):
        raise InvalidAnswer(f"the line is a {type(given).__name__}, and no JSON object")
    return given


def _told(ask: SubjectExchange) -> dict[str, Any]:
    request = ask.request if isinstance(ask.request, dict) else {}
    told = {
        "wire": ask.wire,
        "provider": ask.provider,
        "stream": ask.stream,
        "policy": ask.policy,
        "limit": ask.limit,
        "status": ask.status,
        "tools": request.get("tools") or [],
        "request": ask.request,
    }
    if ask.base_url:
        return {**told, "base_url": ask.base_url}
    return {**told, "pieces": [base64.b64encode(piece).decode() for piece in ask.pieces]}
