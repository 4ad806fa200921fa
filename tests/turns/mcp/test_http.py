"""MCP servers over streamable HTTP: both eras of the protocol, headers, sessions that end, and answers without end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.optional import package
from tests.turns.playing import Emulated, Say, call, only, play, script
from toolparity.normalizer.conversation import JsonPart
from toolparity.turns import events
from toolparity.turns.errors import McpFailed
from toolparity.turns.execution.tools import Tools
from toolparity.turns.mcp.server import McpServer
from toolparity.turns.turn import Turn

from .serving import called, text_of, until

pytestmark = pytest.mark.service("turns/mcp")

package("mcp", extra="mcp")

from mcp.server.mcpserver import Context, MCPServer  # noqa: E402 (its tools find their annotations in the module)
from mcp.server.mcpserver.exceptions import ToolError  # noqa: E402
from mcp_types import ToolAnnotations  # noqa: E402

uvicorn = package("uvicorn", extra="conformance")


@asynccontextmanager
async def listening(app: Any) -> AsyncIterator[str]:
    """The address of a server that runs an ASGI application."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1, ws="none"))
    running = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        await running


def official() -> Any:
    """A server of the official SDK."""
    server = MCPServer("harbour")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def find_boat(harbour: str, ctx: Context[Any]) -> list[str]:
        """Find a boat."""
        await ctx.report_progress(1, 2, "looking")
        return ["Ana", harbour]

    @server.tool()
    async def sink(boat: str) -> str:
        raise ToolError(f"{boat} is unsinkable")

    return server


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_turn_uses_a_server_of_the_official_sdk(mode: str) -> None:
    calls = [call("find_boat", harbour="Horta"), call("sink", boat="Ana")]
    played = script(calls, [Say("Done.")], tools=("find_boat", "sink"))

    async with listening(official().streamable_http_app()) as url, McpServer(url, mode=mode) as server:
        turn = Turn(Emulated("openai.responses", played), [server], approve=lambda _: True)
        turn_events = await play(turn)
        (found, sunk), turn_events, approval = (
            turn.state.rounds[0].tool_results,
            turn_events,
            server.current_tools()["sink"].approval is True,
        )
    assert found.parts == [JsonPart({"result": ["Ana", "Horta"]})]
    assert sunk.is_error
    assert "Ana is unsinkable" in str(sunk.parts)
    assert [event.data for event in only(turn_events, events.CallProgress)] == [
        {"progress": 1.0, "total": 2.0, "message": "looking"}
    ]
    assert approval


async def test_an_in_process_server_of_the_official_sdk_is_a_target_too() -> None:
    async with McpServer(official(), name="harbour") as server:
        assert (await called(server, "find_boat", harbour="Horta")).outcome == "returned"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_changes_arrive_over_http(mode: str) -> None:
    harbour = official()

    @harbour.tool()
    async def grow(ctx: Context[Any]) -> str:
        harbour.add_tool(lambda: "grown", name="grown", description="New.")
        await ctx.session.send_tool_list_changed()
        await ctx.notify_tools_changed()
        return "done"

    async with listening(harbour.streamable_http_app()) as url, McpServer(url, mode=mode) as server:
        tools = Tools([server])
        await called(server, "grow")
        await until(lambda: "grown" in tools)
        assert list(tools) == ["find_boat", "sink", "grow", "grown"]


class Raw:
    """A server that answers each method with what the test sets. ``seen``: the headers of each request."""

    def __init__(self) -> None:
        self.sessions = 0
        self.forgets = False
        self.huge = False
        self.seen: list[tuple[str, dict[str, str]]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message.get("more_body"):
                break
        request = json.loads(body) if body else {}
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        method = request.get("method", scope["method"])
        self.seen.append((method, headers))
        status, answer, session = 200, None, f"s{self.sessions}"
        if scope["method"] != "POST":
            status = 405
        elif "id" not in request:
            status = 202
        elif method == "initialize":
            self.sessions += 1
            session = f"s{self.sessions}"
            info = {"name": "raw", "version": "1"}
            answer = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "server/discover" or headers.get("mcp-session-id") != session or self.forgets:
            status = 404
        elif method == "tools/list":
            answer = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
        else:
            answer = {"content": [{"type": "text", "text": "x" * (20 << 20) if self.huge else f"in {session}"}]}
        document = {"jsonrpc": "2.0", "id": request.get("id"), "result": answer}
        content = json.dumps(document).encode() if answer is not None else b""
        members = [(b"content-type", b"application/json"), (b"mcp-session-id", session.encode())]
        await send({"type": "http.response.start", "status": status, "headers": members})
        await send({"type": "http.response.body", "body": content})


async def test_headers_are_sent_with_each_request() -> None:
    raw = Raw()

    async with listening(raw) as url, McpServer(url, headers={"Authorization": "Bearer k"}) as server:
        await called(server, "look")
    assert {headers.get("authorization") for _, headers in raw.seen} == {"Bearer k"}
    assert "tools/call" in [method for method, _ in raw.seen]


async def test_a_call_in_a_session_that_ended_runs_once_in_a_new_one() -> None:
    raw = Raw()

    async with listening(raw) as url, McpServer(url) as server:
        before = await called(server, "look")
        raw.sessions += 1  # the server has forgotten the first session
        assert [text_of(before), text_of(await called(server, "look"))] == ["in s1", "in s3"]


async def test_a_server_that_forgets_every_session_is_a_failure() -> None:
    raw = Raw()

    async with listening(raw) as url, McpServer(url) as server:
        raw.forgets = True
        assert (await called(server, "look")).outcome == "failed"
    assert raw.sessions == 2


async def test_an_answer_over_the_limit_is_a_failure_and_the_server_stays_usable() -> None:
    raw = Raw()

    async with listening(raw) as url, McpServer(url) as server:
        raw.huge = True
        huge = await called(server, "look")
        raw.huge = False
        huge, look = [huge, await called(server, "look")]
    assert huge.outcome == "failed"
    assert look.outcome == "returned"


async def test_a_server_that_is_not_there_is_an_error() -> None:
    with pytest.raises(McpFailed, match=r"127\.0\.0\.1:1/mcp: the MCP server cannot be"):
        async with McpServer("http://127.0.0.1:1/mcp"):
            pass


async def test_a_server_that_ends_between_two_calls_is_a_failure_of_the_second() -> None:
    async with listening(Raw()) as url:
        server = McpServer(url, timeout=5)
        await server.__aenter__()
        before = await called(server, "look")
    after = await called(server, "look")
    await server.__aexit__()
    *outcomes, text = [before.outcome, after.outcome, text_of(after)]
    assert outcomes == ["returned", "failed"]
    assert text.startswith("the MCP server cannot be")  # and not: whether the call took effect is not known
