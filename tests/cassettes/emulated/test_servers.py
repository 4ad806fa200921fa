"""How the emulated providers start, where they listen, and how they stop."""

from __future__ import annotations

import socket
import threading
import warnings
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import psutil
import pytest
from xai_sdk.proto import chat_pb2_grpc

from toolparity.cassettes.emulated.servers import Servers, running, serving
from toolparity.cassettes.errors import ServerNotStarted
from toolparity.cassettes.surfaces import SURFACES


def ports(servers: Servers) -> list[int]:
    return [int(address.rpartition(":")[2]) for address in (servers.http_url, servers.grpc_address)]


def listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "emulated-providers"]


def test_both_servers_listen_on_loopback_and_on_no_other_address() -> None:
    with running() as servers:
        assert servers.http_url.startswith("http://127.0.0.1:")
        assert servers.grpc_address.startswith("127.0.0.1:")
        for port in ports(servers):
            assert listens("127.0.0.1", port)
            assert not listens("127.0.0.2", port)


def test_another_address_is_taken_where_it_is_told() -> None:
    with running(host="0.0.0.0") as servers:
        assert all(listens("127.0.0.2", port) for port in ports(servers))
        assert servers.http_url.startswith("http://0.0.0.0:")


def test_loopback_may_be_told_by_name() -> None:
    with running(host="localhost") as servers:
        assert all(listens("127.0.0.1", port) for port in ports(servers))


def test_loopback_may_be_ipv6() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
    with running(host="::1") as servers:
        assert servers.http_url.startswith("http://[::1]:")
        assert all(listens("::1", port) for port in ports(servers))


def test_nothing_is_left_when_the_block_ends_or_raises() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with running() as servers:
            used = ports(servers)
            before = len(threads())
        with pytest.raises(KeyError):
            _fails(used)
    assert len(threads()) == before - 1
    # Another process may listen at a port that was free again.
    own = psutil.Process().net_connections("tcp")
    assert not {each.laddr.port for each in own if each.status == psutil.CONN_LISTEN} & set(used)


def _fails(used: list[int]) -> None:
    with running() as servers:
        used += ports(servers)
        raise KeyError


def test_two_pairs_run_beside_each_other() -> None:
    with running() as one, running() as other:
        assert not set(ports(one)) & set(ports(other))
        assert all(listens("127.0.0.1", port) for port in ports(one) + ports(other))


def test_an_address_of_nobodys_is_an_error_that_says_so() -> None:
    with pytest.raises(ServerNotStarted, match=r"203\.0\.113\.1:0: cannot listen"), running(host="203.0.113.1"):
        pass


async def _endless(scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"begun", "more_body": True})
    while (await receive())["type"] != "http.disconnect":
        pass


def test_a_stream_that_nobody_ends_does_not_hold_the_server_up(caplog: pytest.LogCaptureFixture) -> None:
    with serving(_endless, chat_pb2_grpc.ChatServicer()) as servers:
        reader = socket.create_connection(("127.0.0.1", ports(servers)[0]))
        reader.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert reader.recv(12) == b"HTTP/1.1 200"
    with reader:
        assert b"".join(_rest(reader)).endswith(b"begun\r\n")
    assert caplog.records == []


def _rest(reader: socket.socket) -> Iterator[bytes]:
    """What comes until the connection ends, in whatever way."""
    try:
        while data := reader.recv(65536):
            yield data
    except ConnectionResetError:
        return


def test_a_port_that_is_taken_is_an_error_for_either_server(capfd: pytest.CaptureFixture[str]) -> None:
    chat = chat_pb2_grpc.ChatServicer()
    with serving(_endless, chat) as servers:
        web, rpc = ports(servers)
        with pytest.raises(ServerNotStarted), serving(_endless, chat, http_port=web):
            pass
        with pytest.raises(ServerNotStarted), serving(_endless, chat, grpc_port=rpc):
            pass
        assert listens("127.0.0.1", web)
        assert listens("127.0.0.1", rpc)
    capfd.readouterr()  # gRPC itself writes a line there


@pytest.mark.parametrize("name", SURFACES)
def test_each_surface_has_its_base(servers: Servers, name: str) -> None:
    base = servers.base(SURFACES[name])
    ends = {
        "openai": "/openai/v1",
        "xai": "/xai/v1",
        "anthropic": "/anthropic",
        **{provider: f"/{provider}" for provider in ("bedrock", "cohere", "google", "ollama")},
    }
    expected = servers.grpc_address if name == "xai.grpc" else servers.http_url + ends[SURFACES[name].provider]
    assert base == expected
