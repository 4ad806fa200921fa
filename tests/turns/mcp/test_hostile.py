"""A hostile MCP server costs its own calls at most: the turn continues, and the process stays small."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from tests.support.optional import package
from tests.turns.playing import Emulated, Say, call, only, play, script
from toolparity.turns import events
from toolparity.turns.errors import McpFailed
from toolparity.turns.mcp.server import McpServer
from toolparity.turns.turn import Turn

from .serving import called, serving, text_of

pytestmark = pytest.mark.service("turns/mcp")

package("mcp", extra="mcp")


async def test_a_server_that_dies_is_a_failure_with_its_last_words_and_is_started_again() -> None:
    """All calls that run at that time get a result. With another definition it does not get the call."""
    async with serving() as server:
        look = server.current_tools()["look"]
        running = [asyncio.create_task(called(server, "hang")) for _ in range(5)]
        before, died = await called(server, "look"), await called(server, "die")
        assert ["ended before it answered" in text_of(await hung) for hung in running] == [True] * 5
        after = await called(server, "look")
        assert (before.outcome, died.outcome, after.outcome) == ("returned", "failed", "returned")
        how = "it ended with exit code 3: the disk is full): whether the call took effect is not known."
        assert text_of(died) == f"The MCP server ended before it answered ({how}"
        await called(server, "die")
        server._server = [*server._server, "redefined"]
        await called(server, "media")
        assert look.function is not None
        with pytest.raises(Exception, match="The MCP server changed or removed look, so this call was not sent to it"):
            await look.function({})


async def test_a_server_that_starts_slower_than_the_timeout_of_a_call_comes_back() -> None:
    async with serving("slow-start", timeout=0.5) as server:
        await called(server, "die")
        texts = [text_of(await called(server, "look"))]
        async with asyncio.timeout(20):
            while not texts[-1].startswith("look ran"):
                texts.append(text_of(await called(server, "look")))
    assert texts[0] == "The MCP server is starting again: the call was not sent. Try again later."
    assert set(texts[1:-1]) <= {texts[0], "Tool execution timed out after 0.5s."}  # it may have started, and be slow


async def test_a_call_that_is_cancelled_while_the_server_starts_does_not_stop_it() -> None:
    """Leaving the context does, and ends the program."""
    before = children()
    async with serving("slow-start") as server:
        await called(server, "die")
        waiting = asyncio.create_task(called(server, "look"))
        await asyncio.sleep(0.2)
        connecting = server._connecting
        waiting.cancel()
        await asyncio.wait([waiting])
        assert (await called(server, "look")).outcome == "returned"
        assert server._connecting is connecting
        await called(server, "die")
        waiting = asyncio.create_task(called(server, "look"))
        await asyncio.sleep(0.3)
    assert text_of(await waiting) == "the connection to the MCP server was closed"
    assert children() <= before


async def test_output_that_is_invalid_is_skipped_or_a_failure_of_its_call() -> None:
    """Questions of the server are declined."""
    async with serving() as server:
        for name in ("garbage", "unknown_ids", "asks", "look"):
            assert (await called(server, name)).outcome == "returned", name
        nonsense = text_of(await called(server, "nonsense"))
        assert nonsense.startswith("The result of the MCP server is invalid: ValidationError")
        assert (await called(server, "look")).outcome == "returned"


@pytest.mark.parametrize("tool", ["too_large", "endless"])
async def test_a_message_without_end_ends_the_connection_and_costs_little_memory(tool: str) -> None:
    resource = pytest.importorskip("resource", reason="Windows has no `resource`")
    async with serving() as server:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert "it sent a message of more than 16 MiB" in text_of(await called(server, tool))
        assert (await called(server, "look")).outcome == "returned"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 150_000, grown  # KiB; `endless` sends 2.5 GiB


async def test_a_flood_of_notifications_costs_few_events_and_listings(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    started = time.monotonic()
    async with serving(env={"MCP_JOURNAL": str(journal)}) as server:
        played = script([call("flood"), call("look")], [Say("Done.")], tools=("flood", "look"))
        turn_events = await play(Turn(Emulated("openai.chat", played), [server]))
    seconds = time.monotonic() - started
    assert only(turn_events, events.TurnComplete)[0].text == "Done."
    assert len(only(turn_events, events.CallProgress)) <= 2 + seconds / 0.1
    assert journal.read_text().count("tools/list") <= 3 + seconds / 0.2


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("mute", "did not answer within 0.5 seconds"),
        ("floods", "did not answer within 0.5 seconds"),
        ("quits", "it ended with exit code 4: no licence"),
        ("no-list", "does not list its tools"),
        ("pages", r"more than 1000 pages|does not list its tools"),
    ],
)
async def test_a_server_that_does_not_start_is_an_error_and_no_process_stays(mode: str, message: str) -> None:
    before = children()
    with pytest.raises(McpFailed, match=message):
        await serving(mode, connect_timeout=0.5 if mode in ("mute", "floods") else 30.0).__aenter__()
    assert children() <= before


def children() -> set[str]:
    """The ids of this process's children; none are known where the system does not list them."""
    listed = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return set(listed.read_text().split()) if listed.exists() else set()


async def test_a_turn_with_a_dying_and_a_hanging_server_answers_every_call() -> None:
    names = ("a_die", "a_hang", "b_look", "b_hang")
    async with serving(prefix="a_", timeout=5) as one, serving(prefix="b_", timeout=0.5) as two:
        played = script([call(name) for name in names], [Say("Done.")], tools=names)
        turn = Turn(Emulated("openai.chat", played), [one, two])
        assert (await turn.run("Go.")).text == "Done."
    outcomes = [called.outcome for called in turn.state.rounds[0].calls]
    assert outcomes == ["failed", "failed", "returned", "timeout"]


async def test_a_failing_transport_does_not_cancel_the_caller() -> None:
    """The SDK cancels the task that entered its client, which is a task of the connection."""
    breaking = MagicMock(**{"__aenter__.side_effect": RuntimeError("no network")})
    with pytest.raises(McpFailed, match="no network"):
        await McpServer(breaking, name="breaking").__aenter__()
    assert not breaking.__aexit__.called
    await asyncio.sleep(0)  # raises if this task was cancelled
