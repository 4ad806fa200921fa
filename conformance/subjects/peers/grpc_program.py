"""A gRPC server that sends the response, for libraries that read xAI through xAI's own SDK.

Such a library brings `grpc` with it. The messages are sent as bytes, so that no code reads them before the library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from program import Loopback  # type: ignore[import-not-found]  # isort: skip

import grpc


@cache
def address(loaded: Loopback) -> str:
    """Return the address ``127.0.0.1:PORT`` of a server of `xai_api.Chat`, which sends the loaded response."""

    def plain(request: bytes, context: Any) -> bytes:
        body: bytes = b"".join(loaded.pieces)
        if loaded.status >= 400:
            _abort(body, context)
        return body

    def streamed(request: bytes, context: Any) -> Iterator[bytes]:
        failed = loaded.status >= 400
        yield from loaded.pieces[:-1] if failed else loaded.pieces
        if failed:
            _abort(loaded.pieces[-1], context)

    handlers: dict[str, Any] = {
        "GetCompletion": grpc.unary_unary_rpc_method_handler(plain),
        "GetCompletionChunk": grpc.unary_stream_rpc_method_handler(streamed),
    }
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("xai_api.Chat", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    _SERVERS.append(server)
    return f"127.0.0.1:{port}"


#: The servers that run; one that is not referenced stops.
_SERVERS: list[Any] = []


def _abort(status: bytes, context: Any) -> None:
    """Abort a call with the provider's status: ``{"code", "details"}``."""
    error = json.loads(status)
    context.abort(getattr(grpc.StatusCode, error["code"], grpc.StatusCode.UNKNOWN), str(error.get("details") or ""))
