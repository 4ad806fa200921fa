"""A gRPC service on loopback that does what the method's name says, and a listener that counts who comes by."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc
from google.protobuf.wrappers_pb2 import StringValue

#: Bytes of a StringValue with a field that its type does not know (number 15).
UNKNOWN_FIELD = b"\x7a\x03new"
INITIAL = (("greeting", "hello"), ("greeting", "again"), ("seal-bin", b"\x00\xff"))
TRAILING = (("cost", "3"), ("sum-bin", b"\x01\xfe"))


class Service(grpc.GenericRpcHandler):
    """``/test.Shop/<Behaviour>``. ``hold``: what a held stream waits for between its messages; ``calls``: their names;
    ``cut``: stops the server at once."""

    def __init__(self) -> None:
        self.hold = threading.Event()
        self.calls: list[str] = []
        self.cut: Callable[[], Any] = lambda: None

    def service(self, details: Any) -> Any:
        name = details.method.rpartition("/")[2]
        streams = name.startswith("Count") or name in ("Held", "Cut")
        make: Callable[..., Any] = (
            grpc.unary_stream_rpc_method_handler if streams else grpc.unary_unary_rpc_method_handler
        )
        if name == "Upload":
            make = grpc.stream_unary_rpc_method_handler
        return make(getattr(self, f"_{name.lower()}"))

    def _say(self, request: bytes, context: Any) -> bytes:
        self.calls.append("Say")
        return request + request

    def _metadata(self, request: bytes, context: Any) -> bytes:
        self.calls.append("Metadata")
        context.send_initial_metadata(INITIAL)
        context.set_trailing_metadata(TRAILING)
        return request

    def _fail(self, request: bytes, context: Any) -> bytes:
        self.calls.append("Fail")
        context.send_initial_metadata(INITIAL)
        context.set_trailing_metadata(TRAILING)
        context.abort(grpc.StatusCode.NOT_FOUND, "nö such thing")
        raise AssertionError

    def _hang(self, request: bytes, context: Any) -> bytes:
        self.calls.append("Hang")
        self.hold.wait(30)
        return request

    def _number(self, request: bytes, context: Any) -> bytes:
        """A new answer every time."""
        self.calls.append("Number")
        return StringValue(value=str(self.calls.count("Number"))).SerializeToString()

    def _unknown(self, request: bytes, context: Any) -> bytes:
        return request + UNKNOWN_FIELD

    def _garbage(self, request: bytes, context: Any) -> bytes:
        return b"\xff\xff\xff"

    def _upload(self, requests: Iterator[bytes], context: Any) -> bytes:
        self.calls.append("Upload")
        return b"".join(requests)

    def _count(self, request: bytes, context: Any) -> Iterator[bytes]:
        self.calls.append("Count")
        context.send_initial_metadata(INITIAL)
        for n in range(4):
            yield StringValue(value=f"{StringValue.FromString(request).value} {n}").SerializeToString()
        context.set_trailing_metadata(TRAILING)

    def _countnone(self, request: bytes, context: Any) -> Iterator[bytes]:
        context.set_trailing_metadata(TRAILING)
        yield from ()

    def _countfail(self, request: bytes, context: Any) -> Iterator[bytes]:
        yield from self._count(request, context)
        context.abort(grpc.StatusCode.DATA_LOSS, "the rest is gone")

    def _cut(self, request: bytes, context: Any) -> Iterator[bytes]:
        yield request
        self.cut()
        self.hold.wait(30)

    def _held(self, request: bytes, context: Any) -> Iterator[bytes]:
        self.calls.append("Held")
        yield request
        self.hold.wait(30)
        yield request + UNKNOWN_FIELD


class Shop:
    """The service, running. ``target``: "127.0.0.1:<port>"."""

    def __init__(self) -> None:
        self.service = Service()
        self._server = grpc.server(futures.ThreadPoolExecutor(16))
        self.service.cut = lambda: self._server.stop(0)
        self._server.add_generic_rpc_handlers((self.service,))
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self.target = f"127.0.0.1:{self.port}"
        self._server.start()
        self._stopped = False

    def stop(self) -> None:
        self.service.hold.set()
        if not self._stopped:
            self._stopped = True
            self._server.stop(0).wait()


class Listener:
    """Listens where a server was. ``visits``: how many connections were made."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_server(("127.0.0.1", port))
        self._socket.settimeout(0)

    @property
    def visits(self) -> int:
        """The kernel completes connections by itself: those that came are waiting, accepted by no one."""
        count = 0
        while True:
            try:
                visitor, _ = self._socket.accept()
            except BlockingIOError:
                return count
            visitor.close()
            count += 1

    def close(self) -> None:
        self._socket.close()
