"""WebSocket sessions pass unchanged, are counted and recorded, and are reported as not judged."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from tests.audit.proxy.conftest import PATIENCE, UPGRADE, Judgements, Peer, Proxied, ScriptedUpstream, proxying
from tests.audit.proxy.test_secrets import KEY
from toolparity.audit.proxy.lines import TextLines
from toolparity.audit.proxy.metrics import Metrics
from toolparity.audit.proxy.observer import Limits, Observer
from toolparity.cli import main

pytestmark = pytest.mark.service("audit/proxy")

_SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nconnection: upgrade\r\nX-Case: a\r\n\r\n"
_TEXT = Frame(Opcode.TEXT, b'{"a": 1}').serialize(mask=True)
_UNENDING = b"\x81\xff" + struct.pack(">Q", (1 << 63) - 1) + b"maskabc"  # announces more than ever comes
_PARTS = Frame(Opcode.TEXT, b"a" * 200, fin=False), Frame(Opcode.PING, b""), Frame(Opcode.CONT, b"b")
_REST = Frame(Opcode.BINARY, b"\xff" * 66_000), Frame(Opcode.CLOSE, struct.pack(">H", 1000))
_CLOSED = b"".join(frame.serialize(mask=True) for frame in (*_PARTS, *_REST))


@contextmanager
def _session(proxy: Proxied, early: bytes = b"") -> Iterator[socket.socket]:
    with proxy.connection() as client:
        client.sendall(UPGRADE + early)
        assert _received(client, len(_SWITCHED)) == _SWITCHED
        yield client


def _received(client: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count and (more := client.recv(count - len(data))):
        data += more
    return data


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _echo(peer: Peer) -> None:
    peer.send(_SWITCHED)
    while data := peer.socket.recv(1 << 16):
        peer.send(data)


def test_a_session_passes_is_recorded_without_secrets_and_is_reported_as_not_judged(tmp_path: Path) -> None:
    def handler(server: ServerConnection) -> None:
        for message in iter(server.recv, "end"):
            server.send(message)
        server.close(4001, "done")

    path, judgements, metrics, lines = tmp_path / "traffic.jsonl", Judgements(), Metrics(), list[str]()
    sent: list[str | bytes] = [json.dumps({"type": "delta", "delta": piece}) for piece in (KEY[:9], KEY[9:])]
    sent += [json.dumps({"audio": "UklGRg+/" * 100}), b"\x00\xff" * 200, f'{{\n "key": "{KEY}"\n}}'.encode()]
    protocols = [Subprotocol("realtime")]
    with (
        serve(handler, "127.0.0.1", 0, subprotocols=protocols) as server,
        Observer([metrics, TextLines(lines.append), judgements], record=str(path)) as observer,
        proxying(
            f"http://127.0.0.1:{server.socket.getsockname()[1]}", observer=observer, judgements=judgements
        ) as proxy,
    ):
        threading.Thread(target=server.serve_forever).start()
        url, fields = f"{proxy.url.replace('http', 'ws')}/v1/realtime?key={KEY}", {"authorization": f"Bearer {KEY}"}
        with connect(url, subprotocols=protocols, additional_headers=fields) as client:
            assert (client.subprotocol, len(client.protocol.extensions)) == ("realtime", 1)  # messages are compressed
            for message in [*sent, "end"]:
                client.send(message)
            assert [client.recv() for _ in sent] == sent
            with pytest.raises(ConnectionClosed, match=r"4001.*done"):
                client.recv()
        (judgement,) = judgements.wait(1)
    assert (judgement.unjudged, judgement.ending, observer.sessions, observer.messages) == (
        "websocket",
        "complete",
        1,
        11,
    )
    assert lines[0].endswith("GET /v1/realtime: not judged: websocket (6 messages sent, 5 received)")
    assert 'websocket_messages_total{direction="sent"} 6' in metrics.text()
    assert not any(secret in path.read_text() for secret in (KEY, KEY[:9], KEY[9:], "UklGRg"))
    row = json.loads(path.read_text())
    assert (row["omitted"], row["complete"]) == ({"sent": 0, "received": 0}, True)
    recorded = [message for message in row["messages"] if message["direction"] == "received"]
    assert [one["type"][0] for one in recorded] == [*"tttbbc"]
    assert [one["size"] for one in recorded] == [*map(len, sent), 6]
    assert ("text" in recorded[3], recorded[4]["text"].count("\n"), recorded[5]["code"]) == (False, 2, 4001)
    assert "<800 characters of base64>" in recorded[2]["text"]
    for arguments, code in (([], 4), (["--fail-on", "session-unread"], 1)):
        result = CliRunner().invoke(main, ["audit", *arguments, str(path)])
        assert (result.exit_code, "1 WebSocket session not judged" in result.output) == (code, True)


def test_bytes_pass_in_any_pieces_whatever_they_are() -> None:
    with ScriptedUpstream(_echo) as upstream, proxying(upstream.url) as proxy:
        for number, (data, early, messages, ending) in enumerate(
            (
                (_CLOSED, 0, 2, "complete"),
                (_CLOSED, 100, 2, "complete"),  # before the response
                (_TEXT * 3, 0, 3, "client-left"),
                (_UNENDING, 0, 1, "client-left"),
                (b"\xf3\x02ab", 0, 0, "client-left"),  # reserved bits and kind
            )
        ):
            with _session(proxy, data[:early]) as client:
                for place in range(early, min(len(data), 300)):
                    client.sendall(data[place : place + 1])
                client.sendall(data[300:])
                assert _received(client, len(data)) == data
            judgement = proxy.judgements.wait(number + 1)[-1]
            assert (judgement.sent, judgement.received, judgement.ending) == (messages, messages, ending)


def test_the_end_of_one_side_reaches_the_other() -> None:
    def breaks(peer: Peer) -> None:
        peer.send(_SWITCHED)
        _reset(peer.socket)

    stay, half = socket.socket.fileno, lambda client: client.shutdown(socket.SHUT_WR)
    for answer, sent, leave, received, ending in (
        (partial(Peer.send, data=_SWITCHED + _TEXT), b"", stay, _TEXT, "upstream-broke"),
        (breaks, b"", stay, b"", "upstream-broke"),
        (_echo, _TEXT, half, _TEXT, "client-left"),
        (_echo, b"", _reset, None, "client-left"),
    ):
        with ScriptedUpstream(answer) as upstream, proxying(upstream.url) as proxy:
            with _session(proxy) as client:
                client.sendall(sent)
                leave(client)
                assert received is None or _received(client, 1 << 16) == received
            assert proxy.judgements.wait(1)[0].ending == ending


def test_a_refusal_passes_and_other_upgrades_and_requests_with_a_body_pass_without_an_upgrade() -> None:
    heads: list[bytes] = []

    def answer(peer: Peer) -> None:
        heads.append(peer.head.lower())
        peer.send(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 401 No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")

    with ScriptedUpstream(answer) as upstream, proxying(upstream.url) as proxy, proxy.connection() as client:
        for old, new, upgraded in (
            (b"", b"", True),
            (b"connection: Upgrade", b"connection: keep-alive\r\nconnection: upgrade", True),
            (b"upgrade: websocket", b"upgrade: h2c, WebSocket", True),
            (b"upgrade: websocket", b"upgrade: h2c", False),
            (b"upgrade:", b"content-length: 4\r\nupgrade:", False),
            (b"HTTP/1.1", b"HTTP/1.0", False),
        ):
            client.sendall(UPGRADE.replace(old, new) + (b"abcd" if b"length" in new else b""))
            assert client.recv(1000).startswith(b"HTTP/1.1 401 Unauthorized\r\n")  # always on one connection
            assert (b"upgrade: websocket" in heads.pop()) is upgraded, new
        assert {(one.unjudged, one.sent) for one in proxy.judgements.wait(6)} == {("unknown-wire", None)}


def test_messages_beyond_the_limit_pass_and_are_counted_as_omitted(tmp_path: Path) -> None:
    with (
        ScriptedUpstream(_echo) as upstream,
        Observer(limits=Limits(exchange=1000), record=str(tmp_path / "cassettes")) as observer,
        proxying(upstream.url, observer=observer) as proxy,
        _session(proxy) as client,
    ):
        for _ in range(100):
            client.sendall(_TEXT)
            assert _received(client, len(_TEXT)) == _TEXT
    row = json.loads((tmp_path / "cassettes" / "websocket.jsonl").read_text())
    assert 0 < len(row["messages"]) < 20
    assert len(row["messages"]) + sum(row["omitted"].values()) == observer.messages == 200


def test_a_session_continues_while_the_proxy_stops_and_is_cut_at_the_end() -> None:
    stopping = threading.Event()
    with ScriptedUpstream(_echo) as upstream, proxying(upstream.url, on_stop=stopping.set) as proxy:
        with _session(proxy) as client:
            proxy.server.stop()
            assert stopping.wait(PATIENCE)
            client.sendall(_TEXT)
            assert _received(client, len(_TEXT)) == _TEXT
            proxy.server.stop(at_once=True)
            assert client.recv(1) == b""
        assert (proxy.judgements.wait(1)[0].ending, proxy.judgements[0].sent) == ("proxy-stopped", 1)
