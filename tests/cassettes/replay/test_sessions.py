"""The official SDKs speak with the served sessions: parallel calls with results, and an interruption within a call."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest

from tests.cassettes.replay.test_tls import trusting
from tests.support.optional import package
from toolparity import Response, select
from toolparity.cassettes.emulated.certificate import Certificate
from toolparity.cassettes.emulated.servers import serving
from toolparity.cassettes.replay.http import application
from toolparity.cassettes.replay.response_index import ResponseIndex
from toolparity.cassettes.replay.rpc import ReplayedChat
from toolparity.normalizer.sessions import CallsCancelled, Session

genai = package("google.genai", extra="sdks")


async def _answer(session: Session, messages: list[Any], send: Any, receive: Any) -> Response:
    for message in messages:
        session.sent(message)
        await send(message)
    while True:
        for each in session.received(await receive()):
            if isinstance(each.event, Response):
                return each.event


async def _turn(session: Session, send: Any, receive: Any, **members: Any) -> None:
    first = await _answer(session, [message | members for message in session.say("Where?")], send, receive)
    calls = select(first).calls
    assert [call.name for call in calls] == ["get_weather", "get_weather", "list_events"]
    second = await _answer(session, session.results(first, {call.id: "dry" for call in calls}), send, receive)
    assert (second.complete, second.calls, "Porto" in second.text, session.findings) == (True, [], True, [])


async def _openai(base: str, trust: Any) -> None:
    client = openai.AsyncOpenAI(base_url=f"{base}/openai/v1", api_key="any")
    async with client.responses.connect(websocket_connection_options=trust) as responses:
        await _turn(Session("openai.responses"), responses.send, responses.recv, model="gpt-5-mini")
    async with client.realtime.connect(model="gpt-realtime", websocket_connection_options=trust) as live:
        await _turn(Session("openai.realtime"), live.send, live.recv)
    async with client.realtime.connect(model="gpt-realtime", websocket_connection_options=trust) as live:
        session = Session("openai.realtime")
        await live.response.create()
        while not session.responses:
            event = await live.recv()
            session.received(event)
            if event.type == "response.output_item.added" and event.item.type == "function_call":
                await live.response.cancel()
        await live.response.create()
        while len(session.responses) < 2:
            session.received(await live.recv())
    cut, again = session.responses
    assert (again.complete, cut.id != again.id, len(session.findings)) == (True, True, 1)
    assert (cut.choices[0].stop.raw, bool(cut.calls), select(cut).kept) == ("cancelled", True, [])


async def _google(base: str, context: Any) -> None:
    options = {"base_url": f"{base}/google", "async_client_args": {"ssl": context}}
    client = genai.Client(api_key="any", http_options=options)
    async with client.aio.live.connect(model="gemini-live-2.5-flash-preview") as live:
        session = Session("google.live")

        async def send(message: Any) -> None:
            if "toolResponse" in message:
                await live.send_tool_response(function_responses=message["toolResponse"]["functionResponses"])
            else:
                await live.send_client_content(turns=message["clientContent"]["turns"])

        await _turn(session, send, live._receive)
    async with client.aio.live.connect(model="gemini-live-2.5-flash-preview") as live:
        session = Session("google.live")
        given = await _answer(session, session.say("Where?"), send, live._receive)
        await send(session.say("Wait.")[0])
        assert session.received(await live._receive())[0].event == CallsCancelled([call.id for call in given.calls])
    options["base_url"] = base.replace("parallel-three", "unknown") + "/google"
    async with genai.Client(api_key="any", http_options=options).aio.live.connect(model="gemini-live") as live:
        await send(session.say("Where?")[0])
        with pytest.raises(genai.errors.ClientError, match="404 NOT_FOUND"):
            await live._receive()


def test_official_sdks_make_turns_with_parallel_calls_and_interrupt_them(index: ResponseIndex) -> None:
    certificate = Certificate()
    context = trusting(certificate)
    with serving(application(index, delay=0.005), ReplayedChat(index), certificate=certificate) as servers:
        base = f"{servers.http_url}/scenario/parallel-three"
        asyncio.run(_openai(base, {"ssl": context}))
        asyncio.run(_google(base, context))
