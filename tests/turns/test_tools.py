"""Tools: declared once, checked at their declaration, and defined for the model in the form of each wire."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from toolparity.normalizer.conversation import Encoded
from toolparity.normalizer.errors import MissingExtra
from toolparity.normalizer.requests import check_request, write_request
from toolparity.turns import Fallback, Tool, Tools, Turn, tool
from toolparity.turns.errors import InvalidTool
from toolparity.turns.execution import validation
from toolparity.turns.request import opening

from .playing import WIRES, Emulated, Say, at_once, call, script

#: Wires on which a tool may have any name.
ANY_NAME = ("ollama.chat",)
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


def test_a_call_by_alias_reaches_the_tool_with_the_declared_name() -> None:
    ran: list[str] = []
    tools = Tools([Tool(name="crm.look up", function=lambda **_: ran.append("ran"))])
    for wire in WIRES:
        alias = next(iter(written(wire, tools).names), "crm.look up")
        assert (alias == "crm.look up") == (wire in ANY_NAME)
        provider = Emulated(wire, script([call(alias)], [Say("Done.")], tools=[alias]))
        turn = Turn(provider, tools)
        at_once(turn.run("Go."))
        name = turn.state.rounds[0].calls[0].name
        assert name == "crm.look up"
    assert ran == ["ran"] * len(WIRES)


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
