"""Middleware that breaks the transfer of a response where a fault orders it: delayed, cut, reset, never finished.

A cut or reset is one of the connection itself. The server passes its transport in the state of a request
(`emulated.servers.TRANSPORT`).
"""

from __future__ import annotations

import asyncio
import socket

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..emulated.grpc_relay import ARRIVAL, RESET
from ..emulated.servers import TRANSPORT
from . import instructions
from .faults import TRANSPORT as TRANSPORT_FAILURES
from .faults import Fault, FaultCounter


class BreaksTransfers:
    """The middleware. It reads the request first, so that a client is not interrupted while it sends."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._counter = FaultCounter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        ordered, error = instructions.of(scope).fault, instructions.of(scope).error
        if error is not None:
            response = JSONResponse({"error": {"type": "invalid_fault", "message": str(error)}}, 400)
            await response(scope, receive, send)
            return
        if ordered is None:
            await self._app(scope, receive, send)
            return
        body = await _read(receive)
        path = scope["raw_path"]
        if not self._counter.applies(ordered, (path, body)):
            instructions.forget_fault(scope)
            await self._app(scope, _Again(body, receive), send)
            return
        await asyncio.sleep(ordered.delay)
        transfer = _Transfer(ordered, scope["state"].get(TRANSPORT), send)
        await transfer.begin()
        if not transfer.over:
            await self._app(scope, _Again(body, receive), transfer)
        if transfer.over and not ordered.is_("end"):
            while (await receive())["type"] != "http.disconnect":
                pass


class _Transfer:
    """The sending side of a response with a fault. ``over``: nothing more is sent."""

    def __init__(self, fault: Fault, transport: asyncio.Transport | None, send: Send) -> None:
        self._fault = fault
        self._transport = transport
        self._send = send
        self._left = fault.value if fault.is_(*TRANSPORT_FAILURES) else None
        self.over = False

    async def begin(self) -> None:
        """Fail before the response, if the fault orders it."""
        if self._fault.is_("reset", "hang") and self._fault.value == 0:
            await self._fail()

    async def __call__(self, message: Message) -> None:
        if self.over:
            return
        if message["type"] == "http.response.start":
            if self._fault.is_("end"):
                del MutableHeaders(scope=message)["content-length"]
            await self._send(message)
            return
        piece: bytes = message.get("body", b"")
        if piece:
            await asyncio.sleep(self._fault.slow)
        if self._left is None:
            await self._send(message)
            return
        if len(piece) < self._left or (len(piece) == self._left and message.get("more_body")):
            self._left -= len(piece)
            await self._send(message)
            return
        await self._send({"type": "http.response.body", "body": piece[: self._left], "more_body": True})
        await self._fail()

    async def _fail(self) -> None:
        self.over = True
        if self._fault.is_("end"):
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        elif self._transport is None or self._transport.is_closing() or self._fault.is_("hang"):
            return
        elif self._fault.is_("cut"):
            self._transport.close()
        else:
            await asyncio.sleep(ARRIVAL)
            if self._transport.is_closing():
                return
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self._transport.abort()


class _Again:
    """Receives a request whose body was read already."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _read(receive: Receive) -> bytes:
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(pieces)
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)
