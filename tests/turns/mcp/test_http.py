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
from toolparity.turns.execution.tools import Tools
from toolparity.turns.mcp.server import McpServer
from toolparity.turns.turn import Turn

from .program import INITIALIZED
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
        progress = [event.data for event in only(await play(turn), events.CallProgress)]
        assert server.current_tools()["sink"].approval is True
    found, sunk = turn.state.rounds[0].tool_results
    assert found.parts == [JsonPart({"result": ["Ana", "Horta"]})]
    assert sunk.is_error
    assert "Ana is unsinkable" in str(sunk.parts)
    assert progress == [{"progress": 1.0, "total": 2.0, "message": "looking"}]
    async with McpServer(official(), name="harbour") as server:  # in this process
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
        body, message = b"", {"more_body": True}
        while message.get("more_body"):
            message = await receive()
            body += message.get("body", b"")
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
            answer = {**INITIALIZED, "capabilities": {"tools": {}}}
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


async def test_a_call_in_a_session_that_ended_runs_once_in_a_new_one() -> None:
    """Headers are sent with each request. A server that forgets every session is a failure."""
    raw = Raw()
    async with listening(raw) as url, McpServer(url, headers={"Authorization": "Bearer k"}) as server:
        assert text_of(await called(server, "look")) == "in s1"
        raw.sessions += 1  # the server has forgotten the first session
        assert text_of(await called(server, "look")) == "in s3"
        assert [method for method, _ in raw.seen].count("tools/call") == 3
        raw.forgets = True
        assert (await called(server, "look")).outcome == "failed"
        assert raw.sessions == 4
    assert {headers.get("authorization") for _, headers in raw.seen} == {"Bearer k"}


async def test_an_answer_over_the_limit_or_a_server_that_ended_is_a_failure_of_the_call() -> None:
    raw = Raw()
    async with listening(raw) as url:
        server = McpServer(url, timeout=5)
        await server.__aenter__()
        for raw.huge, outcome in ((True, "failed"), (False, "returned")):
            assert (await called(server, "look")).outcome == outcome
    after = await called(server, "look")
    await server.__aexit__()
    assert after.outcome == "failed"
    assert text_of(after).startswith("the MCP server cannot be")  # and not: whether the call took effect is not known
