"""TLS with a generated certificate, and HTTP/2 with and without TLS."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import grpc
import h2.config
import h2.connection
import h2.events
import httpx2
import pytest

from toolparity.cassettes.emulated.certificate import Certificate
from toolparity.cassettes.emulated.servers import Servers, serving
from toolparity.cassettes.replay.http import application
from toolparity.cassettes.replay.response_index import ResponseIndex
from toolparity.cassettes.replay.rpc import ReplayedChat

from .conftest import Server, answer_body, sent_body
from .test_grpc import recorded_request

CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return Certificate(["stand-in.test"])


@pytest.fixture(scope="module")
def secure(index: ResponseIndex, certificate: Certificate) -> Iterator[Servers]:
    with serving(application(index), ReplayedChat(index), certificate=certificate) as servers:
        yield servers


def trusting(certificate: Certificate) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=certificate.authority.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_client_that_trusts_the_authority_connects(secure: Servers, certificate: Certificate, host: str) -> None:
    url = secure.http_url.replace("127.0.0.1", host)
    assert url.startswith("https://")
    with urllib.request.urlopen(url + "/v1/models", context=trusting(certificate)) as answer:
        assert json.loads(answer.read())["object"] == "list"


def test_any_other_client_refuses(secure: Servers, certificate: Certificate) -> None:
    assert Certificate().authority != certificate.authority
    with pytest.raises(urllib.request.URLError, match="CERTIFICATE_VERIFY_FAILED"):  # type: ignore[attr-defined]
        urllib.request.urlopen(secure.http_url + "/v1/models")


def test_grpc_is_on_tls_too(secure: Servers, certificate: Certificate) -> None:
    credentials = grpc.ssl_channel_credentials(certificate.authority)
    with grpc.secure_channel(secure.grpc_address, credentials) as channel:
        call = channel.unary_unary("/xai_api.Chat/GetCompletion", request_serializer=None, response_deserializer=None)
        assert call(recorded_request(False), timeout=20)


@pytest.mark.parametrize("stream", [False, True])
def test_http2_is_offered_on_tls(secure: Servers, certificate: Certificate, stream: bool) -> None:
    with httpx2.Client(http2=True, verify=trusting(certificate)) as client:
        answer = client.post(secure.http_url + CHAT, content=sent_body("openai.chat", stream))
        assert answer.http_version == "HTTP/2"
        assert answer.content == answer_body("openai.chat", stream)


class _Http2Client:
    """A client with prior knowledge, one request on a connection. ``events``: what arrived."""

    def __init__(self, server: Server) -> None:
        self._address = urlsplit(server.url)
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.body = b""
        self.status: str | None = None
        self.ended = False

    async def post(self, path: str, body: bytes, *, window: int | None = None, goaway: bool = False) -> None:
        reader, writer = await asyncio.open_connection(self._address.hostname, self._address.port)
        self._h2.initiate_connection()
        if window is not None:
            self._h2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})
        head = [(":method", "POST"), (":path", path), (":scheme", "http"), (":authority", "127.0.0.1")]
        self._h2.send_headers(1, head)
        self._h2.send_data(1, body, end_stream=True)
        writer.write(self._h2.data_to_send())
        if goaway:
            writer.write(bytes.fromhex("0000080700000000000000000000000000"))  # no further streams, no error
        with contextlib.suppress(ConnectionResetError):
            while not self.ended and (data := await reader.read(65536)):
                for event in self._h2.receive_data(data):
                    self._handle(event)
                writer.write(self._h2.data_to_send())
        writer.close()

    def _handle(self, event: Any) -> None:
        if isinstance(event, h2.events.ResponseReceived):
            self.status = dict(event.headers)[":status"]
        elif isinstance(event, h2.events.DataReceived):
            self.body += event.data
            self._h2.acknowledge_received_data(event.flow_controlled_length, 1)
        elif isinstance(event, h2.events.StreamEnded):
            self.ended = True


@pytest.mark.parametrize(("window", "goaway"), [(None, False), (100, False), (None, True)])
def test_http2_without_tls_streams_the_recorded_body(server: Server, window: int | None, goaway: bool) -> None:
    client = _Http2Client(server)
    path = "/fault/slow=0.01" + CHAT
    asyncio.run(client.post(path, sent_body("openai.chat", True), window=window, goaway=goaway))
    assert (client.status, client.ended) == ("200", True)
    assert client.body == answer_body("openai.chat", True)


@pytest.mark.parametrize("fault", ["cut=300", "reset=300"])
def test_http2_breaks_without_the_end_of_the_stream(server: Server, fault: str) -> None:
    client = _Http2Client(server)
    asyncio.run(client.post(f"/fault/{fault}{CHAT}", sent_body("openai.chat", True)))
    assert not client.ended
    assert client.body == answer_body("openai.chat", True)[:300]
