"""Subjects that fetch responses with their own client: they get an address instead of bytes."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from toolparity.normalizer.errors import ToolparityError

from ..errors import InvalidAnswer
from . import FollowUp, SubjectExchange
from .loopback import LoopbackServers, PendingResponse


class HttpClientSubject:
    """Wraps a subject whose ``input`` is "base_url", so that the runner can feed it like any other."""

    def __init__(self, subject: Any) -> None:
        self._subject = subject
        self._loopback = LoopbackServers()
        self.name: str = subject.name
        self.version: str = subject.version
        self.claims: frozenset[str] = subject.claims
        self.wires: frozenset[str] | None = subject.wires
        self.providers: frozenset[str] | None = getattr(subject, "providers", None)

    def read(self, ask: SubjectExchange) -> Any:
        """Return the subject's answer to the response that it fetched.

        Raises InvalidAnswer if it fetched none, or requested it too often.
        """
        with self._loopback.question(ask) as (question, base):
            try:
                given = self._subject.read(replace(ask, pieces=[], base_url=base))
            except InvalidAnswer as error:
                raise InvalidAnswer(f"{error.what}; {_fetched(question)}", hint=error.hint) from None
            except ToolparityError:
                raise
            except Exception as error:
                given = {"error": f"{type(error).__name__}: {error}"}
        if not question.served:
            said = f"; it says: {given['error']}" if isinstance(given, dict) and given.get("error") else ""
            raise InvalidAnswer(f"{_fetched(question)}{said}", hint="send the request to the base_url of the question")
        if question.overrun:
            raise InvalidAnswer(f"{_fetched(question)}, and asked for it again", hint="switch retries off")
        return given

    def next_request(self, ask: FollowUp) -> Any:
        """Return the subject's next request; the subject may fetch the response again."""
        with self._loopback.question(ask.ask) as (_, base):
            return self._subject.next_request(replace(ask, ask=replace(ask.ask, pieces=[], base_url=base)))

    def close(self) -> None:
        """Stop the servers, and close the subject if it can be closed."""
        self._loopback.close()
        if hasattr(self._subject, "close"):
            self._subject.close()


def _fetched(question: PendingResponse) -> str:
    if question.served:
        return f"it had fetched the answer ({question.served} request{'s' * (question.served != 1)})"
    if question.refused:
        return f"it fetched no answer: {'; '.join(question.refused)}"
    return "it sent no request"
