"""Tools: refused where they are declared if their function cannot take their calls, and adapted to each wire."""

from __future__ import annotations

import functools
import logging
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from toolparity.cassettes.scripts import ScriptedCall
from toolparity.normalizer.conversation import Assistant, TextPart
from toolparity.normalizer.model import ToolCall
from toolparity.normalizer.requests import read_request
from toolparity.turns import Executor, Fallback, Tool, Tools, Turn, tool
from toolparity.turns.errors import InvalidTool
from toolparity.turns.execution import validation
from toolparity.turns.execution.signatures import misfit
from toolparity.turns.execution.validation import problems
from toolparity.turns.machine import state as states
from toolparity.turns.orchestration import Coordinator
from toolparity.turns.tool_adapter import ToolAdapter

from . import playing
from .executing import as_sent, asked, ran, texts
from .playing import Emulated, Say, at_once, call, finished, script

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def weather(city: str, days: int = 1) -> str:
    return f"fine in {city} for {days}"


def untyped(city, days=1):  # type: ignore[no-untyped-def]
    return f"fine in {city} for {days}"


async def later(city: str) -> str:
    return city


class Service:
    def method(self, city: str) -> str:
        return city

    @classmethod
    def of_class(cls, city: str) -> str:
        return city

    @staticmethod
    def static(city: str) -> str:
        return city

    def __call__(self, city: str) -> str:
        return city


CALLABLES = (
    weather,
    later,
    Service().method,
    Service.of_class,
    Service.static,
    Service(),
    functools.wraps(weather)(lambda *given, **named: weather(*given, **named)),  # noqa: PLW0108
)


@pytest.mark.parametrize(
    "declare",
    [
        lambda function, parameters: Tool(name="t", function=function, parameters=parameters),
        lambda function, parameters: Tools().tool(name="t", parameters=parameters)(function),
        lambda function, parameters: Tools().add(Tool(name="t", function=function, parameters=parameters)),
    ],
    ids=["a tool", "a decorator", "an added tool"],
)
def test_every_callable_must_have_its_parameters_declared(declare: Callable[..., Any]) -> None:
    for function in CALLABLES:
        for parameters in (None, CITY):
            declare(function, parameters)
        with pytest.raises(InvalidTool, match="'city'"):
            declare(function, NOTHING)
    with pytest.raises(InvalidTool, match=r"t: its parameter 'city' has no type annotation.*pass parameters="):
        declare(untyped, None)
    for options in ({"mapping": True}, {"kind": "custom"}):
        for takes_one in (lambda given: given, _by_position):
            Tool(name="t", function=takes_one, **options)
        for takes_other in (lambda: 1, lambda a, b: 1, lambda *, given: 1):
            with pytest.raises(InvalidTool, match="one positional argument"):
                Tool(name="t", function=takes_other, **options)


def _by_position(city: str, /) -> str:
    return city


def _by_position_or_not(city: str = "Horta", /, **rest: Any) -> str:
    return city


def _generator() -> Iterator[int]:
    yield 1


async def _asynchronous_generator() -> AsyncIterator[int]:
    yield 1


class _CallableGenerator:
    def __call__(self) -> Iterator[int]:
        yield 1


@pytest.mark.parametrize(
    ("function", "parameters", "message"),
    [
        (weather, {**CITY, "properties": {"town": {}, "city": {}}}, "declare 'town', which its function"),
        (weather, {"type": "object", "properties": {"days": {}}}, "requires 'city', which its parameters do not"),
        (weather, {"properties": {"city": {}}}, "requires 'city', which its parameters let the model"),
        (weather, {"properties": {"city": {}}, "anyOf": [{"required": ["city"]}, {}]}, "let the model leave out"),
        (weather, {**CITY, "allOf": [{"properties": {"town": {}}}]}, "declare 'town'"),
        (weather, {**CITY, "if": {}, "then": {"properties": {"town": {}}}}, "declare 'town'"),
        (weather, {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"town": {}}}}}, "declare 'town'"),
        (functools.partial(weather, "Horta"), CITY, "declare 'city'"),
        (_by_position, CITY, "by position only"),
        (Service.method, CITY, "requires 'self'"),
        (dict, None, "signature .* cannot be read"),
        (lambda **_: 1, {"required": "city"}, "not a JSON schema"),
        (lambda units="metric": units, None, "'units'"),  # the model would never pass it
        (5, None, "not callable"),
        (Service.__dict__["of_class"], None, "not callable"),
        (_generator, None, "is a generator"),
        (_asynchronous_generator, None, "is a generator"),
        (functools.partial(_generator), None, "is a generator"),
        (_CallableGenerator(), None, "is a generator"),
    ],
)
def test_a_schema_that_does_not_match_its_function_is_rejected(function: Any, parameters: Any, message: str) -> None:
    with pytest.raises(InvalidTool, match=message):
        Tools([Tool(name="t", function=function, parameters=parameters)])


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (weather, {"properties": {"city": {}}, "allOf": [{"required": ["city"]}]}),
        (weather, {"$ref": "#/$defs/a~1b", "$defs": {"a/b": CITY}}),
        (weather, {"oneOf": [CITY, {"required": ["city", "days"], "properties": {"city": {}, "days": {}}}]}),
        (weather, {"$ref": "https://example.com/schema.json"}),  # cannot be read here
        (weather, {**CITY, "properties": {"city": {}, "town": False}}),  # forbidden, so never passed
        (weather, {"properties": {"city": {}}, "required": ["city"], "allOf": [{"$ref": "#"}]}),
        (lambda **anything: 1, CITY),
        (lambda **anything: 1, None),
        (functools.partial(weather, "Horta", 2), None),
        (lambda units="metric": units, NOTHING),
        (lambda city, **anything: 1, {**CITY, "properties": {"city": {}, "first-name": {}}}),
        (_by_position_or_not, NOTHING),
        (functools.partial(weather, city="Horta"), NOTHING),
        (functools.partial(weather, city="Horta"), CITY),  # the model's goes before
    ],
)
def test_a_schema_that_matches_its_function_is_accepted(function: Any, parameters: Any) -> None:
    Tools([Tool(name="t", function=function, parameters=parameters)])


def test_undeclared_arguments_that_the_function_does_not_take_are_invalid_arguments() -> None:
    """A schema without "additionalProperties": false lets them through, and the function is not blamed for it."""
    tool = Tool(name="t", function=weather, parameters=CITY)
    [(outcome, text)] = texts(ran([asked("t", city="Horta", more=1)], tool))
    assert outcome == "invalid_arguments"
    assert "it does not take 'more'" in text
    cut = ToolCall("c", "t", None, '{"city": ', "truncated")
    for call_made, declared in ((asked("t", more=1), Tool(name="t", function=lambda: 1)), (cut, tool)):
        assert texts(ran([call_made], declared))[0][0] == "invalid_arguments"


NAMES = st.sampled_from(["city", "days", "unit", "first-name", "class", "_private"])


@st.composite
def functions(draw: st.DrawFn) -> Callable[..., Any]:
    """Functions of any signature."""
    names = draw(st.lists(st.sampled_from(["city", "days", "unit", "_private"]), unique=True))
    required, split = draw(st.integers(0, len(names))), draw(st.integers(0, len(names)))
    parts = [name if n < required else f"{name}=None" for n, name in enumerate(names)]
    if draw(st.booleans()) and split:
        parts.insert(split, "/")
        if draw(st.booleans()) and split < len(names):
            parts.insert(draw(st.integers(split + 1, len(names))), "*")
    elif split < len(names):
        parts.insert(split, "*")
    parts += ["**rest"] if draw(st.booleans()) else []
    function: Callable[..., Any] = eval(f"lambda {', '.join(parts)}: 'ran'")
    return function


SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(NAMES, st.just({}))},
    optional={
        "required": st.lists(NAMES, unique=True),
        "anyOf": st.lists(st.fixed_dictionaries({"required": st.lists(NAMES, unique=True)}), min_size=1),
    },
)


@given(functions(), SCHEMAS, st.dictionaries(NAMES, st.integers()))
def test_a_call_that_matches_the_schema_of_an_accepted_tool_runs(
    function: Callable[..., Any], schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    try:
        tool = Tool(name="t", function=function, parameters=schema)
    except InvalidTool:
        return
    declared = {name: value for name, value in arguments.items() if name in schema["properties"]}
    if problems(schema, declared):
        return
    assert misfit(function, declared) is None
    [finished] = at_once(Executor({"t": tool}).run([asked("t", **declared)]))
    assert finished.outcome == "returned"


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


def test_a_problem_of_arguments_is_short_also_if_they_are_nested_too_deep_or_a_schema_cannot_be_applied() -> None:
    schema = {"$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}
    deep: dict[str, Any] = {}
    for _ in range(sys.getrecursionlimit()):
        deep = {"n": deep}
    assert validation.problems(schema, deep) == ["the arguments are nested too deep"]
    zero = {"properties": {"a": {"multipleOf": 0}}}
    assert "cannot be applied" in validation.problems(zero, {"a": 1})[0]
    (message,) = validation.problems(CITY, {"city": ["x" * 10_000]})
    assert message.startswith("city: ['xxx")
    assert len(message) < 320


def test_all_names_of_the_package_can_be_imported() -> None:
    from toolparity import turns

    for name in turns.__all__:
        assert getattr(turns, name) is not None
    assert sorted(turns._HOMES) == sorted(turns.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = turns.nothing


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
    options: Any = {option: value}

    def sail(city: str) -> str:
        return city

    for declare in (lambda: Tools([Tool.of(sail, **options)]), lambda: Tools([tool(**options)(sail)])):
        with pytest.raises(InvalidTool, match=re.escape(message)):
            declare()


def look(city: str) -> str:
    return city


def test_tools_must_be_a_list_of_tools_with_different_names() -> None:
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


def emulated(wire: str, declared: Tool) -> Emulated:
    """A provider whose model calls the tool once, then answers."""
    return Emulated(
        wire, script([call(declared.name, **as_sent(declared, wire, ARGUMENTS))], [Say("Done.")], tools=["measure"])
    )


def result_of(turn: Turn) -> str:
    [result] = turn.state.rounds[0].tool_results
    assert not result.is_error, result
    [part] = result.parts
    assert isinstance(part, TextPart)
    return part.text


@playing.on_every_wire
def test_every_wire_gets_definitions_that_it_accepts_and_the_tool_its_own_arguments(wire: str) -> None:
    """Also of a tool without a schema and with an unsupported name, and of one that takes a text."""
    free = Tool(name="free", function=lambda text: text, kind="custom")
    tools = Tools([measuring(), Tool(name="crm.listInvoices", function=lambda: None), free])
    recorder = playing.RecordingObserver()
    turn = finished(Turn(emulated(wire, measuring()), tools, observers=[recorder]))
    assert result_of(turn) == "5 cm"
    [block] = [block for block in turn.state.rounds[0].ai_response_content if isinstance(block, ToolCall)]
    assert (block.arguments, turn.state.request.tools) == (ARGUMENTS, tools.declared())
    [row] = [row for row in playing.rows(recorder.events) if row[1] == "tool_use"]
    assert row[3]["input"] == ARGUMENTS
    playing.assert_legal(turn)


def test_the_provider_gets_its_call_back_as_it_made_it() -> None:
    text = '{ "größe": 5,  "unit": null }'
    spaced = ScriptedCall("measure", arguments_text=text)
    provider = Emulated("openai.chat", script([spaced], [Say("Done.")], tools=["measure"]))
    turn = finished(Turn(provider, [measuring()]))
    assert result_of(turn) == "5 cm"
    assert provider.bodies[1]["messages"][1]["tool_calls"][0]["function"]["arguments"] == text


@pytest.mark.parametrize(("first", "second"), [("anthropic.messages", "openai.chat"), ("openai.chat", "xai.grpc")])
def test_a_turn_that_continues_with_another_provider_adapts_its_tools_and_its_history_anew(
    first: str, second: str
) -> None:
    waits = measuring(approval=True)
    turn = finished(Turn(emulated(first, waits), [waits]))
    [waiting] = turn.outcome.waiting
    assert waiting.arguments == ARGUMENTS
    provider = Emulated(second, script([call("measure")], [Say("Done.")], tools=["measure"]))
    resumed = Turn(provider, [waits], state=states.load(states.dump(turn.state)))
    resumed.decide(waiting.id, True)
    at_once(resumed.run())
    assert result_of(resumed) == "5 cm"
    messages = [message for message in provider.asked().messages if isinstance(message, Assistant)]
    [call_sent] = [call for message in messages for call in message.response.calls]
    assert call_sent.arguments == as_sent(measuring(), second, ARGUMENTS)


def test_the_rule_of_approval_the_approver_and_the_caller_get_the_declared_arguments() -> None:
    elsewhere = replace(measuring(), function=None)
    turn = finished(Turn(emulated("anthropic.messages", elsewhere), [elsewhere]))
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
    assert at_once(turn.run("Go.")).text == "Done."
    assert [call.outcome for call in turn.state.rounds[0].calls] in ([], ["invalid_arguments"])


def test_losses_are_logged_once_for_the_tools(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="toolparity")
    logged = Tool(name="logged", function=measure, parameters={**SIZES, "minProperties": 1}, strict=True)
    for _ in range(2):
        at_once(Turn(emulated("openai.chat", logged), [logged]).run("Go."))
    assert [record.getMessage() for record in caplog.records if "the tool 'logged'" in record.getMessage()] == [
        "openai.chat: the tool 'logged': A constraint that the target does not accept or enforce was moved to the "
        "description. (minProperties)"
    ]


def test_a_wire_without_rules_gets_the_tools_as_they_are() -> None:
    request = read_request({"model": "m", "messages": [{"role": "user", "content": "Go."}]}, "openai.chat")
    request = replace(request, tools=[measuring().declared()])
    assert ToolAdapter("custom.wire", None).adapt(request) is request
    assert ToolAdapter("openai.chat", None).adapt(request).tools != request.tools
