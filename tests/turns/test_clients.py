"""Provider clients over the official SDKs: they send the written body and yield the chunks of the wire."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import anthropic
import grpc
import httpx
import openai
import pytest
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError
from google.genai._interactions_errors import APIConnectionError as GoogleConnectionError
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, StreamingResponse
from starlette.responses import Response as HttpResponse
from starlette.routing import Route
from xai_sdk.proto import chat_pb2, chat_pb2_grpc

from tests.support.wires import PLAYED_WIRES as WIRES
from toolparity import Response, ResponseHeaders, StreamDecoder
from toolparity.cassettes.emulated.servers import Servers, running, serving
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.conversation import ToolDefinition
from toolparity.normalizer.errors import MissingExtra, MissingKey, UnknownWire
from toolparity.normalizer.requests import write_request
from toolparity.normalizer.wires.registry import spec
from toolparity.turns import Outcome, Turn, dump, load
from toolparity.turns.clients import SdkClient, client
from toolparity.turns.provider import Provider
from toolparity.turns.request import opening
from toolparity.turns.retry_after import demanded

from .playing import Counting, Fault, Round, Say, at_once, call, on_every_wire, script

HTTP_WIRES = tuple(wire for wire in WIRES if spec(wire).framing == "bytes")
#: Without boto3: it refuses members that it does not know, and a request of Converse has none for streaming.
OPEN_WIRES = tuple(wire for wire in HTTP_WIRES if wire != "bedrock.converse")
#: The SDK of Ollama never repeats a request, that of Cohere no streamed one.
NOT_REPEATED = ("cohere.chat", "ollama.chat")
#: Calls of Gemini mostly have no ids.
MISSING = {"google.gemini": {"id-missing"}}
#: With the surfaces of other providers that use OpenAI's SDK.
SURFACE_NAMES = (*WIRES, "xai.chat", "xai.responses")

UNREACHABLE = (anthropic.APIConnectionError, openai.APIConnectionError, EndpointConnectionError, GoogleConnectionError)
UNREACHABLE += (httpx.ConnectError,)  # type: ignore[assignment]

SCRIPT = script([Say("Let me look."), call("look", what="it")], [Say("Here it is.")])


def reach(servers: Servers, name: str, **options: Any) -> SdkClient:
    """The client of a surface, connected to the emulated provider, without retries."""
    surface = SURFACES[name]
    if surface.wire == "bedrock.converse":
        keys = {"aws_access_key_id": options.pop("api_key", "any"), "aws_secret_access_key": "any"}
        retries = {"total_max_attempts": 1 + options.pop("max_retries", 0)}
        place = {"region_name": "us-east-1", "endpoint_url": servers.base(surface)}
        options |= {**keys, **place, "config": Config(retries=retries)}
        return client(surface.wire, surface.model, provider=surface.provider, **options)
    options = {"api_key": "any", **options}
    if surface.wire == "xai.grpc":
        options |= {"api_host": servers.base(surface), "use_insecure_channel": True}
        options.setdefault("channel_options", [("grpc.enable_retries", 0)])
    elif surface.wire in ("google.gemini", "google.interactions"):
        attempts = 1 + options.pop("max_retries", 0)
        retries = {"attempts": attempts, "initial_delay": 0.01, "max_delay": 0.02}
        options |= {"http_options": {"base_url": servers.base(surface), "retry_options": retries}}
    elif surface.wire == "ollama.chat":  # its SDK takes the key from a header, and never retries
        key = options.pop("api_key")
        options = {"host": servers.base(surface), "headers": {"authorization": f"Bearer {key}"} if key else None}
    else:
        options |= {"base_url": servers.base(surface), "max_retries": options.get("max_retries", 0)}
    return client(surface.wire, surface.model, provider=surface.provider, **options)


def body_with_tool(provider: SdkClient) -> Any:
    """A request that offers the script's tool."""
    tools = [ToolDefinition("look", parameters={"type": "object", "properties": {}})]
    request = replace(opening("Go.", provider), model=provider.model, tools=tools)
    return write_request(request, provider.wire, provider=provider.name).body


def chunks_of(provider: SdkClient, **members: Any) -> list[Any]:
    """The chunks of the answer to a request that offers the script's tool, with other members."""

    async def main() -> list[Any]:
        body = body_with_tool(provider)
        async with provider, aclosing(provider.ask({**body, **members} if members else body)) as pieces:
            return [piece async for piece in pieces if not isinstance(piece, ResponseHeaders)]

    return at_once(main())


def read(provider: SdkClient, pieces: list[Any]) -> Response:
    decoder = StreamDecoder(provider.wire, provider=provider.name, request=body_with_tool(provider))
    for piece in pieces:
        decoder.feed(piece)
    return decoder.finish()


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running({"made": SCRIPT}) as up:
        yield up


@pytest.mark.thorough(keep=len(SURFACE_NAMES))
@pytest.mark.parametrize("name", SURFACE_NAMES)
def test_a_client_yields_the_chunks_of_the_wire_in_consecutive_event_loops(servers: Servers, name: str) -> None:
    provider = reach(servers, name)
    assert isinstance(provider, Provider)
    for _ in range(2):
        pieces = chunks_of(provider)
        assert all(isinstance(piece, bytes) for piece in pieces) or provider.wire == "xai.grpc"
        response = read(provider, pieces)
        assert response.complete
        assert {finding.code for finding in response.findings} == MISSING.get(provider.wire, set())
        assert response.text == "Let me look."
        assert [(call.name, call.arguments) for call in response.calls] == [("look", {"what": "it"})]
        assert response.usage is not None, "streams of Chat Completions report it only on request"
    if name in OPEN_WIRES:
        [piece] = chunks_of(provider, stream=False)
        response = read(provider, [piece])
        assert (response.text, [call.name for call in response.calls]) == ("Let me look.", ["look"])


@pytest.mark.parametrize("name", SURFACE_NAMES)
def test_an_authentication_error_is_yielded_as_an_error_response(servers: Servers, name: str) -> None:
    provider = reach(servers, name, api_key="invalid")
    [piece] = chunks_of(provider)
    assert (piece.wire, piece.provider, piece.calls) == (provider.wire, provider.name, [])
    # xAI and Gemini report a wrong key as an invalid argument, and AWS as a request that is forbidden
    statuses = {"xai.grpc": 400, "google.gemini": 400, "bedrock.converse": 403}
    status = statuses.get(provider.wire, 400 if provider.name == "xai" else 401)
    assert (piece.error.status, piece.error.retryable) == (status, False)
    assert piece.error.message


@pytest.mark.thorough(keep=len(WIRES))
@pytest.mark.parametrize("wire", WIRES)
def test_a_rate_limit_error_is_retryable_and_has_its_retry_after(wire: str) -> None:
    busy = script(Round([], fault=Fault("rate_limit", retry_after=9)))
    with running({"made": busy}) as servers:
        [piece] = chunks_of(reach(servers, wire))
    assert (piece.error.status, piece.error.retryable, demanded(piece)) == (429, True, 9.0)


@pytest.mark.thorough(keep=len(WIRES))
@pytest.mark.parametrize("wire", WIRES)
def test_rate_limits_survive_in_a_turn_and_its_state(
    servers: Servers, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"anthropic.messages": "anthropic-ratelimit-tokens-reset", "cohere.chat": "x-trial-endpoint-call-remaining"}
    name = names.get(wire, "x-ratelimit-remaining-requests")
    emulation = SURFACES[wire].emulation
    monkeypatch.setattr(emulation, "headers", lambda play, before=emulation.headers: {**before(play), name: "7"})

    async def main() -> Outcome:
        async with reach(servers, wire) as provider:
            return await Turn(provider, Counting().tools()).run("Go.")

    outcome = at_once(main())
    limits = [round.answer.extra["rate_limit"] for round in load(dump(outcome.state)).rounds if round.answer]
    assert (outcome.text, limits[1:]) == ("Here it is.", [outcome.rate_limit])
    assert outcome.rate_limit[name] == "7"
    assert all("limit" in name or "call" in name for name in outcome.rate_limit)  # no ids, no cookies


@pytest.mark.thorough(keep=1, per="{fault}/{wire}")
@pytest.mark.parametrize("fault", ["overloaded", "reset"])
@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_that_breaks_off_is_reported(wire: str, fault: Any) -> None:
    async def listen(provider: SdkClient) -> tuple[Response, str | None]:
        pieces, raised = [], None
        async with provider, aclosing(provider.ask(body_with_tool(provider))) as answer:
            try:
                async for piece in answer:
                    pieces.append(piece)
            except Exception as error:
                raised = type(error).__name__
        return read(provider, pieces), raised

    breaking = script(Round([Say("Let me look at it now.")], fault=Fault(fault, after=3)))
    with running({"made": breaking}) as servers:
        response, raised = at_once(listen(reach(servers, wire)))
    assert not response.complete
    assert response.text
    assert "Let me look at it now.".startswith(response.text)
    if fault == "overloaded" or wire == "xai.grpc":  # gRPC ends every call with a status, which it may generate itself
        assert raised is None
        assert response.error is not None
        assert response.error.retryable or fault == "overloaded"
    else:
        assert raised in ("RemoteProtocolError", "ReadError", "ProtocolError")


@on_every_wire
def test_an_unreachable_server_raises_the_error_of_the_sdk(wire: str) -> None:
    with running({"made": SCRIPT}) as servers:
        provider = reach(servers, wire)
    if wire == "xai.grpc":
        [piece] = chunks_of(provider)
        assert (piece.error.type, piece.error.retryable) == ("UNAVAILABLE", True)
        return
    with pytest.raises(UNREACHABLE):
        chunks_of(provider)


class Recorder(chat_pb2_grpc.ChatServicer):  # type: ignore[misc]
    """Servers that record requests, send one chunk and keep the connection open, or fail a few times first."""

    def __init__(self, failures: int = 0) -> None:
        self.bodies: list[Any] = []
        self.left = threading.Event()
        self.failures = failures

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self._http, methods=["POST"])])

    async def _http(self, request: HttpRequest) -> HttpResponse:
        self.bodies.append(await request.json())
        if len(self.bodies) <= self.failures:
            return JSONResponse({"error": {"message": "busy"}}, 503, {"retry-after-ms": "1"})
        return StreamingResponse(self._held(), media_type="text/event-stream")

    async def _held(self) -> AsyncIterator[bytes]:
        try:
            yield b"data: {}\n\n"
            await asyncio.sleep(60)
        finally:
            self.left.set()

    async def GetCompletionChunk(self, request: Any, context: Any) -> AsyncIterator[Any]:
        self.bodies.append(request)
        if len(self.bodies) <= self.failures:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "busy")
        try:
            yield chat_pb2.GetChatCompletionChunk(id="one")
            await asyncio.sleep(60)
        finally:
            self.left.set()


async def _first(provider: SdkClient, body: Any, left: threading.Event | None = None) -> Any:
    async with provider:
        pieces = provider.ask(body)
        first = await anext(pieces)
        await pieces.aclose()
        assert left is None or await asyncio.to_thread(left.wait, 15), "the client did not close the connection"
        return first


@on_every_wire
def test_closing_the_answer_closes_the_connection_and_only_the_stream_members_are_added_to_the_body(wire: str) -> None:
    recorder = Recorder()
    with serving(recorder.app, recorder) as servers:
        provider = reach(servers, wire)
        body = body_with_tool(provider)
        if wire in OPEN_WIRES:
            body = {**body, "of_next_year": {"depth": [1, None]}}
        at_once(_first(provider, body, recorder.left))
    if wire not in OPEN_WIRES:
        return
    added = {} if spec(wire).stream_path else {"stream": True}
    if wire == "openai.chat":
        added["stream_options"] = {"include_usage": True}  # type: ignore[assignment]
    if spec(wire).stream_path:
        del body[spec(wire).model_member]  # the address has it, and requests a stream
    assert recorder.bodies == [{**body, **added}]


@pytest.mark.parametrize(
    ("name", "given", "sent"),
    [
        ("openai", {"include_obfuscation": False}, {"include_obfuscation": False, "include_usage": True}),
        ("openai", {"include_usage": False}, {"include_usage": False}),
        ("openai", None, {"include_usage": True}),
        ("of-next-year", None, {"include_usage": True}),
        ("mistral", None, None),  # its SDK lists the members of a body, and it rejects any other
    ],
)
def test_a_stream_asks_for_usage_unless_the_body_or_the_provider_says_otherwise(
    name: str, given: Any, sent: Any
) -> None:
    recorder = Recorder()
    with serving(recorder.app, recorder) as servers:
        sdk = openai.AsyncOpenAI(api_key="any", base_url=servers.base(SURFACES["openai.chat"]), max_retries=0)
        provider = client("openai.chat", "m", provider=name, sdk=sdk)
        options = {} if given is None else {"stream_options": given}
        at_once(_first(provider, {**body_with_tool(provider), **options}))
    assert recorder.bodies[0].get("stream_options") == sent


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire not in NOT_REPEATED])
def test_retries_are_done_by_the_sdk(wire: str) -> None:
    recorder = Recorder(failures=2)
    with serving(recorder.app, recorder) as servers:
        retry_options: dict[str, Any] = {"channel_options": []} if wire == "xai.grpc" else {"max_retries": 2}
        provider = reach(servers, wire, **retry_options)
        first = at_once(_first(provider, body_with_tool(provider)))
    assert not isinstance(first, Response)
    assert len(recorder.bodies) == 3


def test_an_sdk_client_passed_by_the_caller_is_used_and_not_closed(servers: Servers) -> None:
    async def main() -> None:
        sdk = openai.AsyncOpenAI(base_url=servers.base(SURFACES["openai.chat"]), api_key="any", max_retries=0)
        async with sdk:
            provider = client("openai.chat", "gpt-5-mini", sdk=sdk)
            async with provider, aclosing(provider.ask(body_with_tool(provider))) as pieces:
                assert [piece async for piece in pieces]
            assert not sdk.is_closed()

    at_once(main())


@pytest.mark.parametrize(
    ("wire", "variable"),
    [
        ("openai.chat", "OPENAI_API_KEY"),
        ("openai.responses", "OPENAI_API_KEY"),
        ("anthropic.messages", "ANTHROPIC_API_KEY"),
        ("xai.grpc", "XAI_API_KEY"),
    ],
)
def test_the_api_key_is_read_from_the_environment_variable_of_the_sdk(
    servers: Servers, monkeypatch: pytest.MonkeyPatch, wire: str, variable: str
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY", "XAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    provider = reach(servers, wire, api_key=None)
    if wire != "anthropic.messages":  # whose SDK may have other credentials
        with pytest.raises((openai.OpenAIError, ValueError), match=variable):
            chunks_of(provider)
    monkeypatch.setenv(variable, "any")
    assert not isinstance(chunks_of(provider)[0], Response)


def test_another_provider_never_receives_the_openai_key(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of openai")
    monkeypatch.delenv("XAI_API_KEY", raising=False)
    provider = client("openai.chat", "grok-4-fast", provider="xai", base_url=servers.base(SURFACES["xai.chat"]))
    with pytest.raises(MissingKey, match="XAI_API_KEY"):
        chunks_of(provider)
    monkeypatch.setenv("XAI_API_KEY", "any")
    assert not isinstance(chunks_of(provider)[0], Response)


def test_an_unknown_provider_needs_a_base_url_and_an_unknown_wire_is_an_error() -> None:
    for wire, name in (("openai.chat", "unknown"), ("anthropic.messages", "bedrock")):
        with pytest.raises(UnknownWire, match="base_url"):
            client(wire, provider=name)
    known = client("openai.chat", provider="unknown", base_url="http://127.0.0.1:9/v1", api_key="any")
    assert known.name == "unknown"
    with pytest.raises(UnknownWire, match=r"openai\.chat, openai\.responses"):
        client("openai.realtime")


def test_a_missing_sdk_is_named_in_the_error() -> None:
    sdks = {"openai.chat": "openai", "openai.responses": "openai", "anthropic.messages": "anthropic"}
    sdks |= {"xai.grpc": "xai_sdk", "google.gemini": "google.genai", "google.interactions": "google.genai"}
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({list(sdks.values())}))\n"
        "from toolparity.turns.clients import client\n"
        "from toolparity.normalizer.errors import MissingExtra\n"
        f"for wire in {list(sdks)}:\n"
        "    try: client(wire)\n"
        "    except MissingExtra as error: print(error)\n"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for (wire, sdk), line in zip(sdks.items(), printed.splitlines(), strict=True):
        assert line.startswith(f"the client of {wire} needs the SDK")
        assert f"pip install {sdk.replace('_', '-').replace('.', '-')}" in line
    assert issubclass(MissingExtra, ImportError)
