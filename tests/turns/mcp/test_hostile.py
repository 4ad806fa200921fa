"""A hostile MCP server costs its own calls at most: the turn continues, and the process stays small."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.optional import package
from tests.turns.playing import Emulated, Say, at_once, call, only, play, script
from toolparity.turns import events
from toolparity.turns.errors import McpFailed
from toolparity.turns.turn import Turn

from .serving import called, serving, text_of

pytestmark = pytest.mark.service("turns/mcp")

package("mcp", extra="mcp")


async def test_a_server_that_dies_is_a_failure_with_its_last_words_and_is_started_again() -> None:
    async with serving() as server:
        before, died, after = [await called(server, name) for name in ("look", "die", "look")]
    assert (before.outcome, died.outcome, after.outcome) == ("returned", "failed", "returned")
    assert text_of(died) == (
        "The MCP server ended before it answered (it ended with exit code 3: the disk is full): "
        "whether the call took effect is not known."
    )


async def test_a_server_that_starts_slower_than_the_timeout_of_a_call_comes_back() -> None:
    async with serving("slow-start", timeout=0.5) as server:
        await called(server, "die")
        texts = [text_of(await called(server, "look"))]
        async with asyncio.timeout(20):
            while not texts[-1].startswith("look ran"):
                texts.append(text_of(await called(server, "look")))
        first, *others, _ = texts
    waits = "The MCP server is starting again: the call was not sent. Try again later."
    assert first == waits
    assert set(others) <= {waits, "Tool execution timed out after 0.5s."}  # the server may have started, and be slow


async def test_a_call_that_is_cancelled_while_the_server_starts_does_not_stop_it() -> None:
    async with serving("slow-start") as server:
        await called(server, "die")
        waiting = asyncio.create_task(called(server, "look"))
        await asyncio.sleep(0.2)
        connecting = server._connecting
        waiting.cancel()
        await asyncio.wait([waiting])
        finished = await called(server, "look")
        assert server._connecting is connecting
        assert finished.outcome == "returned"


async def test_leaving_the_context_while_the_server_starts_ends_the_program() -> None:
    before = children()
    async with serving("slow-start") as server:
        await called(server, "die")
        waiting = asyncio.create_task(called(server, "look"))
        await asyncio.sleep(0.3)
    assert text_of(await waiting) == "the connection to the MCP server was closed"
    assert children() <= before


async def test_all_calls_that_run_when_a_server_dies_get_a_result() -> None:
    async with serving() as server:
        calls = [asyncio.create_task(called(server, "hang")) for _ in range(5)]
        await asyncio.sleep(0.2)
        await called(server, "die")
        assert ["ended before it answered" in text_of(finished) for finished in [await call for call in calls]] == [
            True
        ] * 5


def test_a_server_that_restarts_with_another_definition_does_not_get_the_call() -> None:
    async def run() -> Any:
        async with serving() as server:
            tool = server.current_tools()["look"]
            await called(server, "die")
            server._server = [*server._server, "redefined"]
            await called(server, "media")
            assert tool.function is not None
            try:
                await tool.function({})
            except Exception as error:
                return str(error)

    assert at_once(run()) == "The MCP server changed or removed look, so this call was not sent to it."


async def test_output_that_is_no_message_is_skipped() -> None:
    async with serving() as server:
        assert [
            finished.outcome for finished in [await called(server, name) for name in ("garbage", "strangers", "look")]
        ] == ["returned"] * 3


async def test_a_result_of_another_form_is_a_failure() -> None:
    async with serving() as server:
        nonsense, look = [await called(server, name) for name in ("nonsense", "look")]
    assert text_of(nonsense).startswith("The result of the MCP server is invalid: ValidationError")
    assert look.outcome == "returned"


async def test_half_a_character_in_a_result_is_replaced() -> None:
    async with serving() as server:
        assert text_of(await called(server, "surrogate")) == "?"


async def test_a_large_result_is_cut() -> None:
    async with serving() as server:
        finished = await called(server, "large")
    assert "[cut: these are the first 1000000 of 2000000 characters]" in text_of(finished)


@pytest.mark.parametrize("tool", ["too_large", "endless"])
async def test_a_message_without_end_ends_the_connection_and_costs_little_memory(tool: str) -> None:
    async with serving() as server:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        finished = [await called(server, name) for name in (tool, "look")]
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 150_000, grown  # KiB; `endless` sends 2.5 GiB
        broken, look = finished
    assert "it sent a message of more than 16 MiB" in text_of(broken)
    assert look.outcome == "returned"


async def test_a_flood_of_notifications_costs_few_events_and_listings(tmp_path: Any) -> None:
    journal = tmp_path / "journal"

    started = time.monotonic()
    async with serving(env={"MCP_JOURNAL": str(journal)}) as server:
        played = script([call("flood"), call("look")], [Say("Done.")], tools=("flood", "look"))
        turn_events = await play(Turn(Emulated("openai.chat", played), [server]))
    seconds = time.monotonic() - started
    assert only(turn_events, events.TurnComplete)[0].text == "Done."
    assert len(only(turn_events, events.CallProgress)) <= 2 + seconds / 0.1
    assert journal.read_text().count("tools/list") <= 3 + seconds / 0.2


async def test_questions_of_the_server_are_declined_and_the_call_continues() -> None:
    async with serving() as server:
        assert (await called(server, "asks")).outcome == "returned"


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
        async with serving(mode, connect_timeout=0.5 if mode in ("mute", "floods") else 30.0):
            pass
    assert children() <= before


def children() -> set[str]:
    """The ids of this process's children; none are known where the system does not list them."""
    listed = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return set(listed.read_text().split()) if listed.exists() else set()


async def test_a_listing_that_repeats_its_cursor_ends() -> None:
    async with serving("same-cursor") as server:
        assert len(server.current_tools()) > 20


async def test_a_turn_with_a_dying_and_a_hanging_server_answers_every_call() -> None:
    calls = [call("a_die"), call("a_hang"), call("b_look"), call("b_hang")]
    played = script(calls, [Say("Done.")], tools=("a_die", "a_hang", "b_look", "b_hang"))

    async with serving(prefix="a_", timeout=5) as one, serving(prefix="b_", timeout=0.5) as two:
        turn = Turn(Emulated("openai.chat", played), [one, two])
        await turn.run("Go.")
        turn = turn
    outcomes = [call.outcome for call in turn.state.rounds[0].calls]
    assert outcomes == ["failed", "failed", "returned", "timeout"]
    assert turn.outcome.text == "Done."


def test_a_failing_transport_does_not_cancel_the_caller() -> None:
    """The SDK cancels the task that entered its client, which is a task of the connection."""

    class Breaking:
        async def __aenter__(self) -> Any:
            raise RuntimeError("no network")

        async def __aexit__(self, *_: object) -> None:
            raise AssertionError

    async def run() -> str:
        from toolparity.turns.mcp.server import McpServer

        try:
            async with McpServer(Breaking(), name="breaking"):
                pass
        except McpFailed as error:
            await asyncio.sleep(0)  # raises if this task was cancelled
            return str(error)
        return ""

    assert "no network" in at_once(run())
