"""A program in any language as a subject: one JSON line in, one JSON line out (docs/pages/subjects.md).

The program is started once and gets one line per request. Its faults are reported as its own, not as the suite's: a
program that hangs is killed after a timeout, one that exits is restarted, and one that floods its output or prints
invalid JSON is killed.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from typing import Any

import msgspec

from toolparity.normalizer import json_codec

from ..errors import InvalidAnswer, RefusedRequest, UnknownSubject
from .claims import claims_of, input_of, providers_of, stop_words_of, wires_of
from .interface import FollowUp, SubjectExchange
from .process import Process

#: The timeout for an answer and for the first line, in seconds.
TIMEOUT = float(os.environ.get("TOOLPARITY_SUBJECT_TIMEOUT", "20"))
#: After this many failures in a row, or in total, a program is not called again: each failure may take the whole
#: timeout.
PATIENCE = 3
MOST_FAILURES = 50
#: A part of the error of a program that is not called again.
GAVE_UP = "it is not called again"
_HELLO = {"op": "hello"}


class Executable:
    """Starts the program ``command`` and sends `hello` at once to read its claims.

    ``timeout``: seconds for an answer. ``patience``: as `PATIENCE`. ``name``: overrides the program's name.

    Raises UnknownSubject if the command is empty, cannot be started or declares unknown names, and InvalidAnswer if it
    does not answer `hello`.
    """

    def __init__(
        self, command: Sequence[str], *, timeout: float = TIMEOUT, patience: int = PATIENCE, name: str = ""
    ) -> None:
        if not command:
            raise UnknownSubject("exec: has no program", hint="write exec:node my_subject.mjs")
        self._command = list(command)
        self._timeout = timeout
        self._patience = patience
        self._process: Process | None = None
        self._failures_in_row = self._failures = 0
        hello = self._request(_HELLO)
        self.name = name or str(hello.get("name") or os.path.basename(command[-1]))
        self.version = str(hello.get("version") or "")
        try:
            self.claims = claims_of(self.name, hello.get("claims"))
            self.wires = wires_of(self.name, hello.get("wires"))
            self.providers = providers_of(self.name, hello.get("providers"))
            self.stop_words = stop_words_of(self.name, hello.get("stop_words"))
            self.input = input_of(self.name, hello.get("input"))
        except UnknownSubject:
            self.close()
            raise

    def read(self, exchange: SubjectExchange) -> Any:
        """Return the program's answer to a response. Raises InvalidAnswer if it gives none that can be read."""
        return self._request({"op": "read", **_members(exchange)})

    def next_request(self, follow_up: FollowUp) -> Any:
        """Return the program's next request. Raises RefusedRequest if it answers an error, InvalidAnswer if nothing."""
        results = [msgspec.to_builtins(result) for result in follow_up.results]
        target = {"results": results, "to": follow_up.to, "to_provider": follow_up.provider}
        answer = self._request({"op": "next", **_members(follow_up.exchange), **target})
        if answer.get("error") is not None:
            raise RefusedRequest(str(answer["error"]))
        if "request" not in answer:
            raise InvalidAnswer("the answer to op next has no request", hint='answer {"request": {…}}')
        return {"body": answer["request"], "losses": answer["losses"]} if "losses" in answer else answer["request"]

    def close(self) -> None:
        """End the program."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _request(self, line: dict[str, Any]) -> dict[str, Any]:
        if self._failures_in_row >= self._patience:
            raise InvalidAnswer(f"{self._command[0]} failed {self._failures_in_row} times in a row: {GAVE_UP}")
        if self._failures >= MOST_FAILURES:
            raise InvalidAnswer(f"{self._command[0]} failed {self._failures} times: {GAVE_UP}")
        try:
            if self._process is None:
                self._process = Process(self._command)
                if line != _HELLO:  # a restarted program gets hello first
                    self._process.ask(json_codec.encode(_HELLO), self._timeout)
            answer = _object(self._process.ask(json_codec.encode(line), self._timeout))
        except (InvalidAnswer, UnknownSubject):
            self._failures_in_row += 1
            self._failures += 1
            self.close()
            raise
        self._failures_in_row = 0
        return answer


def _object(line: bytes) -> dict[str, Any]:
    try:
        answer = json_codec.decode(line)
    except ValueError as error:
        hint = "print one JSON object per line, and nothing else"
        raise InvalidAnswer(f"the line is not JSON: {error}; it begins with {line[:60]!r}", hint=hint) from None
    if not isinstance(answer, dict):
        raise InvalidAnswer(f"the line is not a JSON object, but {type(answer).__name__}")
    return answer


def _members(exchange: SubjectExchange) -> dict[str, Any]:
    request = exchange.request if isinstance(exchange.request, dict) else {}
    members = {
        "wire": exchange.wire,
        "provider": exchange.provider,
        "stream": exchange.stream,
        "policy": exchange.policy,
        "limit": exchange.limit,
        "status": exchange.status,
        "tools": request.get("tools") or [],
        "request": exchange.request,
    }
    if exchange.tools:
        members["functions"] = [tool.definition for tool in exchange.tools]
        members["tools_url"] = exchange.tools_url
    if exchange.base_url:
        return {**members, "base_url": exchange.base_url}
    return {**members, "pieces": [base64.b64encode(piece).decode() for piece in exchange.pieces]}
