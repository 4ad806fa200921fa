"""A gRPC service on loopback that does what the method's name says, and a listener that counts who comes by."""

from __future__ import annotations

import itertools
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
#: The methods that are not of one request and one response, after grpc's example "route guide".
KINDS = {
    **dict.fromkeys(["Count", "CountNone", "CountFail", "Held", "Cut"], grpc.unary_stream_rpc_method_handler),
    **dict.fromkeys(["RecordRoute", "Refuse", "HangUp"], grpc.stream_unary_rpc_method_handler),
    **dict.fromkeys(["RouteChat", "Break", "Linger"], grpc.stream_stream_rpc_method_handler),
}


def text(value: str) -> StringValue:
    return StringValue(value=value)


def _bytes(value: str) -> bytes:
    return text(value).SerializeToString()


def _value(data: bytes) -> str:
    return StringValue.FromString(data).value


class Service(grpc.GenericRpcHandler):
    """``/test.Shop/<Behaviour>``. ``hold``: what a held call waits for; ``calls``: the names of the methods called;
    ``cut``: stops the server at once."""

    def __init__(self) -> None:
        self.hold = threading.Event()
        self.calls: list[str] = []
        self.cut: Callable[[], Any] = lambda: None
        self._numbers = itertools.count(1)

    def service(self, details: Any) -> Any:
        name = details.method.rpartition("/")[2]
        self.calls.append(name)
        return KINDS.get(name, grpc.unary_unary_rpc_method_handler)(getattr(self, f"_{name.lower()}"))

    def _say(self, request: bytes, context: Any) -> bytes:
        return request + request

    def _metadata(self, request: bytes, context: Any) -> bytes:
        context.send_initial_metadata(INITIAL)
        context.set_trailing_metadata(TRAILING)
        return request

    def _fail(self, request: bytes, context: Any) -> None:
        self._metadata(request, context)
        context.abort(grpc.StatusCode.NOT_FOUND, "nö such thing")

    def _hang(self, request: Any, context: Any) -> bytes:
        self.hold.wait(30)
        return _bytes("too late")

    _hangup = _hang

    def _number(self, request: bytes, context: Any) -> bytes:
        """A new answer every time."""
        return _bytes(str(next(self._numbers)))

    def _unknown(self, request: bytes, context: Any) -> bytes:
        return request + UNKNOWN_FIELD

    def _garbage(self, request: bytes, context: Any) -> bytes:
        return b"\xff\xff\xff"

    def _count(self, request: bytes, context: Any) -> Iterator[bytes]:
        context.send_initial_metadata(INITIAL)
        for n in range(4):
            yield _bytes(f"{_value(request)} {n}")
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
        context.send_initial_metadata(INITIAL)
        yield request
        self.hold.wait(30)
        yield request + UNKNOWN_FIELD

    def _recordroute(self, requests: Iterator[bytes], context: Any) -> bytes:
        context.send_initial_metadata((("road", "long"),))
        context.set_trailing_metadata((("cost", "3"),))
        return _bytes(" - ".join(map(_value, requests)))

    def _refuse(self, requests: Iterator[bytes], context: Any) -> None:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"not {list(map(_value, requests))}")

    def _routechat(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        for request in requests:
            yield _bytes(f"you said {_value(request)}")
        yield _bytes("goodbye")

    def _break(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        yield _bytes(f"first {_value(next(requests))}")
        assert not list(requests)
        context.abort(grpc.StatusCode.DATA_LOSS, "the rest is gone")

    def _linger(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        yield _bytes(f"first {_value(next(requests))}")
        self.hold.wait(30)


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
