"""Tools of an MCP server: their results, approval, progress, cancellation, and changes of their definitions."""

from __future__ import annotations

import asyncio
import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.optional import package
from tests.turns.playing import WIRES, Emulated, Say, assert_legal, call, only, play, script
from toolparity.normalizer.conversation import JsonPart, MediaPart, TextPart
from toolparity.normalizer.errors import MissingExtra
from toolparity.turns import events
from toolparity.turns.agent import Agent
from toolparity.turns.errors import InvalidTool, McpFailed, TurnMisused
from toolparity.turns.execution.tools import Tools
from toolparity.turns.machine.state import dump, load
from toolparity.turns.mcp.server import McpServer
from toolparity.turns.turn import Turn

from .serving import called, serving, text_of, until

pytestmark = pytest.mark.service("turns/mcp")

package("mcp", extra="mcp")


# results


async def test_a_call_runs_on_the_server_with_its_arguments() -> None:
    async with serving() as server:
        assert text_of(await called(server, "look", text="a")) == 'look ran with {"text": "a"}'


async def test_images_and_resources_are_parts_of_the_result() -> None:
    async with serving() as server:
        first, image, audio, note, blob, link = (await called(server, "media")).result.parts
    assert isinstance(first, TextPart)
    assert isinstance(image, MediaPart)
    assert (image.kind, image.media_type) == ("image", "image/png")
    assert (audio.kind, audio.data) == ("audio", "UklGRg==")
    assert note == TextPart("[resource file:///n.txt]\na note")
    assert blob == MediaPart("file", "application/pdf", data="JVBERi0=", name="b.pdf")
    assert link == TextPart("[resource file:///c: c, text/plain]")


async def test_structured_content_appears_once_beside_other_text() -> None:
    async with serving() as server:
        assert (await called(server, "structured")).result.parts == [TextPart("warm"), JsonPart({"degrees": 21})]


async def test_structured_content_that_does_not_fit_its_schema_is_a_failure() -> None:
    async with serving() as server:
        finished = await called(server, "unfit")
    assert finished.outcome == "failed"
    assert "'warm' is not of type 'integer'" in text_of(finished)


@pytest.mark.parametrize(
    ("tool", "text"),
    [("fail", "the harbour is closed"), ("refuse", "The MCP server answered with an error: no such harbour")],
)
async def test_an_error_of_the_server_is_a_failing_tool(tool: str, text: str) -> None:
    async with serving() as server:
        finished = await called(server, tool)
    assert (finished.outcome, finished.result.is_error, text_of(finished)) == ("failed", True, text)


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
async def test_a_turn_on_every_wire_takes_images_and_restores_adapted_arguments(wire: str) -> None:
    async with serving(only=("media", "union", "fail")) as server:
        tools = Tools([server])
        arguments: dict[str, Any] = {"city": "Horta"}
        if "city" not in str(tools["union"].parameters).partition("properties")[2][:30]:
            arguments = {next(iter((tools["union"].parameters or {})["properties"])): arguments}
        played = script([call("media"), call("union", **arguments), call("fail")], [Say("Done.")], tools=tuple(tools))
        turn = Turn(Emulated(wire, played), [server])
        await turn.run("Go.")
        turn = turn
    media, union, fail = turn.state.rounds[0].tool_results
    assert any(isinstance(part, MediaPart) for part in media.parts)
    assert union.parts == [TextPart('union ran with {"city": "Horta"}')]
    assert fail.is_error
    assert turn.outcome.text == "Done."
    assert_legal(turn, wires=[wire])


async def test_names_that_a_wire_refuses_get_aliases() -> None:
    name = "admin.tools/list"

    async with serving("odd-names") as server:
        provider = Emulated("anthropic.messages", script([call("x")], [Say("Done.")], tools=("x",)))
        turn = Turn(provider, [server])
        await turn.run("Go.")
        declared = [tool["name"] for tool in provider.bodies[0]["tools"]]
        assert name not in declared
        assert name in turn.tools
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", alias) for alias in declared)
        assert turn.outcome.text == "Done."


# approval


@pytest.mark.parametrize(
    ("approval", "expected"),
    [
        (None, {"look": False, "add": False, "silent": True, "destroy": True}),
        (True, {"look": True, "add": True, "silent": True, "destroy": True}),
        (False, {"look": False, "add": False, "silent": False, "destroy": False}),
    ],
)
async def test_calls_need_approval_unless_the_server_states_that_nothing_is_destroyed(
    approval: bool | None, expected: dict[str, bool]
) -> None:
    async with serving(approval=approval) as server:
        assert {name: server.current_tools()[name].needs_approval({}) for name in expected} == expected


async def test_a_rule_decides_by_the_definition_and_the_arguments() -> None:
    rule = lambda tool, arguments: tool.destructive and arguments["text"] != "safe"  # noqa: E731
    async with serving(approval=rule) as server:
        tools = server.current_tools()
        assert [
            tools["destroy"].needs_approval({"text": "x"}),
            tools["destroy"].needs_approval({"text": "safe"}),
            tools["look"].needs_approval({"text": "x"}),
        ] == [True, False, False]


async def test_only_repeatable_tools_run_again_after_a_crash() -> None:
    async with serving() as server:
        assert {name: server.current_tools()[name].idempotent for name in ("look", "add", "silent", "destroy")} == {
            "look": True,
            "add": True,
            "silent": False,
            "destroy": False,
        }


# progress and cancellation


async def test_progress_of_the_server_is_an_event_of_the_turn() -> None:
    async with serving() as server:
        provider = Emulated("openai.chat", script([call("progress")], [Say("Done.")], tools=("progress",)))
        progress = [event.data for event in only((await play(Turn(provider, [server]))), events.CallProgress)]
    assert progress == [
        {"progress": 1.0, "total": 2.0, "message": "step 1"},
        {"progress": 2.0, "total": 2.0, "message": "step 2"},
    ]


async def test_cancelling_a_turn_cancels_the_call_on_the_server(tmp_path: Path) -> None:
    journal = tmp_path / "journal"

    async with serving(env={"MCP_JOURNAL": str(journal)}) as server:
        provider = Emulated("openai.chat", script([call("hang")], tools=("hang",)))
        turn = Turn(provider, [server])
        async for event in turn.stream("Go."):
            if isinstance(event, events.CallStarted):
                asyncio.get_running_loop().call_later(0.3, turn.cancel)
        await until(lambda: "notifications/cancelled" in journal.read_text())
        assert turn.outcome.termination == "cancelled"


async def test_a_timeout_cancels_the_call_on_the_server_and_the_server_stays_usable(tmp_path: Path) -> None:
    journal = tmp_path / "journal"

    async with serving(timeout=0.3, env={"MCP_JOURNAL": str(journal)}) as server:
        hung = await called(server, "hang")
        await until(lambda: "notifications/cancelled" in journal.read_text())
        assert [hung.outcome, (await called(server, "look")).outcome] == ["timeout", "returned"]


# changes


async def test_a_changed_definition_is_held_back_until_it_is_approved(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as server:
        tools = Tools([server])
        before = server.approved["look"]
        await called(server, "redefine")
        await until(lambda: "look" not in tools)
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


async def test_approving_one_definition_does_not_approve_the_next() -> None:
    async with serving("redefined") as stale:
        [other] = [definition for definition in stale._offered() if definition.name == "look"]
    async with serving() as server:
        await called(server, "redefine")
        await until(lambda: bool(server.held))
        server.approve(other)
        assert [held.name for held in server.held] == ["look"]


async def test_stored_approvals_hold_back_what_changed_between_two_programs() -> None:
    async with serving() as server:
        approved = server.approved
    async with serving("redefined", approved=approved) as server:
        assert "look" not in server.current_tools()
        assert "media" in server.current_tools()
        assert [held.name for held in server.held] == ["look"]


async def test_without_an_approval_nothing_is_offered() -> None:
    async with serving(approved={}) as server:
        assert len(server.current_tools()) == 0


async def test_a_call_approved_under_one_definition_does_not_run_under_another() -> None:
    """The turn waits in one process; when it resumes, the server has another definition, which is approved, too."""
    played = script([call("look", text="a")], [Say("Done.")], tools=("look",))

    async with serving(approval=True) as server:
        turn = Turn(Emulated("openai.chat", played), [server])
        await turn.run("Go.")
        kept = dump(turn.state)
    async with serving("redefined", approval=True) as server:
        turn = Turn(Emulated("openai.chat", played), [server], state=load(kept))
        [waiting] = turn.outcome.waiting
        turn.decide(waiting.id, True)
        await turn.run()
        turn = turn
    [result] = turn.state.rounds[0].tool_results
    assert result.is_error
    assert result.parts == [
        TextPart("This call was not executed: look was changed or withdrawn after this turn declared it.")
    ]


async def test_an_unchanged_definition_runs_after_a_resume() -> None:
    played = script([call("look", text="a")], [Say("Done.")], tools=("look",))

    async with serving(approval=True) as server:
        turn = Turn(Emulated("openai.chat", played), [server])
        await turn.run("Go.")
        kept = dump(turn.state)
    async with serving(approval=True) as server:
        turn = Turn(Emulated("openai.chat", played), [server], state=load(kept))
        turn.decide(turn.outcome.waiting[0].id, True)
        await turn.run()
        assert [result.is_error for result in turn.state.rounds[0].tool_results] == [False]


async def test_the_next_turn_of_a_conversation_declares_the_tools_that_the_server_has_by_then() -> None:
    first = script([call("grow"), call("remove")], [Say("Done.")], tools=("grow", "remove"))

    async with serving() as server:
        provider = Emulated("openai.chat", first)
        agent = Agent(provider, [server])
        conversation = agent.conversation()
        await conversation.send("Go.")
        await until(lambda: "grown" in agent.tools and "look" not in agent.tools)
        await conversation.send("And now?")
        bodies = provider.bodies[0], provider.bodies[-1]
        before, after = ([tool["function"]["name"] for tool in body["tools"]] for body in bodies)
        before, after = before, after
    assert ("look" in before, "grown" in before) == (True, False)
    assert ("look" in after, "grown" in after) == (False, True)


# names


async def test_two_servers_with_equal_names_need_a_prefix() -> None:
    async with serving() as one, serving() as two, serving(prefix="b_", only=["look"]) as three:
        with pytest.raises(InvalidTool, match=r"two tools are called 'look'.*give the MCP server a prefix"):
            Tools([one, two])
        tools = Tools([one, three])
        finished = await called(three, "b_look")
        assert text_of(finished) == "look ran with {}"
        assert [name for name in tools if name.endswith("look")] == ["look", "b_look"]


async def test_a_server_cannot_take_over_the_name_of_another_tool(caplog: pytest.LogCaptureFixture) -> None:
    def find_boat(harbour: str) -> str:
        """Find a boat."""
        return "Ana"

    async with serving() as server:
        tools = Tools([find_boat, server])
        await called(server, "shadow")
        await until(lambda: "find_boat" in server.current_tools())
        assert tools["find_boat"].function is find_boat
        assert [tool.description for tool in tools.declared() if tool.name == "find_boat"] == ["Find a boat."]
    assert "two tools are called 'find_boat': the later one is left out" in caplog.text


async def test_a_tool_with_an_invalid_schema_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as server:
        assert ("broken" in server.current_tools()) is False
    assert "its parameters are not a JSON schema" in caplog.text


# connecting


def test_turns_without_servers_do_not_import_the_sdk() -> None:
    program = (
        "import sys; from toolparity.turns import Agent, McpServer, Tools\n"
        "def f(): ...\n"
        "Tools([f]); McpServer('program'); assert not {'mcp', 'mcp_types', 'anyio'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


async def test_without_the_sdk_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp_types", None)

    with pytest.raises(MissingExtra, match=r"pip install 'toolparity\[mcp\]'"):
        async with serving():
            pass


def test_messages_do_not_contain_the_secrets_of_a_url() -> None:
    assert McpServer("https://user:secret@example.com/mcp?key=secret").name == "https://example.com/mcp"


def test_a_server_must_be_connected_before_a_turn_has_its_tools() -> None:
    with pytest.raises(TurnMisused, match=r"not connected.*async with McpServer"):
        Turn(Emulated("openai.chat", script([])), [serving()])


async def test_a_call_after_the_end_of_the_connection_is_a_failure() -> None:
    async with serving() as server:
        pass
    assert "the connection to the MCP server was closed" in text_of(await called(server, "look"))


@pytest.mark.parametrize("server", ["", [], "'unclosed"])
def test_a_command_must_be_one(server: Any) -> None:
    with pytest.raises(McpFailed, match=r"the command is empty|not a command"):
        McpServer(server)


async def test_a_program_that_does_not_exist_is_an_error_with_its_reason() -> None:
    with pytest.raises(McpFailed, match="cannot be reached: No such file"):
        async with McpServer("/no/such/program"):
            pass


async def test_a_program_gets_no_other_environment_than_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    program = "import os, sys; sys.stderr.write(str('OPENAI_API_KEY' in os.environ) + os.environ['MINE'])"

    with pytest.raises(McpFailed, match="Falseyes"):
        async with McpServer([sys.executable, "-c", program], env={"MINE": "yes"}):
            pass


async def test_all_pages_of_a_listing_count() -> None:
    async with serving() as one, serving("two-pages") as two:
        one, two = len(one.current_tools()), len(two.current_tools())
    assert one == two > 20


async def test_more_tools_than_a_provider_accepts_are_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with serving("many") as server:
        provider = Emulated("openai.chat", script([Say("Done.")]))
        await Turn(provider, [server]).run("Go.")
        assert len(provider.bodies[0]["tools"]) == 128
    assert "the tool 'look_299': The tool was left out" in caplog.text


async def test_a_call_that_is_not_in_a_turn_has_no_progress() -> None:
    async with serving() as server:
        function = server.current_tools()["progress"].function
        assert function is not None
        assert not (await function({})).is_error


async def test_an_unknown_call_names_the_tools_of_the_server() -> None:
    async with serving(only=["look"]) as server:
        assert text_of(await called(server, "find")) == "No tool is called 'find'. Known tools: look."
