"""Arguments of calls arrive as the types that a function declares, on every wire, or the function does not run."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from tests.support.thoroughness import examples
from toolparity.normalizer.conversation import TextPart
from toolparity.normalizer.model import ToolCall
from toolparity.normalizer.requests import read_request
from toolparity.schemas import adapt_tools, check_tools
from toolparity.turns import Executor, Tool, Turn
from toolparity.turns.errors import InvalidTool
from toolparity.turns.execution.validation import check_schema, problems
from toolparity.turns.output import output_type

from .executing import asked
from .playing import WIRES, Emulated, Say, at_once, call, script
from .typed_functions import TYPES, Box, Item, Level, Options, Point, Unit, function_of, same, signatures, typed_values

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["x", "y", "name"]), inner),
    max_leaves=4,
)


def as_sent(tool: Tool, wire: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a model writes by the definition that it gets, which is adapted if the wire refuses it."""
    definition = tool.declared()
    violations = check_tools([definition], wire)
    if not any(found.effect == "refused" or found.pointer.endswith("$ref") for found in violations):
        return arguments
    sent: dict[str, Any] = adapt_tools([definition], wire).express(tool.name, arguments)[1]
    return sent


@examples(160, plain=8)
@given(parameters=signatures())
def test_generated_arguments_arrive_as_the_declared_types_on_every_wire(parameters: dict[str, Any]) -> None:
    received: list[dict[str, Any]] = []
    tool = Tool(name="generated", function=function_of(parameters, received))
    arguments = {name: value.json for name, (value, _) in parameters.items()}
    expected = {name: value.value for name, (value, _) in parameters.items()}
    for wire in WIRES:
        note(wire)
        received.clear()
        sent = as_sent(tool, wire, arguments)
        provider = Emulated(wire, script([call("generated", **sent)], [Say("Done.")], tools=["generated"]))
        turn = Turn(provider, [tool])
        at_once(turn.run("Go."))
        [result] = turn.state.rounds[0].tool_results
        assert not result.is_error, result
        assert len(received) == 1
        assert same(received[0], expected), (received[0], expected)
        [asked] = [block for block in turn.state.rounds[0].ai_response_content if isinstance(block, ToolCall)]
        assert asked.arguments == arguments
        [declared] = read_request(provider.bodies[0], wire).tools
        assert [found for found in check_tools([declared], wire) if found.effect == "refused"] == []
        assert problems(declared.parameters or {}, sent) == []


@examples(200, plain=30)
@given(value=typed_values())
def test_a_generated_schema_is_valid_and_accepts_its_values(value: Any) -> None:
    tool = Tool(name="f", function=function_of({"p": (value, True)}, []))
    assert tool.parameters is not None
    check_schema("f", tool.parameters)
    assert problems(tool.parameters, {"p": value.json}) == []
    assert problems(tool.parameters, {}) == []
    assert "required" not in tool.parameters


@examples(300, plain=60)
@given(type=TYPES, value=_JSON)
def test_a_value_of_any_type_runs_the_function_or_is_reported_to_the_model(type: Any, value: Any) -> None:
    def function(p: Any) -> str:
        return "ran"

    function.__annotations__["p"] = type[0]
    [finished] = at_once(Executor({"f": Tool(name="f", function=function)}).run([asked("f", p=value)]))
    assert finished.outcome in ("returned", "invalid_arguments")
    if finished.outcome == "invalid_arguments":
        assert finished.result.parts[0].text.startswith("The arguments of f do not fit its ")


def shown(when: datetime.datetime, level: Level, unit: Unit = Unit.METRIC) -> str:
    raise AssertionError("must not run")


def ordered(item: Item, box: Box, options: Options) -> str:
    raise AssertionError("must not run")


BOX = {"corner": {"x": 1}}


@pytest.mark.parametrize(
    ("function", "arguments", "reported"),
    [
        (shown, {"when": "Friday", "level": 1}, "do not fit its types: when: Invalid RFC3339 encoded datetime"),
        (shown, {"when": "2026-01-02T10:00", "level": 3}, "level: 3 is not one of"),
        (shown, {"when": "2026-01-02T10:00", "level": 1, "city": "Horta"}, "'city' was unexpected"),
        (shown, {"level": 1}, "'when' is a required property"),
        (ordered, {"item": {"SKU": "a", "quantity": 0}, "box": BOX, "options": {"name": ""}}, "less than the minimum"),
        (ordered, {"item": {"SKU": "a"}, "box": {}, "options": {"name": 5}}, "box: 'corner' is a required property"),
    ],
)
def test_arguments_that_do_not_fit_their_types_are_a_clear_error_and_the_tool_does_not_run(
    function: Any, arguments: dict[str, Any], reported: str
) -> None:
    [finished] = at_once(Executor({"f": Tool(name="f", function=function)}).run([asked("f", **arguments)]))
    assert finished.outcome == "invalid_arguments"
    assert reported in finished.result.parts[0].text


def test_whole_floats_are_accepted_for_integers() -> None:
    received: list[Any] = []

    def count(days: int, points: list[Point], share: float) -> None:
        received.append((days, points, share))

    arguments = {"days": 3.0, "points": [{"x": 1.0}], "share": 1}
    [finished] = at_once(Executor({"f": Tool(name="f", function=count)}).run([asked("f", **arguments)]))
    assert finished.outcome == "returned"
    assert same(received, [(3, [Point(1.0)], 1.0)])


class Strict(pydantic.BaseModel, strict=True):
    day: datetime.date
    amount: decimal.Decimal


def test_a_strict_model_gets_the_values_that_json_writes_as_text() -> None:
    def pay(bill: Strict) -> str:
        return f"{bill.day:%d.%m.} {bill.amount}"

    assert Tool.of(pay).typed is not None
    written = {"day": "2026-01-02", "amount": "1.5"}
    provider = Emulated("openai.chat", script([call("pay", bill=written)], [Say("Done.")], tools=["pay"]))
    turn = Turn(provider, [pay])
    at_once(turn.run("Go."))
    [result] = turn.state.rounds[0].tool_results
    assert (result.is_error, result.parts) == (False, [TextPart("02.01. 1.5")])
    form = output_type(Strict)
    assert form is not None
    assert form.read('{"day":"2026-01-02","amount":"1.5"}').day == datetime.date(2026, 1, 2)


def test_a_field_of_pydantic_as_a_default_is_the_default_inside_it() -> None:
    received: list[Any] = []
    no_tags: Any = pydantic.Field(default_factory=list)

    def search(
        town: str = pydantic.Field(..., description="The town."),
        limit: int = pydantic.Field(5, ge=1),
        tags: list[str] = no_tags,
    ) -> None:
        received.append((town, limit, tags))

    tool = Tool.of(search)
    assert tool.parameters is not None
    assert tool.parameters["required"] == ["town"]
    assert tool.parameters["properties"]["town"]["description"] == "The town."
    assert tool.parameters["properties"]["limit"] == {"type": "integer", "minimum": 1, "default": 5}
    rounds = ([call("search", town="Horta")], [call("search", town="Horta", limit=0)], [Say("Done.")])
    turn = Turn(Emulated("openai.chat", script(*rounds, tools=["search"])), [tool])
    at_once(turn.run("Go."))
    assert received == [("Horta", 5, [])]
    assert [result.is_error for round in turn.state.rounds for result in round.tool_results] == [False, True]
    assert tool.typed is not None
    first, second = (tool.typed.convert({"town": "Horta"})["tags"] for _ in range(2))
    assert first is not second


@pytest.mark.parametrize(
    ("default", "message"),
    [
        (dataclasses.field(default=1), "is a field of a class"),
        (msgspec.field(default=1), "is a field of a class"),
        (pydantic.Field(default_factory=lambda data: data["x"]), "cannot be made"),
    ],
)
def test_a_default_that_is_not_a_value_is_an_error(default: Any, message: str) -> None:
    def search(limit: int = default) -> None: ...

    with pytest.raises(InvalidTool, match=message):
        Tool.of(search)
