"""The gRPC server of xAI's Chat, directly or behind a relay that breaks connections and has TLS."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from grpc import aio
from xai_sdk.proto import chat_pb2_grpc

from .grpc_relay import Connections, Relay
from .sockets import at, listening

if TYPE_CHECKING:
    from .certificate import Certificate

#: The most bytes of a gRPC request, equal to the limit in xAI's SDK.
_LARGEST = 20 << 20


@runtime_checkable
class BreakingService(Protocol):
    """A service that can break the connections of its clients."""

    def register(self, server: Any, connections: Connections) -> None:
        """Add the service to a server."""


class GrpcServer:
    """The server, for the event loop of its caller. ``chat``: a servicer of the SDK, or a breaking service."""

    def __init__(self, chat: chat_pb2_grpc.ChatServicer | BreakingService, certificate: Certificate | None) -> None:
        self._chat = chat
        self._certificate = certificate
        self._relay = Relay() if certificate is not None or isinstance(chat, BreakingService) else None
        # Without SO_REUSEPORT, a second server on the same port fails instead of sharing its connections.
        self._server = aio.server(options=[("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", _LARGEST)])

    async def start(self, host: str, port: int) -> int:
        """Accept calls, and return the port."""
        if isinstance(self._chat, BreakingService):
            assert self._relay is not None
            self._chat.register(self._server, self._relay)
        else:
            chat_pb2_grpc.add_ChatServicer_to_server(self._chat, self._server)
        if self._relay is None:
            bound = self._server.add_insecure_port(at(host, port))
            await self._server.start()
            return int(bound)
        listener = listening(host, port)
        inner_port = self._server.add_insecure_port("127.0.0.1:0")
        await self._server.start()
        tls = None if self._certificate is None else self._certificate.context("h2")
        await self._relay.start(listener, inner_port, tls)
        return int(listener.getsockname()[1])

    async def stop(self) -> None:
        """Stop, and break the open connections."""
        stopping = [self._server.stop(grace=None), *([] if self._relay is None else [self._relay.stop()])]
        await asyncio.gather(*stopping)
