"""The tool limit reaches the socket: where a second tool begins, the provider's connection is closed before it has sent
the rest, on every surface, through the official SDKs.

The emulated providers stop a little behind the second opening tag and continue when the caller has gone, or never: a
caller that does not close lets them wait until the test fails.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import anthropic
import grpc
import openai
import pytest
from xai_sdk.proto import chat_pb2_grpc

from tests.support.decoding import codes, shapes
from tests.turns.test_clients import reach
from toolparity import StreamDecoder
from toolparity.cassettes.emulated.http import application
from toolparity.cassettes.emulated.rpc import EmulatedChat
from toolparity.cassettes.emulated.servers import Servers, serving
from toolparity.cassettes.recorder.sdks import Link, sdk_module
from toolparity.cassettes.scripts import Round, Say, Script
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.conversation import Request, TextPart, User
from toolparity.normalizer.errors import ToolLimitReached, UserCancelled
from toolparity.normalizer.events import BlockDelta, Event
from toolparity.normalizer.model import Stop
from toolparity.normalizer.requests import write_request
from toolparity.normalizer.textmode import TextMode, TextReader, limit_of, read_stream
from toolparity.turns.execution.tool import Tool
from toolparity.turns.outcome import Outcome
from toolparity.turns.turn import Turn

FIRST = "I read the file first.\n\n<tool:read_files>\n<param:path>file.txt</param:path>\n</tool:read_files>"
SECOND = "\n\n<tool:replace_in_file>\n<param:path>file.txt</param:path>\n<param:content>\n"
REST = (
    "A line that the first tool's result would have made needless.\n" * 24 + "</param:content>\n</tool:replace_in_file>"
)
ASK = "Please change file.txt."
SCRIPT = Script(
    "two-tools-in-the-text",
    "A second tool in the text",
    [Round([Say(FIRST + SECOND + REST)], ask=ASK), Round([Say("Done.")])],
)
READ = [("read_files", {"path": "file.txt"}, "complete")]
#: Seconds that a server waits for its caller to go, and a test for the server to see it: none of them are needed.
PATIENCE = 20.0
#: The wires of the SDKs by OpenAI and by Anthropic, whose streams have the headers of the response.
WITH_HEADERS = ("openai.chat", "openai.responses", "anthropic.messages")
#: Pieces that still leave behind the one with the second opening tag.
BEHIND = 3


class Line:
    """The pieces that a server sent. ``gate``: their number before it waits for its caller to leave, or -1."""

    def __init__(self, gate: int = -1) -> None:
        self.gate = gate
        self.sent: list[Any] = []
        self.gone = threading.Event()

    @property
    def closed(self) -> bool:
        """Whether the server sees its caller leave while the test still holds the client and the servers open."""
        return self.gone.wait(PATIENCE / 2)


class Stage:
    """The servers, and the line of the next caller. What each surface sends is measured once, without a gate."""

    def __init__(self) -> None:
        self.line = Line()
        self.servers = Servers("", "")
        self._known: dict[str, tuple[int, list[Any]]] = {}

    def take(self) -> Line:
        """Return the line of a request that came; the next one has no gate."""
        taken, self.line = self.line, Line()
        return taken

    def aim(self, surface: Surface) -> tuple[Line, list[Any]]:
        """Return a line whose gate is after the piece in which the second tool begins, and all pieces."""
        if surface.name not in self._known:
            line = self.line = Line()
            with ExitStack() as stack:
                given, _, _ = opened(surface, self.servers, stack)
                list(given)
            self._known[surface.name] = (_second(surface, line.sent) + BEHIND, line.sent)
        gate, pieces = self._known[surface.name]
        assert 0 < gate < len(pieces) - 40
        self.line = Line(gate)
        return self.line, pieces


def _second(surface: Surface, pieces: list[Any]) -> int:
    """The piece in which the second tool begins."""
    one = reader(surface)
    for number, piece in enumerate(pieces):
        try:
            one.feed(piece)
        except ToolLimitReached:
            return number
    raise AssertionError("there is no second tool")


def gated(app: Any, stage: Stage) -> Any:
    """The application; behind the gate it waits until the caller is gone."""

    async def run(scope: Any, receive: Any, send: Any) -> None:
        line = stage.take()

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.body" and not line.gone.is_set():
                if len(line.sent) == line.gate:
                    await gone()
                else:
                    line.sent.append(message["body"])
            if not line.gone.is_set():
                await send(message)

        async def gone() -> None:
            while (await asyncio.wait_for(receive(), PATIENCE))["type"] != "http.disconnect":
                pass
            line.gone.set()

        await app(scope, receive, sending)

    return run


class GatedChat(EmulatedChat):
    """xAI's service with the same gate."""

    def __init__(self, stage: Stage) -> None:
        super().__init__({SCRIPT.id: SCRIPT})
        self._stage = stage

    async def GetCompletionChunk(self, request: Any, context: Any) -> AsyncIterator[Any]:
        line = self._stage.take()
        # The call may be over before the gate is reached, while one of the pieces in front of it is sent.
        context.add_done_callback(lambda _: line.gone.set())
        async for chunk in super().GetCompletionChunk(request, context):
            if len(line.sent) == line.gate:
                await asyncio.wait_for(asyncio.Event().wait(), PATIENCE)
            line.sent.append(chunk.SerializeToString())
            yield chunk


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    made = Stage()
    with serving(gated(application({SCRIPT.id: SCRIPT}), made), GatedChat(made)) as made.servers:
        yield made


def body(surface: Surface) -> Any:
    params = {"max_tokens": 1000} if surface.wire == "anthropic.messages" else {}
    request = Request(surface.wire, surface.model, [User([TextPart(ASK)])], provider=surface.provider, params=params)
    asked = write_request(request).body
    if surface.wire != "xai.grpc" and not surface.spec.stream_path:
        asked["stream"] = True
    return asked


def reader(surface: Surface, **options: Any) -> TextReader:
    return TextReader("tool-xml", StreamDecoder(surface.wire, provider=surface.provider), **options)


def opened(surface: Surface, servers: Servers, stack: ExitStack) -> tuple[Any, Callable[[], object], Any]:
    """The stream of the surface's SDK, what closes it, and the headers of the answer if it has them."""
    base, asked = servers.base(surface), body(surface)
    if surface.wire == "xai.grpc":
        channel = stack.enter_context(grpc.insecure_channel(base))
        call = chat_pb2_grpc.ChatStub(channel).GetCompletionChunk(asked, metadata=[("authorization", "Bearer any")])
        return call, call.cancel, ()
    if surface.wire == "anthropic.messages":
        claude = stack.enter_context(anthropic.Anthropic(base_url=base, api_key="any", max_retries=0))
        stream = claude.messages.create(**asked)
        return stream, stream.close, stream.response.headers
    if surface.wire not in WITH_HEADERS:
        sdk = sdk_module(surface)
        sent: Any = sdk.sent(stack.enter_context(sdk.client(Link(base, "any"))), asked, True)
        return sent, sent.close, ()
    client = stack.enter_context(openai.OpenAI(base_url=base, api_key="any", max_retries=0))
    resource: Any = client.chat.completions if surface.wire == "openai.chat" else client.responses
    stream = resource.create(**asked)
    return stream, stream.close, stream.response.headers


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("name", SURFACES)
def test_the_connection_is_closed_at_the_second_tool(name: str, stage: Stage) -> None:
    """001, 3. Update LLM Providers."""
    surface = SURFACES[name]
    line, pieces = stage.aim(surface)
    shown: list[Event] = []
    with ExitStack() as stack:
        given, close, headers = opened(surface, stage.servers, stack)
        response = read_stream(given, reader(surface, headers=headers), close=close, on_event=shown.append)
        assert line.closed, "the server never saw its caller go"
    assert (response.complete, response.error, shapes(response)) == (True, None, READ)
    assert response.choices[0].stop == Stop("tool_calls", None)
    assert response.text == "I read the file first.\n\n"
    assert {"tool-limit", "dropped-call", "call-in-text"} <= set(codes(response))
    assert not {"stream-incomplete", "stream-error", "stop-missing"} & set(codes(response))
    assert line.sent == pieces[: len(line.sent)]
    assert len(line.sent) <= line.gate
    limits = response.extra.get("rate_limit", {})
    assert any("remaining" in name for name in limits) == (surface.wire in WITH_HEADERS)
    assert surface.wire != "anthropic.messages" or (response.usage and response.usage.input_tokens)
    deltas = "".join(event.text for event in shown if isinstance(event, BlockDelta))
    assert deltas == 'I read the file first.\n\n{"path":"file.txt"}'


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("name", SURFACES)
def test_a_turn_closes_the_connection_and_runs_the_first_tool_alone(name: str, stage: Stage) -> None:
    surface = SURFACES[name]
    line, _ = stage.aim(surface)
    ran: list[str] = []
    names = ("read_files", "replace_in_file")
    tools = [Tool(name=tool, function=partial(lambda tool, **_: ran.append(tool), tool)) for tool in names]
    mode = TextMode("tool-xml", limit=limit_of("first"))

    async def run() -> Outcome:
        async with reach(stage.servers, name) as provider:
            turn = Turn(provider, tools, policy="first", prepare=mode.prepare, reader=mode.reader)
            await turn.run(ASK)
            assert await asyncio.to_thread(lambda: line.closed)
            return turn.outcome

    outcome = asyncio.run(run())
    assert ran == ["read_files"]
    assert outcome.text == "Done."
    assert len(line.sent) <= line.gate


def test_a_user_who_cancels_closes_the_connection_and_gets_no_response(stage: Stage) -> None:
    """001, 4. Update Streaming Callback Type."""
    surface = SURFACES["openai.chat"]
    line, _ = stage.aim(surface)

    def cancel(event: Event) -> None:
        if isinstance(event, BlockDelta) and "file" in event.text:
            raise UserCancelled("the user pressed Escape")

    with ExitStack() as stack:
        given, close, _ = opened(surface, stage.servers, stack)
        with pytest.raises(UserCancelled):
            read_stream(given, reader(surface), close=close, on_event=cancel)
        assert line.closed
