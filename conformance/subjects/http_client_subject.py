"""Subjects that fetch responses with their own client: they get an address instead of bytes."""

from __future__ import annotations

import threading
import time
from typing import Any

from msgspec.structs import replace

from toolparity.normalizer.errors import ToolparityError

from ..errors import InvalidAnswer
from .interface import FollowUp, SubjectExchange
from .loopback import LoopbackServers, PendingResponse

#: How long runs of an agent are awaited after it returned, in seconds. The wait ends with the agent's last thread.
SETTLE = 0.5


class HttpClientSubject:
    """Wraps a subject whose ``input`` is "base_url", so that the judge can feed it like any other.

    ``first``: the first request in the last `read`, as JSON. ``sent``: the requests that followed it.
    """

    def __init__(self, subject: Any) -> None:
        self._subject = subject
        self._servers = LoopbackServers()
        self.name: str = subject.name
        self.version: str = subject.version
        self.claims: frozenset[str] = subject.claims
        self.wires: frozenset[str] | None = subject.wires
        self.providers: frozenset[str] | None = getattr(subject, "providers", None)
        self.stop_words: str | None = getattr(subject, "stop_words", None)
        self.first: Any = None
        self.sent: list[Any] = []

    def read(self, exchange: SubjectExchange) -> Any:
        """Return the subject's answer to the response that it fetched.

        Raises InvalidAnswer if it fetched none, or requested it too often.
        """
        threads = set(threading.enumerate())
        with self._servers.serve(exchange) as (pending, base_url):
            threads |= set(threading.enumerate())
            try:
                asked = replace(exchange, pieces=[], final=[], base_url=base_url, tools_url=pending.tools_url)
                answer = self._subject.read(asked)
            except InvalidAnswer as error:
                raise InvalidAnswer(f"{error.what}; {_requests(pending)}", hint=error.hint) from None
            except ToolparityError:
                raise
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            if "runs" in self.claims:
                _settle(threads)
                answer = _with_runs(answer, exchange)
        self.first, self.sent = pending.first, pending.later
        if isinstance(answer, dict) and "unsupported" in answer:
            return answer  # it need not fetch a response that it does not support
        if not pending.served:
            problem = f"; its error: {answer['error']}" if isinstance(answer, dict) and answer.get("error") else ""
            raise InvalidAnswer(f"{_requests(pending)}{problem}", hint="send the request to the base_url of this case")
        if pending.overrun:
            raise InvalidAnswer(f"{_requests(pending)}, and then too many requests", hint="disable retries")
        return answer

    def next_request(self, follow_up: FollowUp) -> Any:
        """Return the subject's next request; the subject may fetch the response again."""
        with self._servers.serve(follow_up.exchange) as (_, base_url):
            exchange = replace(follow_up.exchange, pieces=[], base_url=base_url)
            return self._subject.next_request(replace(follow_up, exchange=exchange))

    def close(self) -> None:
        """Stop the servers, and close the subject if it can be closed."""
        self._servers.close()
        if hasattr(self._subject, "close"):
            self._subject.close()


def _settle(known: set[threading.Thread]) -> None:
    """Wait until the threads that the subject started have ended, at most `SETTLE` seconds in all."""
    end = time.monotonic() + SETTLE
    for thread in set(threading.enumerate()) - known:
        thread.join(max(0.0, end - time.monotonic()))


def _with_runs(answer: Any, exchange: SubjectExchange) -> Any:
    """Return an agent's answer with the runs that the tools recorded and those that it reports itself."""
    if not isinstance(answer, dict) or "unsupported" in answer:
        return answer
    reported = answer.get("runs") or []
    if not isinstance(reported, list):
        return answer
    recorded = exchange.tools[0].runs if exchange.tools else []
    return {**answer, "runs": [*recorded, *reported]}


def _requests(pending: PendingResponse) -> str:
    if pending.served:
        return f"the subject fetched the response ({pending.served} request{'s' * (pending.served != 1)})"
    if pending.refused:
        return f"the subject fetched no response: {'; '.join(pending.refused)}"
    return "the subject sent no request"
