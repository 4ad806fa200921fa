"""Tools whose schema a wire refuses: the request has an adapted definition, the turn the declared arguments."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from toolparity.normalizer.conversation import Assistant, TextPart
from toolparity.normalizer.model import ToolCall
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.schemas import adapt_tools, check_tools
from toolparity.turns.execution.tool import Tool
from toolparity.turns.machine import state as states
from toolparity.turns.orchestration import Coordinator
from toolparity.turns.tool_adapter import ToolAdapter
from toolparity.turns.turn import Turn

from .playing import Emulated, RecordingObserver, Say, assert_legal, at_once, call, on_every_wire, rows, script

#: A schema that Claude refuses for the name, and strict mode of OpenAI for the optional property.
SIZES = {
    "type": "object",
    "properties": {"größe": {"type": "integer"}, "unit": {"type": "string"}},
    "required": ["größe"],
    "additionalProperties": False,
}
#: A root that Claude and OpenAI refuse: it is not an object.
EITHER = {"anyOf": [{"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}]}
ARGUMENTS = {"größe": 5}


def measure(**size: Any) -> str:
    """Measure it."""
    return f"{size['größe']} {size.get('unit', 'cm')}"


def tool(**options: Any) -> Tool:
    """The tool `measure` in strict mode, with a schema that no wire with strict mode takes unchanged."""
    return Tool(name="measure", function=measure, parameters=SIZES, strict=True, **options)


def sent(declared: Tool, wire: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments as the model of a wire writes them, by the definition that it gets."""
    refused = any(found.effect == "refused" for found in check_tools([declared.declared()], wire))
    adapted = adapt_tools([declared.declared()], wire)
    return adapted.express(declared.name, arguments)[1] if refused else arguments


def emulated(wire: str, declared: Tool, *rounds: Any, arguments: dict[str, Any] = ARGUMENTS) -> Emulated:
    """A provider whose model calls the tool once, then plays the other rounds."""
    first = [call(declared.name, **sent(declared, wire, arguments))]
    return Emulated(wire, script(first, *(rounds or [[Say("Done.")]]), tools=[declared.name]))


def result_of(turn: Turn) -> str:
    [result] = turn.state.rounds[0].tool_results
    assert not result.is_error, result
    [part] = result.parts
    assert isinstance(part, TextPart)
    return part.text


@on_every_wire
def test_every_wire_gets_a_schema_that_it_accepts_and_the_tool_its_own_arguments(wire: str) -> None:
    provider, recorder = emulated(wire, tool()), RecordingObserver()
    turn = Turn(provider, [tool()], observers=[recorder])
    at_once(turn.run("Go."))
    assert result_of(turn) == "5 cm"
    [block] = [block for block in turn.state.rounds[0].ai_response_content if isinstance(block, ToolCall)]
    assert (block.arguments, turn.state.request.tools) == (ARGUMENTS, [tool().declared()])
    [row] = [row for row in rows(recorder.events) if row[1] == "tool_use"]
    assert row[3]["input"] == ARGUMENTS
    assert_legal(turn)


class Spaced:
    """A model of OpenAI that calls the tool with spaces in the JSON, then answers."""

    wire, name, model = "openai.chat", "openai", "gpt-5"
    text = '{ "größe": 5,  "unit": null }'

    def __init__(self) -> None:
        self.bodies: list[Any] = []

    async def ask(self, body: Any) -> AsyncIterator[bytes]:
        self.bodies.append(body)
        message: dict[str, Any] = {"role": "assistant", "content": "Done."}
        if len(self.bodies) == 1:
            function = {"name": "measure", "arguments": self.text}
            message = {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}
        yield json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": message}]}).encode()


def test_the_provider_gets_its_call_back_as_it_made_it() -> None:
    provider = Spaced()
    turn = Turn(provider, [tool()])
    at_once(turn.run("Go."))
    assert result_of(turn) == "5 cm"
    assert provider.bodies[1]["messages"][1]["tool_calls"][0]["function"]["arguments"] == Spaced.text


@on_every_wire
def test_a_definition_that_the_wire_accepts_is_sent_unchanged(wire: str) -> None:
    def fine(city: str, days: int = 1) -> str:
        """Look."""
        return "ran"

    provider = Emulated(wire, script([call("fine", city="Horta")], [Say("Done.")], tools=["fine"]))
    turn = Turn(provider, [fine])
    at_once(turn.run("Go."))
    assert write_request(turn.state.request, wire, provider=provider.name).body == provider.bodies[0]


@pytest.mark.parametrize(("first", "second"), [("anthropic.messages", "openai.chat"), ("openai.chat", "xai.grpc")])
def test_a_turn_that_continues_with_another_provider_adapts_its_tools_and_its_history_anew(
    first: str, second: str
) -> None:
    waits = tool(approval=True)
    turn = Turn(emulated(first, waits), [waits], id="turn-1")
    at_once(turn.run("Go."))
    [waiting] = turn.outcome.waiting
    assert waiting.arguments == ARGUMENTS
    provider = Emulated(second, script([call("measure")], [Say("Done.")], tools=["measure"]))
    resumed = Turn(provider, [waits], state=states.load(states.dump(turn.state)))
    resumed.decide(waiting.id, True)
    at_once(resumed.run())
    assert result_of(resumed) == "5 cm"
    [body] = provider.bodies
    assert check_request(body, second, provider=provider.name) == []
    messages = [m for m in read_request(body, second).messages if isinstance(m, Assistant)]
    [call_sent] = [call for message in messages for call in message.response.calls]
    assert call_sent.arguments == sent(tool(), second, ARGUMENTS)


def test_the_rule_of_approval_the_approver_and_the_caller_get_the_declared_arguments() -> None:
    elsewhere = replace(tool(), function=None)
    turn = Turn(emulated("anthropic.messages", elsewhere), [elsewhere])
    at_once(turn.run("Go."))
    assert [waiting.arguments for waiting in turn.outcome.waiting] == [ARGUMENTS]
    seen: list[Any] = []

    def approve(block: Any) -> bool:
        seen.append(block.arguments)
        return True

    careful = tool(approval=lambda arguments: seen.append(arguments) or True)
    coordinator = Coordinator(emulated("anthropic.messages", careful), [careful], approve=approve)
    at_once(coordinator.run("Go."))
    assert (seen, result_of(coordinator.turn)) == ([ARGUMENTS, ARGUMENTS], "5 cm")


@pytest.mark.parametrize("wrong", [{"value": 5}, {"value": {"x": "five"}}, {}])
def test_arguments_that_fit_the_adapted_schema_only_do_not_run_the_tool(wrong: dict[str, Any]) -> None:
    def never(**arguments: Any) -> str:
        raise AssertionError("must not run")

    either = Tool(name="either", function=never, parameters=EITHER)
    provider = Emulated("openai.chat", script([call("either", **wrong)], [Say("Done.")], tools=["either"]))
    turn = Turn(provider, [either])
    at_once(turn.run("Go."))
    assert turn.outcome.text == "Done."
    assert [call.outcome for call in turn.state.rounds[0].calls] in ([], ["invalid_arguments"])


def test_losses_are_logged_once_for_the_tools(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="toolparity")
    logged = Tool(name="logged", function=measure, parameters={**SIZES, "minProperties": 1}, strict=True)
    for _ in range(2):
        at_once(Turn(emulated("openai.chat", logged), [logged]).run("Go."))
    assert [record.getMessage() for record in caplog.records if "'logged'" in record.getMessage()] == [
        "openai.chat: the tool 'logged': A constraint that the target does not accept or enforce was moved to the "
        "description. (minProperties)"
    ]


def test_a_wire_without_rules_gets_the_tools_as_they_are() -> None:
    request = read_request({"model": "m", "messages": [{"role": "user", "content": "Go."}]}, "openai.chat")
    request = replace(request, tools=[tool().declared()])
    assert ToolAdapter("custom.wire", None).adapt(request) is request
    assert ToolAdapter("openai.chat", None).adapt(request).tools != request.tools
