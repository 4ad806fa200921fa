"""Tools of an MCP server: results, approval, progress, cancellation, changed definitions, and the page about them."""

from __future__ import annotations

import asyncio
import json
import logging
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.optional import package
from tests.turns.playing import WIRES, Emulated, Say, assert_legal, at_once, call, names_of_page, only, play, script
from toolparity.normalizer.conversation import JsonPart, MediaPart, TextPart
from toolparity.normalizer.errors import MissingExtra
from toolparity.turns import events
from toolparity.turns.agent import Agent
from toolparity.turns.errors import InvalidTool, McpFailed, TurnMisused
from toolparity.turns.execution.tools import Tools
from toolparity.turns.machine.state import dump, load
from toolparity.turns.mcp.server import McpServer
from toolparity.turns.turn import Turn

from .program import PIXEL
from .serving import PROGRAM, called, serving, text_of, until

pytestmark = pytest.mark.service("turns/mcp")

package("mcp", extra="mcp")

COMMAND = shlex.join([sys.executable, PROGRAM])


def calling(*names: str, **arguments: Any) -> Emulated:
    """A provider that calls these tools in one round."""
    played = script([call(name, **arguments) for name in names], [Say("Done.")], tools=names)
    return Emulated("openai.chat", played)


async def test_the_parts_of_a_result_are_those_of_the_server() -> None:
    """Structured content appears once beside other text, and must fit its schema."""
    async with serving() as server:
        assert text_of(await called(server, "look", text="a")) == 'look ran with {"text": "a"}'
        assert (await called(server, "media")).result.parts == [
            TextPart("media ran with {}"),
            MediaPart("image", "image/png", data=PIXEL),
            MediaPart("audio", "audio/wav", data="UklGRg=="),
            TextPart("[resource file:///n.txt]\na note"),
            MediaPart("file", "application/pdf", data="JVBERi0=", name="b.pdf"),
            TextPart("[resource file:///c: c, text/plain]"),
        ]
        assert (await called(server, "structured")).result.parts == [TextPart("warm"), JsonPart({"degrees": 21})]
        for tool, text in {
            "unfit": "'warm' is not of type 'integer'",
            "fail": "the harbour is closed",
            "refuse": "The MCP server answered with an error: no such harbour",
            "surrogate": "?",
            "large": "[cut: these are the first 1000000 of 2000000 characters]",
        }.items():
            finished, failed = await called(server, tool), tool not in ("surrogate", "large")
            assert (finished.outcome, finished.result.is_error) == ("failed" if failed else "returned", failed)
            assert text in text_of(finished)
        function = server.current_tools()["progress"].function
        assert function is not None
        assert not (await function({})).is_error  # a call that is not in a turn has no progress
    assert "the connection to the MCP server was closed" in text_of(await called(server, "look"))


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
async def test_a_turn_on_every_wire_accepts_images_and_restores_adapted_arguments(wire: str) -> None:
    async with serving(only=("media", "union", "fail")) as server:
        tools = Tools([server])
        arguments: dict[str, Any] = {"city": "Horta"}
        if "city" not in str(tools["union"].parameters).partition("properties")[2][:30]:
            arguments = {next(iter((tools["union"].parameters or {})["properties"])): arguments}
        played = script([call("media"), call("union", **arguments), call("fail")], [Say("Done.")], tools=tuple(tools))
        turn = Turn(Emulated(wire, played), [server])
        await turn.run("Go.")
    media, union, fail = turn.state.rounds[0].tool_results
    assert any(isinstance(part, MediaPart) for part in media.parts)
    assert union.parts == [TextPart('union ran with {"city": "Horta"}')]
    assert fail.is_error
    assert turn.outcome.text == "Done."
    assert_legal(turn, wires=[wire])


async def test_calls_need_approval_unless_the_server_states_that_nothing_is_destroyed() -> None:
    """A rule decides by the definition and the arguments. Only repeatable tools run again after a crash."""
    names = ("look", "add", "silent", "destroy")
    for approval, expected in {None: [False, False, True, True], True: [True] * 4, False: [False] * 4}.items():
        async with serving(approval=approval) as server:
            tools = server.current_tools()
            assert [tools[name].needs_approval({}) for name in names] == expected
            assert [tools[name].idempotent for name in names] == [True, True, False, False]
    async with serving(approval=lambda tool, arguments: tool.destructive and arguments["text"] != "safe") as server:
        tools = server.current_tools()
        calls = ("destroy", "x"), ("destroy", "safe"), ("look", "x")
        assert [tools[name].needs_approval({"text": text}) for name, text in calls] == [True, False, False]


async def test_progress_of_the_server_is_an_event_of_the_turn() -> None:
    async with serving() as server:
        progress = [event.data for event in only(await play(Turn(calling("progress"), [server])), events.CallProgress)]
    assert progress == [{"progress": float(step), "total": 2.0, "message": f"step {step}"} for step in (1, 2)]


async def test_cancelling_a_turn_or_a_timeout_cancels_the_call_on_the_server(tmp_path: Path) -> None:
    journal = tmp_path / "journal"

    async def cancelled(times: int) -> None:
        await until(lambda: journal.read_text().count("notifications/cancelled") == times)

    async with serving(timeout=1, env={"MCP_JOURNAL": str(journal)}) as server:
        turn = Turn(calling("hang"), [server])
        async for event in turn.stream("Go."):
            if isinstance(event, events.CallStarted):
                asyncio.get_running_loop().call_later(0.3, turn.cancel)
        await cancelled(1)
        assert turn.outcome.termination == "cancelled"
        assert (await called(server, "hang")).outcome == "timeout"
        await cancelled(2)
        assert (await called(server, "look")).outcome == "returned"


async def test_a_changed_definition_is_held_back_until_it_is_approved(caplog: pytest.LogCaptureFixture) -> None:
    """Approving one definition does not approve another."""
    async with serving("redefined") as other_server:
        [other] = [definition for definition in other_server._offered() if definition.name == "look"]
    async with serving() as server:
        tools = Tools([server])
        before = server.approved["look"]
        await called(server, "redefine")
        await until(lambda: "look" not in tools)
        server.approve(other)
        [held] = server.held
        assert (held.name, held.digest != before) == ("look", True)
        assert "evil.example" in (held.description or "")
        assert "look" not in [tool.name for tool in tools.declared()]
        assert (await called(server, "look")).outcome == "unknown_tool"
        server.approve(held)
        assert server.held == []
        assert tools["look"].description == held.description
        assert (await called(server, "look")).outcome == "returned"
    assert caplog.text.count("tool look: its definition is not the approved one, and is held back") == 1


async def test_stored_approvals_hold_back_what_changed_between_two_programs() -> None:
    async with serving() as server:
        approved = server.approved
    async with serving("redefined", approved=approved) as server, serving(approved={}) as without:
        assert server.current_tools().keys() == approved.keys() - {"look", "broken"}
        assert [held.name for held in server.held] == ["look"]
        assert without.current_tools() == {}


@pytest.mark.parametrize("mode", ["", "redefined"])
async def test_a_call_approved_under_one_definition_does_not_run_under_another(mode: str) -> None:
    """The turn waits in one process; when it resumes, the server has another definition, which is approved, too."""
    async with serving(approval=True) as server:
        turn = Turn(calling("look", text="a"), [server])
        await turn.run("Go.")
        kept = dump(turn.state)
    async with serving(mode, approval=True) as server:
        turn = Turn(calling("look", text="a"), [server], state=load(kept))
        turn.decide(turn.outcome.waiting[0].id, True)
        await turn.run()
    [result] = turn.state.rounds[0].tool_results
    changed = "This call was not executed: look was changed or withdrawn after this turn declared it."
    assert result.is_error == (result.parts == [TextPart(changed)]) == bool(mode)


async def test_the_next_turn_of_a_conversation_declares_the_tools_that_the_server_has_by_then() -> None:
    async with serving() as server:
        agent = Agent(provider := calling("grow", "remove"), [server])
        conversation = agent.conversation()
        await conversation.send("Go.")
        await until(lambda: "grown" in agent.tools and "look" not in agent.tools)
        await conversation.send("And now?")
    declared = [{tool["function"]["name"] for tool in provider.bodies[number]["tools"]} for number in (0, -1)]
    assert [names & {"look", "grown"} for names in declared] == [{"look"}, {"grown"}]


async def test_two_servers_with_equal_names_need_a_prefix() -> None:
    async with serving() as one, serving() as two, serving(prefix="b_", only=["look"]) as three:
        with pytest.raises(InvalidTool, match=r"two tools are called 'look'.*give the MCP server a prefix"):
            Tools([one, two])
        assert [name for name in Tools([one, three]) if name.endswith("look")] == ["look", "b_look"]
        assert text_of(await called(three, "b_look")) == "look ran with {}"
        assert text_of(await called(three, "find")) == "No tool is called 'find'. Known tools: b_look."


async def test_a_tool_with_the_name_of_another_or_an_invalid_schema_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def find_boat(harbour: str) -> str:
        """Find a boat."""
        return "Ana"

    async with serving() as server:
        tools = Tools([find_boat, server])
        await called(server, "shadow")
        await until(lambda: "find_boat" in server.current_tools())
        assert tools["find_boat"].function is find_boat
        assert [tool.description for tool in tools.declared() if tool.name == "find_boat"] == ["Find a boat."]
        assert "broken" not in server.current_tools()
    assert "two tools are called 'find_boat': the later one is left out" in caplog.text
    assert "its parameters are not a JSON schema" in caplog.text


async def test_a_server_that_cannot_be_used_is_an_error_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program does not get the environment of this one."""
    assert McpServer("https://user:secret@example.com/mcp?key=secret").name == "https://example.com/mcp"
    with pytest.raises(TurnMisused, match=r"not connected.*async with McpServer"):
        Turn(Emulated("openai.chat", script([])), [serving()])
    commands: tuple[Any, ...] = ("", [], "'unclosed")
    for command in commands:
        with pytest.raises(McpFailed, match=r"the command is empty|not a command"):
            McpServer(command)
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    program = "import os, sys; sys.stderr.write(str('OPENAI_API_KEY' in os.environ) + os.environ['MINE'])"
    for server, message in (
        (McpServer("/no/such/program"), "cannot be reached: No such file"),
        (McpServer("http://127.0.0.1:1/mcp"), r"127\.0\.0\.1:1/mcp: the MCP server cannot be"),
        (McpServer([sys.executable, "-c", program], env={"MINE": "yes"}), "Falseyes"),
    ):
        with pytest.raises(McpFailed, match=message):
            await server.__aenter__()
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    with pytest.raises(MissingExtra, match=r"pip install 'toolparity\[mcp\]'"):
        await serving().__aenter__()


async def test_all_pages_of_a_listing_count_unless_they_repeat() -> None:
    async with serving() as one, serving("two-pages") as two, serving("same-cursor") as repeating:
        assert len(one.current_tools()) == len(two.current_tools()) > 20
        assert len(repeating.current_tools()) > 20


async def test_more_tools_than_a_provider_accepts_are_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with serving("many") as server:
        provider = Emulated("openai.chat", script([Say("Done.")]))
        await Turn(provider, [server]).run("Go.")
    assert len(provider.bodies[0]["tools"]) == 128
    assert "the tool 'look_299': The tool was left out" in caplog.text


@pytest.fixture
def names() -> dict[str, Any]:
    """The names that the page defines."""
    return names_of_page("mcp.md")


def test_the_page_example_uses_a_function_and_a_server(names: dict[str, Any]) -> None:
    calls = [call("find_boat", harbour="Horta"), call("look")]
    provider = Emulated("anthropic.messages", script(calls, [Say("Ana is free.")], tools=("find_boat", "look")))
    outcome = at_once(names["charter"](provider, "Go.", COMMAND))
    assert outcome.text == "Ana is free."
    assert [result.is_error for result in outcome.state.rounds[0].tool_results] == [False, False]


def test_the_page_example_of_a_rule_asks_for_approval(names: dict[str, Any]) -> None:
    asked: list[str] = []

    def approve(block: Any) -> bool:
        asked.append(block.name)
        return False

    provider = Emulated("openai.chat", script([call("look"), call("destroy")], [Say("Done.")], tools=("look",)))
    outcome = at_once(names["tidy"](provider, "Go.", COMMAND, approve))
    assert asked == ["destroy"]
    assert [result.is_error for result in outcome.state.rounds[0].tool_results] == [False, True]


@pytest.mark.page("docs/pages/mcp.md")
def test_the_page_example_reviews_only_what_changed(
    names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "y")
    file = tmp_path / "approved.json"
    at_once(names["review"](COMMAND, file))
    first = json.loads(file.read_text())
    assert len(first) > 20
    capsys.readouterr()
    at_once(names["review"](f"{COMMAND} redefined", file))
    assert capsys.readouterr().out.splitlines() == [
        "look Looks twice. {'type': 'object', 'properties': {'text': {'type': 'string'}}}"
    ]
    changed = {name for name, digest in json.loads(file.read_text()).items() if digest != first[name]}
    assert changed == {"look"}
