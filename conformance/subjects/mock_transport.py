"""Serves bytes to the HTTP client of an official SDK without a socket, so that the SDK reads them as in production."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .interface import SubjectExchange


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
        self._exchange: SubjectExchange | None = None
        self.mock = http.MockTransport(self)

    def load(self, exchange: SubjectExchange) -> None:
        self._exchange = exchange

    def __call__(self, request: Any) -> Any:
        exchange = self._exchange
        assert exchange is not None
        streamed = exchange.stream and exchange.status < 400
        headers = {"content-type": "text/event-stream" if streamed else "application/json"}
        content: Any = iter(exchange.pieces) if streamed else exchange.body
        return self._http.Response(exchange.status, headers=headers, content=content, request=request)
