"""Serves bytes to the HTTP client of an official SDK without a socket, so that the SDK reads them as in production."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import SubjectExchange


def http_of(client: type) -> Any:
    """Return the HTTP library of an SDK's default client (httpx or its successor). Raises TypeError for any other."""
    for base in client.__mro__:
        library = base.__module__.split(".")[0]
        if library.startswith("httpx"):
            return import_module(library)
    raise TypeError(f"{client.__name__} is built on an HTTP library that is not known here")


class ResponseTransport:
    """A mock transport that sends the same response to every request. ``load`` sets the response."""

    def __init__(self, http: Any) -> None:
        self._http = http
        self._ask: SubjectExchange | None = None
        self.transport = http.MockTransport(self)

    def load(self, ask: SubjectExchange) -> None:
        self._ask = ask

    def __call__(self, request: Any) -> Any:
        ask = self._ask
        assert ask is not None
        streamed = ask.stream and ask.status < 400
        headers = {"content-type": "text/event-stream" if streamed else "application/json"}
        content: Any = iter(ask.pieces) if streamed else ask.body
        return self._http.Response(ask.status, headers=headers, content=content, request=request)
