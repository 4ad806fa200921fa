"""Tools declared by functions: the schema, its descriptions and defaults, injected objects, results, and refusals."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest
from msgspec.structs import replace

from toolparity.normalizer.conversation import JsonPart
from toolparity.normalizer.errors import MissingExtra
from toolparity.turns import CallContext, Executor, Injected, Tool, Tools, Turn, tool
from toolparity.turns.errors import InvalidTool
from toolparity.turns.orchestration import Coordinator

from .executing import asked
from .playing import WIRES, Emulated, Say, at_once, call, script
from .typed_functions import Item, Level, Order, Pair, Point, Unit


def forecast(city: str, when: datetime.datetime | None = None, *, unit: Unit = Unit.METRIC, days: int = 3) -> str:
    """The weather of the next days.

    It comes from the harbour.

    Args:
        city (str): The city, in its
            own language.
        days: How many days.
    """
    return f"{city} {when} {unit} {days}"


def test_a_schema_has_the_types_defaults_and_descriptions_of_the_function() -> None:
    (definition,) = Tools([forecast]).declared()
    assert (definition.name, definition.description) == ("forecast", "The weather of the next days.")
    assert definition.parameters == {
        "type": "object",
        "properties": {
            "city": {"description": "The city, in its own language.", "type": "string"},
            "when": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}], "default": None},
            "unit": {"$ref": "#/$defs/Unit", "default": "metric"},
            "days": {"description": "How many days.", "type": "integer", "default": 3},
        },
        "required": ["city"],
        "additionalProperties": False,
        "$defs": {"Unit": {"title": "Unit", "enum": ["imperial", "metric"]}},
    }


def _numpy(city: str, days: int, hours: int) -> None:
    """Look.

    Parameters
    ----------
    city : str
        The city.
    days, hours : int
        How long.
    """


def _sphinx(city: str, days: int, hours: int) -> None:
    """Look.

    :param city: The city.
    :param int days: How long.
    :param hours: How
        long.
    """


@pytest.mark.parametrize("function", [_numpy, _sphinx])
def test_parameters_are_described_in_docstrings_of_other_styles(function: Callable[..., Any]) -> None:
    properties = Tool.of(function, name="f").parameters["properties"]  # type: ignore[index]
    texts = [properties[name]["description"] for name in ("city", "days", "hours")]
    assert texts == ["The city.", "How long.", "How long."]


class _Documentation(msgspec.Struct):
    documentation: str


def test_a_description_in_an_annotation_has_precedence_over_the_docstring() -> None:
    def look(
        a: Annotated[str, "Of a."],
        b: Annotated[int, msgspec.Meta(description="Of b.", ge=1)],
        c: Annotated[int, pydantic.Field(description="Of c.", ge=1)],
        d: Annotated[int, _Documentation("Of d.")],
    ) -> None:
        """Look.

        Args:
            a: x
            b: x
            c: x
            d: x
        """

    properties = Tool.of(look).parameters["properties"]  # type: ignore[index]
    assert {name: schema["description"] for name, schema in properties.items()} == {
        name: f"Of {name}." for name in "abcd"
    }
    assert properties["b"]["minimum"] == properties["c"]["minimum"] == 1


def test_definitions_of_msgspec_and_pydantic_types_are_in_one_schema() -> None:
    def order(order: Order, to: Point, also: list[Item] | None = None) -> None: ...

    parameters = Tool.of(order).parameters
    assert parameters is not None
    assert set(parameters["$defs"]) == {"Order", "Item", "Point"}
    assert parameters["properties"]["order"] == {"$ref": "#/$defs/Order"}
    assert parameters["$defs"]["Item"]["required"] == ["SKU"]


def test_other_arguments_have_the_declared_type_or_any() -> None:
    def typed(**points: Point) -> str:
        return ",".join(f"{name}={point.x:g}" for name, point in points.items())

    def untyped(city: str, **rest: Any) -> str:
        return f"{city} {rest}"

    def open_ended(city: str, **rest) -> str:  # type: ignore[no-untyped-def]
        return f"{city} {rest}"

    assert Tool.of(typed).parameters["additionalProperties"] == {"$ref": "#/$defs/Point"}  # type: ignore[index]
    assert returned(typed, a={"x": 1}, b={"x": 2}) == "a=1,b=2"
    assert returned(untyped, city="Horta", days=[1]) == "Horta {'days': [1]}"
    assert returned(open_ended, city="Horta", days=[1]) == "Horta {'days': [1]}"


def returned(function: Callable[..., Any] | Tool, inject: Any = None, **arguments: Any) -> Any:
    """The text or value that a tool returns for a call."""
    declared = function if isinstance(function, Tool) else Tool.of(function, name="f")
    executor = Executor({declared.name: declared}, inject=inject)
    [finished] = at_once(executor.run([asked(declared.name, **arguments)], turn="t1"))
    (part,) = finished.result.parts or [None]
    return part.value if isinstance(part, JsonPart) else getattr(part, "text", None)


class Shop:
    """Tools that share an object."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    @tool(timeout=5)
    def sell(self, what: str) -> str:
        """Sell something."""
        return f"{self.name} sold {what}"

    @tool
    async def buy(self, what: str) -> str:
        """Buy something."""
        return f"{self.name} bought {what}"

    @staticmethod
    def opens(day: datetime.date) -> str:
        return f"{day:%A}"

    @classmethod
    def count(cls, level: Level) -> str:
        return f"{cls.__name__} {level!r}"

    def __call__(self, level: Level) -> str:
        return f"{level!r}"


def test_methods_are_tools_of_their_object() -> None:
    shop = Shop("Peter")
    tools = Tools([shop.sell, shop.buy])
    assert (tools["sell"].timeout, tools["sell"].description) == (5, "Sell something.")
    assert returned(tools["sell"], what="rope") == "Peter sold rope"
    assert returned(tools["buy"], what="rope") == "Peter bought rope"
    assert returned(Shop.opens, day="2026-11-23") == "Monday"
    assert returned(Shop.count, level=2) == "Shop <Level.HIGH: 2>"
    assert returned(Shop(), level=2) == "<Level.HIGH: 2>"


def test_a_schema_that_is_passed_is_kept_and_its_arguments_are_not_converted() -> None:
    explicit = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}

    def look(day: datetime.date) -> str:
        return type(day).__name__

    declared = Tool.of(look, parameters=explicit)
    assert (declared.parameters, declared.typed) == (explicit, None)
    assert returned(declared, day="2026-01-02") == "str"


def test_a_copy_of_a_tool_derives_its_parameters_only_if_the_function_is_another_one() -> None:
    def count(level: Level) -> str:
        return f"{level!r}"

    declared = Tool.of(count, name="f")
    copied = replace(declared, timeout=1.0)
    assert copied.typed is declared.typed
    assert returned(copied, level=1) == "<Level.LOW: 1>"
    assert replace(declared, function=Shop(), parameters=None).typed is not declared.typed


# injected objects


def test_a_function_gets_the_call_context_and_the_injected_object() -> None:
    progress: list[Any] = []

    def sell(what: str, shop: Injected[Shop], call: CallContext) -> str:
        call.progress(what)
        progress.append(call.call_id)
        return f"{shop.name} {what} {call.turn} {bool(call.key)}"

    declared = Tool.of(sell, name="f")
    assert list(declared.parameters["properties"]) == ["what"]  # type: ignore[index]
    assert returned(declared, Shop("Peter"), what="rope") == "Peter rope t1 True"
    assert progress == ["call_f"]


def test_the_model_cannot_pass_an_injected_object() -> None:
    def sell(shop: Injected[Any], **rest: str) -> str:
        return "sold"

    executor = Executor({"f": Tool.of(sell, name="f")}, inject=Shop())
    [finished] = at_once(executor.run([asked("f", shop="mine")]))
    assert finished.outcome == "invalid_arguments"
    assert "shop: not a parameter" in finished.result.parts[0].text


def use(shop: Injected[Shop]) -> str:
    return shop.name


@pytest.mark.parametrize("injected", [None, "Peter"])
@pytest.mark.parametrize("build", [Turn, Coordinator])
def test_a_turn_without_the_object_that_a_tool_requires_is_an_error(build: Any, injected: Any) -> None:
    provider = Emulated("openai.chat", script([Say("Hi.")]))
    with pytest.raises(InvalidTool, match=r"use: its parameter 'shop' is Shop, and inject= is (None|'Peter')"):
        build(provider, [use], inject=injected)


# results


@dataclasses.dataclass
class Receipt:
    item: Item
    at: Point
    unit: Unit


@pytest.mark.parametrize(
    ("value", "json"),
    [
        (Point(1, 2), {"x": 1, "y": 2}),
        (Item(SKU="a"), {"SKU": "a", "quantity": 1}),
        ([Item(SKU="a")], [{"SKU": "a", "quantity": 1}]),
        (
            Receipt(Item(SKU="a"), Point(1), Unit.METRIC),
            {"item": {"SKU": "a", "quantity": 1}, "at": {"x": 1, "y": 0}, "unit": "metric"},
        ),
        (Pair(1, "b"), [1, "b"]),
        ({1: datetime.date(2026, 1, 2)}, {"1": "2026-01-02"}),
    ],
)
def test_results_of_declared_types_are_json(value: Any, json: Any) -> None:
    result = returned(lambda: value)
    assert (list(result) if isinstance(result, tuple) else result) == json


# refusals


def _untyped(city, days: int) -> None: ...  # type: ignore[no-untyped-def]


def _unknown(city: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def _unsupported(city: str, conversion: complex) -> None: ...


def _ambiguous(what: Point | dict[str, int]) -> None: ...


def _mixed(what: list[MixedStruct]) -> None: ...


class MixedStruct(msgspec.Struct):
    item: Item


def _positional(city: str, /) -> None: ...


def _starred(*cities: str) -> None: ...


def _starred_rest(**options: complex) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_untyped, "_untyped: its parameter 'city' has no type annotation"),
        (_unknown, "_unknown: the annotation of its parameter 'city' cannot be evaluated: name 'Nowhere'"),
        (_unsupported, "_unsupported: the type of its parameter 'conversion' cannot be expressed: .*complex"),
        (_ambiguous, "_ambiguous: the type of its parameter 'what' cannot be expressed: .*more than one dict-like"),
        (_mixed, "_mixed: the type of its parameter 'what' cannot be expressed"),
        (_positional, r"_positional: its function \(city: 'str', /\) .*takes 'city' by position only"),
        (_starred, r"_starred: its parameter '\*cities' is passed by position only"),
        (_starred_rest, "_starred_rest: the type of its parameter 'options' cannot be expressed: .*complex"),
        (Shop.sell, "sell: its parameter 'self' has no type annotation"),
        (len, "len: its function .*takes 'obj' by position only"),
        (print, r"print: its parameter '\*args' is passed by position only"),
        (lambda: 1, "a tool has no name: <function"),
        ("look", "not a tool: 'look'"),
    ],
)
@pytest.mark.parametrize("declare", [lambda f: Tools([f]), lambda f: Turn(Emulated("openai.chat", script([])), [f])])
def test_a_signature_that_no_schema_expresses_is_an_error_with_the_function_and_the_parameter(
    declare: Any, function: Any, message: str
) -> None:
    with pytest.raises(InvalidTool, match=message):
        declare(function)


def test_a_decorator_refuses_such_a_function_at_once() -> None:
    with pytest.raises(InvalidTool, match="its parameter 'conversion'"):
        tool(_unsupported)
    with pytest.raises(InvalidTool, match=r"cannot be decorated.*Tool\.of"):
        tool(Shop().sell)


def test_two_types_with_one_name_cannot_be_in_one_schema() -> None:
    shadow = pydantic.create_model("Point", x=(int, 1))

    def look(a: Point, b: Any) -> None: ...

    look.__annotations__["b"] = shadow
    with pytest.raises(InvalidTool, match="both called 'Point'"):
        Tool.of(look)


def test_without_docstring_parser_a_docstring_raises_an_error_that_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "docstring_parser", None)
    with pytest.raises(MissingExtra, match=r"toolparity\[turns\]"):
        Tool.of(forecast)
    Tool.of(use)


