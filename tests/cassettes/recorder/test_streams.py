"""A caller gets a stream while it is recorded; what is recorded is the whole body, or nothing."""

from __future__ import annotations

import asyncio
import contextlib
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from toolparity.cassettes.recorder.vcr import recording

FIRST = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[]}\n\n'
LAST = b"data: [DONE]\n\n"
BEHIND = b": behind the end\n\n"
QUESTION: Any = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "stream": True}


class Slow:
    """A server that sends the first event, and the rest only on demand; it breaks the body off on demand."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.breaks = False


@contextmanager
def served(slow: Slow) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self.chunk(FIRST)
            assert slow.go_on.wait(30)
            if slow.breaks:
                self.close_connection = True
                return
            with suppress(BrokenPipeError, ConnectionResetError):  # the client may have left
                for piece in (FIRST, LAST, BEHIND, b""):
                    self.chunk(piece)

        def chunk(self, piece: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()

        def log_message(self, *args: Any) -> None:
            pass

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            slow.go_on.set()
            server.shutdown()
            thread.join()


@pytest.fixture
def slow() -> Slow:
    return Slow()


def client(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=url, api_key="k", max_retries=0, timeout=20)


def test_the_first_event_does_not_wait_for_the_last(slow: Slow) -> None:
    with served(slow) as url, recording({url: "https://api.example.com/v1"}) as cassette, client(url) as sdk:
        with sdk.chat.completions.create(**QUESTION) as stream:
            assert next(stream).id == "c"  # the server has not sent more than this
            assert not slow.go_on.is_set()
            assert len(cassette) == 0
            slow.go_on.set()
            assert len(list(stream)) == 1
        ((request, response),) = cassette.data
    assert request.uri == "https://api.example.com/v1/chat/completions"
    assert response["body"]["string"] == FIRST + FIRST + LAST + BEHIND


def test_nor_does_it_in_asyncio(slow: Slow) -> None:
    async def talk(url: str) -> list[str]:
        async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0, timeout=20) as sdk:
            stream = await sdk.chat.completions.create(**QUESTION)
            async with stream:
                ids = [(await anext(aiter(stream))).id]
                assert not slow.go_on.is_set()
                slow.go_on.set()
                ids += [chunk.id async for chunk in stream]
        return ids

    with served(slow) as url, recording({}) as cassette:
        assert asyncio.run(talk(url)) == ["c", "c"]
    assert [response["body"]["string"] for _, response in cassette.data] == [FIRST + FIRST + LAST + BEHIND]


def test_a_caller_who_leaves_early_leaves_a_whole_body_behind(slow: Slow) -> None:
    with served(slow) as url, recording({}) as cassette, client(url) as sdk:
        with sdk.chat.completions.create(**QUESTION) as stream:
            next(stream)
            slow.go_on.set()
        assert [response["body"]["string"] for _, response in cassette.data] == [FIRST + FIRST + LAST + BEHIND]


def test_a_body_that_breaks_off_is_not_recorded(slow: Slow) -> None:
    slow.breaks = True
    with served(slow) as url, recording({}) as cassette, client(url) as sdk:
        with sdk.chat.completions.create(**QUESTION) as stream:
            next(stream)
            slow.go_on.set()
            with pytest.raises(openai.APIConnectionError):
                list(stream)
        assert cassette.data == []


def test_nor_where_the_caller_makes_do_with_what_came(slow: Slow) -> None:
    slow.breaks = True
    slow.go_on.set()
    with served(slow) as url, recording({}) as cassette, httpx2.HTTPTransport() as transport:
        response = transport.handle_request(httpx2.Request("POST", f"{url}/chat/completions", json=QUESTION))
        assert isinstance(response.stream, httpx2.SyncByteStream)
        with contextlib.suppress(httpx2.RemoteProtocolError):
            assert list(response.stream) == []  # not reached: the body has no end
        response.stream.close()
        assert cassette.data == []


def test_nor_in_asyncio(slow: Slow) -> None:
    async def talk(url: str) -> None:
        async with httpx2.AsyncHTTPTransport() as transport:
            asked = httpx2.Request("POST", f"{url}/chat/completions", json=QUESTION)
            response = await transport.handle_async_request(asked)
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            with contextlib.suppress(httpx2.RemoteProtocolError):
                assert [part async for part in response.stream] == []  # not reached: the body has no end
            await response.stream.aclose()

    slow.breaks = True
    slow.go_on.set()
    with served(slow) as url, recording({}) as cassette:
        asyncio.run(talk(url))
        assert cassette.data == []


def test_a_body_that_breaks_off_behind_the_callers_back_is_not_recorded_either(slow: Slow) -> None:
    slow.breaks = True
    with served(slow) as url, recording({}) as cassette, client(url) as sdk:
        with sdk.chat.completions.create(**QUESTION) as stream:
            next(stream)
            slow.go_on.set()
        assert cassette.data == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_a_caller_who_is_interrupted_does_not_wait_for_the_rest(slow: Slow, error: type[BaseException]) -> None:
    def interrupt(sdk: openai.OpenAI) -> None:
        with sdk.chat.completions.create(**QUESTION) as stream:
            next(stream)
            raise error

    with served(slow) as url, recording({}) as cassette, client(url) as sdk:
        with pytest.raises(error):
            interrupt(sdk)
        assert not slow.go_on.is_set()
        assert cassette.data == []


def test_a_caller_who_fails_leaves_a_whole_body_behind(slow: Slow) -> None:
    def fail(sdk: openai.OpenAI) -> None:
        with sdk.chat.completions.create(**QUESTION) as stream:
            next(stream)
            slow.go_on.set()
            raise ZeroDivisionError

    with served(slow) as url, recording({}) as cassette, client(url) as sdk:
        with pytest.raises(ZeroDivisionError):
            fail(sdk)
        assert [response["body"]["string"] for _, response in cassette.data] == [FIRST + FIRST + LAST + BEHIND]


def test_after_the_recording_nothing_is_kept(slow: Slow) -> None:
    slow.go_on.set()
    with served(slow) as url:
        with recording({}) as cassette, client(url) as sdk:
            list(sdk.chat.completions.create(**QUESTION))
        with client(url) as sdk:
            assert len(list(sdk.chat.completions.create(**QUESTION))) == 2
        assert len(cassette.data) == 1


def test_other_sdks_get_their_streams_alike(slow: Slow) -> None:
    with (
        served(slow) as url,
        recording({}) as cassette,
        anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key="k", max_retries=0, timeout=20) as sdk,
    ):
        with sdk.messages.create(
            model="claude-sonnet-4-6", max_tokens=9, messages=QUESTION["messages"], stream=True
        ) as stream:
            assert not slow.go_on.is_set()
            slow.go_on.set()
            assert list(stream) == []  # these are not events of this SDK's
        assert len(cassette.data) == 1
