"""The emulated providers start, listen, and stop."""

from __future__ import annotations

import socket
import threading
import warnings
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import psutil
import pytest
from xai_sdk.proto import chat_pb2_grpc

from toolparity.cassettes.emulated.servers import Servers, running, serving
from toolparity.cassettes.errors import ServerNotStarted


def ports(servers: Servers) -> list[int]:
    return [int(address.rpartition(":")[2]) for address in (servers.http_url, servers.grpc_address)]


def listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True


def threads() -> int:
    return sum(thread.name == "emulated-providers" for thread in threading.enumerate())


@pytest.mark.parametrize(
    ("options", "url", "listening", "silent"),
    [
        ({}, "http://127.0.0.1:", "127.0.0.1", "127.0.0.2"),
        ({"host": "0.0.0.0"}, "http://0.0.0.0:", "127.0.0.2", ""),
        ({"host": "localhost"}, "http://", "127.0.0.1", ""),
        ({"host": "::1"}, "http://[::1]:", "::1", "127.0.0.1"),
    ],
)
def test_both_servers_listen_on_loopback_or_on_the_chosen_host(
    options: dict[str, Any], url: str, listening: str, silent: str
) -> None:
    if "::1" in options.values():
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError as error:
            pytest.skip(f"no IPv6 here: {error}")
    with running(**options) as servers:
        assert servers.http_url.startswith(url)
        for port in ports(servers):
            assert listens(listening, port)
            assert not (silent and listens(silent, port))


def test_nothing_is_left_when_the_block_ends_or_raises() -> None:
    def fails() -> None:
        with running() as servers:
            used.extend(ports(servers))
            raise KeyError

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with running() as servers:
            used = ports(servers)
            before = threads()
        with pytest.raises(KeyError):
            fails()
    assert threads() == before - 1
    # Another process may listen at a port that was free again.
    own = psutil.Process().net_connections("tcp")
    assert not {each.laddr.port for each in own if each.status == psutil.CONN_LISTEN} & set(used)


async def _endless(scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"begun", "more_body": True})
    while (await receive())["type"] != "http.disconnect":
        pass


def test_an_endless_stream_does_not_delay_the_end_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    with serving(_endless, chat_pb2_grpc.ChatServicer()) as servers:
        reader = socket.create_connection(("127.0.0.1", ports(servers)[0]))
        reader.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert reader.recv(12) == b"HTTP/1.1 200"
    received = b""
    with reader, suppress(ConnectionResetError):
        while data := reader.recv(65536):
            received += data
    assert (received.endswith(b"begun\r\n"), caplog.records) == (True, [])


def test_a_port_that_is_taken_and_a_foreign_address_are_errors(capfd: pytest.CaptureFixture[str]) -> None:
    chat = chat_pb2_grpc.ChatServicer()
    with serving(_endless, chat) as servers:
        web, rpc = ports(servers)
        taken: list[dict[str, Any]] = [{"http_port": web}, {"grpc_port": rpc}]
        for port in taken:
            with pytest.raises(ServerNotStarted), serving(_endless, chat, **port):
                pass
        assert listens("127.0.0.1", web)
        assert listens("127.0.0.1", rpc)
    with pytest.raises(ServerNotStarted, match=r"203\.0\.113\.1:0: cannot listen"), running(host="203.0.113.1"):
        pass
    capfd.readouterr()  # gRPC itself writes a line there
