"""Tools: declared once, checked at their declaration, and defined for the model in the form of each wire."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from toolparity.normalizer.conversation import Assistant, Encoded, TextPart
from toolparity.normalizer.errors import MissingExtra
from toolparity.normalizer.model import ToolCall
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.schemas import adapt_tools, check_tools
from toolparity.turns import Fallback, Tool, Tools, Turn, tool
from toolparity.turns.errors import InvalidTool
from toolparity.turns.execution import validation
from toolparity.turns.machine import state as states
from toolparity.turns.orchestration import Coordinator
from toolparity.turns.request import opening
from toolparity.turns.tool_adapter import ToolAdapter

from .playing import WIRES, Emulated, RecordingObserver, Say, assert_legal, at_once, call, on_every_wire, rows, script

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def test_a_decorated_function_is_a_tool_and_stays_a_function() -> None:
    tools = Tools()

    @tools.tool(parameters=CITY, waiting_hint="looking at the weather")
    def get_weather(city: str) -> str:
        """The weather in a
        city.

        Not sent to the model.
        """
        return f"fine in {city}"

    tools.tool(name="look.up", description="Looks.", timeout=1.5, fallback=Fallback("other"))(lambda: None)
    assert get_weather("Horta") == "fine in Horta"
    weather, other = tools.declared()
    assert (weather.name, weather.description, weather.parameters) == ("get_weather", "The weather in a city.", CITY)
    assert (weather.waiting_hint, other.description) == ("looking at the weather", "Looks.")
    assert (tools["look.up"].timeout, tools["look.up"].fallback) == (1.5, Fallback("other"))


@pytest.mark.parametrize("wire", WIRES)
def test_every_wire_accepts_a_tool_without_a_schema_and_with_an_unsupported_name(wire: str) -> None:
    free = Tool(name="free", function=lambda text: text, kind="custom")
    tools = Tools([Tool(name="crm.listInvoices", function=lambda: None), free])
    assert check_request(written(wire, tools).body, wire) == []


def written(wire: str, tools: Tools) -> Encoded:
    """The first request with these tools."""
    provider = Emulated(wire, script([Say("Hi.")]))
    request = replace(opening("Hi", provider), model=provider.model, tools=tools.declared())
    return write_request(request, wire, provider=provider.name)


def test_without_jsonschema_a_tool_with_a_schema_raises_an_error_that_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(MissingExtra, match=r"toolparity\[turns\]"):
        Tools([Tool(name="a", function=lambda city: None, parameters=CITY)])
    Tools([Tool(name="a", function=lambda: None)])  # no schema, no jsonschema needed


def test_a_problem_of_arguments_nested_too_deep_or_of_a_long_value_is_short() -> None:
    schema = {"$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}
    deep: dict[str, Any] = {}
    for _ in range(sys.getrecursionlimit()):
        deep = {"n": deep}
    assert validation.problems(schema, deep) == ["the arguments are nested too deep"]
    (message,) = validation.problems(CITY, {"city": ["x" * 10_000]})
    assert message.startswith("city: ['xxx")
    assert len(message) < 320


def test_importing_the_normalizer_does_not_import_turns_nor_do_turns_import_an_sdk() -> None:
    def loaded(code: str) -> set[str]:
        show = f"import sys; {code}; print('\\n'.join(sys.modules))"
        out = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
        return set(out.stdout.split())

    assert not any(
        name.startswith(("toolparity.turns", "asyncio", "jsonschema"))
        for name in loaded("from toolparity import normalize, select")
    )
    turns = loaded("import toolparity.turns; toolparity.turns.Turn")
    assert "toolparity.turns.machine.table" in turns
    assert not turns & {"openai", "anthropic", "xai_sdk", "jsonschema", "sqlalchemy"}


def test_all_names_of_the_package_can_be_imported() -> None:
    from toolparity import turns

    for name in turns.__all__:
        assert getattr(turns, name) is not None
    assert sorted(turns._HOMES) == sorted(turns.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = turns.nothing


def test_a_generator_is_not_a_tool() -> None:
    def generator() -> Iterator[int]:
        yield 1

    async def asynchronous() -> AsyncIterator[int]:
        yield 1

    class Counter:
        def __call__(self) -> Iterator[int]:
            yield 1

    for function in (generator, asynchronous, partial(generator), Counter()):
        with pytest.raises(InvalidTool, match="is a generator"):
            Tool(name="count", function=function)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("parallel", "no", "parallel must be a bool, got 'no'"),
        ("idempotent", None, "idempotent must be a bool, got None"),
        ("approval", "yes", "approval must be a bool or a function, got 'yes'"),
        ("fallback", 5, "fallback must be a Fallback or the name of a tool or None, got 5"),
        ("waiting_hint", 5, "waiting_hint must be text or None, got 5"),
        ("timeout", "3", "timeout must be a number or None, got '3'"),
        ("timeout", 0, "timeout must be > 0 or None, got 0"),
    ],
)
def test_an_invalid_value_of_an_option_of_a_tool_is_an_error(option: str, value: Any, message: str) -> None:
    def look(city: str) -> str:
        return city

    options: Any = {option: value}
    for declare in (lambda: Tools([Tool.of(look, **options)]), lambda: Tools([tool(**options)(look)])):
        with pytest.raises(InvalidTool, match=re.escape(message)):
            declare()


def test_tools_must_be_a_list_of_tools_with_different_names() -> None:
    def look(city: str) -> str:
        return city

    with pytest.raises(InvalidTool, match="two tools are called 'look'"):
        Tools([look, look])
    with pytest.raises(InvalidTool, match="a tool has no name"):
        Tools([Tool(name="", function=lambda: None)])
    single: Any
    for single in (look, Tool.of(look)):
        with pytest.raises(InvalidTool, match="tools must be a list"):
            Turn(Emulated("openai.chat", script([Say("Hello.")])), single)


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


def measuring(**options: Any) -> Tool:
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
    provider, recorder = emulated(wire, measuring()), RecordingObserver()
    turn = Turn(provider, [measuring()], observers=[recorder])
    at_once(turn.run("Go."))
    assert result_of(turn) == "5 cm"
    [block] = [block for block in turn.state.rounds[0].ai_response_content if isinstance(block, ToolCall)]
    assert (block.arguments, turn.state.request.tools) == (ARGUMENTS, [measuring().declared()])
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
    turn = Turn(provider, [measuring()])
    at_once(turn.run("Go."))
    assert result_of(turn) == "5 cm"
    assert provider.bodies[1]["messages"][1]["tool_calls"][0]["function"]["arguments"] == Spaced.text


@pytest.mark.parametrize(("first", "second"), [("anthropic.messages", "openai.chat"), ("openai.chat", "xai.grpc")])
def test_a_turn_that_continues_with_another_provider_adapts_its_tools_and_its_history_anew(
    first: str, second: str
) -> None:
    waits = measuring(approval=True)
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
    assert call_sent.arguments == sent(measuring(), second, ARGUMENTS)


def test_the_rule_of_approval_the_approver_and_the_caller_get_the_declared_arguments() -> None:
    elsewhere = replace(measuring(), function=None)
    turn = Turn(emulated("anthropic.messages", elsewhere), [elsewhere])
    at_once(turn.run("Go."))
    assert [waiting.arguments for waiting in turn.outcome.waiting] == [ARGUMENTS]
    seen: list[Any] = []

    def approve(block: Any) -> bool:
        seen.append(block.arguments)
        return True

    careful = measuring(approval=lambda arguments: seen.append(arguments) or True)
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
    request = replace(request, tools=[measuring().declared()])
    assert ToolAdapter("custom.wire", None).adapt(request) is request
    assert ToolAdapter("openai.chat", None).adapt(request).tools != request.tools
