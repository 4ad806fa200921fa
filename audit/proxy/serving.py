"""The server's side of HTTP/1.1: uvicorn on h11, with chunks that are written without h11's checks."""

from __future__ import annotations

from typing import Any

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

#: How h11 writes the field of a response whose body is chunked.
_CHUNKED = b"\r\ntransfer-encoding: chunked\r\n"


class ServerProtocol(H11Protocol):
    """A connection of a client."""

    def __init__(self, config: Config, *arguments: Any, **options: Any) -> None:
        super().__init__(config, *arguments, **options)
        self.conn = _Connection(h11.SERVER, config.h11_max_incomplete_event_size or 0)


class _Connection(h11.Connection):
    """Writes the chunks of a body directly.

    h11 checks every chunk against its table of states, in Python, which takes a tenth of the time for a stream. A chunk
    changes no state.
    """

    _chunked = False

    def send(self, event: h11.Event) -> Any:
        if self._chunked and type(event) is h11.Data:
            data = event.data
            return b"%x\r\n%b\r\n" % (len(data), data) if data else b""
        output = super().send(event)
        self._chunked = type(event) is h11.Response and output is not None and _CHUNKED in output
        return output
