"""Tools declared by functions: the schema, its descriptions and defaults, injected objects, results, and refusals."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import functools
import sys
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import pydantic
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.support.thoroughness import examples
from toolparity.normalizer.conversation import JsonPart
from toolparity.normalizer.errors import MissingExtra
from toolparity.normalizer.model import ToolCall
from toolparity.schemas import check_tools
from toolparity.turns import CallContext, Injected, Tool, Tools, Turn, current_call, tool
from toolparity.turns.errors import InvalidTool
from toolparity.turns.execution.validation import check_schema, problems
from toolparity.turns.orchestration import Coordinator
from toolparity.turns.output import output_type

from .executing import as_sent, asked, ran, texts
from .playing import WIRES, Emulated, Say, at_once, call, finished, script
from .typed_functions import TYPES, Box, Item, Level, Options, Order, Pair, Point, Unit, function_of, same, signatures


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


def _numpy(b: int, c: int) -> None:
    """Look.

    Parameters
    ----------
    b : int
        Of b.
    c : int
        Of c.
    """


def _sphinx(b: int, c: int) -> None:
    """Look.

    :param int b: Of
        b.
    :param c: Of c.
    """


class _Documentation(msgspec.Struct):
    documentation: str


def _annotated(
    a: Annotated[str, _Documentation("Of a.")],
    b: Annotated[int, msgspec.Meta(description="Of b.", ge=1)],
    c: Annotated[int, pydantic.Field(description="Of c.", ge=1)],
) -> None:
    """Look.

    :param a: x
    :param b: x
    :param c: x
    """


@pytest.mark.parametrize("function", [_numpy, _sphinx, _annotated])
def test_parameters_are_described_in_docstrings_of_any_style_and_in_annotations(function: Callable[..., Any]) -> None:
    properties = Tool.of(function, name="f").parameters["properties"]  # type: ignore[index]
    assert all(schema["description"] == f"Of {name}." for name, schema in properties.items())
    assert function is not _annotated or properties["b"]["minimum"] == properties["c"]["minimum"] == 1


def test_types_of_msgspec_and_pydantic_are_in_one_schema_unless_two_have_one_name() -> None:
    def order(order: Order, to: Point, also: list[Item] | None = None) -> None: ...

    parameters: Any = Tool.of(order).parameters
    assert set(parameters["$defs"]) == {"Order", "Item", "Point"}
    assert parameters["properties"]["order"] == {"$ref": "#/$defs/Order"}
    assert parameters["$defs"]["Item"]["required"] == ["SKU"]
    order.__annotations__["also"] = pydantic.create_model("Point", x=(int, 1))
    with pytest.raises(InvalidTool, match="both called 'Point'"):
        Tool.of(order)


def test_other_arguments_have_the_declared_type_or_any() -> None:
    def typed(**points: Point) -> str:
        return ",".join(f"{name}={point.x:g}" for name, point in points.items())

    def untyped(city: str, **rest) -> str:  # type: ignore[no-untyped-def]
        return f"{city} {rest}"

    assert Tool.of(typed).parameters["additionalProperties"] == {"$ref": "#/$defs/Point"}  # type: ignore[index]
    assert returned(typed, a={"x": 1}, b={"x": 2}) == "a=1,b=2"
    assert returned(untyped, city="Horta", days=[1]) == "Horta {'days': [1]}"


def returned(function: Callable[..., Any] | Tool, inject: Any = None, **arguments: Any) -> Any:
    """The text or value that a tool returns for a call."""
    declared = function if isinstance(function, Tool) else Tool.of(function, name="f")
    [finished] = ran([asked(declared.name, **arguments)], declared, executor={"inject": inject}, turn="t1")
    (part,) = finished.result.parts or [None]
    return part.value if isinstance(part, JsonPart) else getattr(part, "text", None)


class Shop:
    """Tools that share an object."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    @tool(timeout=5)
    def sell(self, what: str, seats: int = 1) -> str:
        """Sell something."""
        return f"{self.name} sold {what} {seats}"

    @classmethod
    def count(cls, level: Level) -> str:
        return f"{cls.__name__} {level!r}"

    async def __call__(self, level: Level) -> str:
        return f"{level!r}"


def test_methods_callable_objects_and_partials_are_tools() -> None:
    shop = Shop("Peter")
    assert shop.sell("rope") == "Peter sold rope 1"  # it stays a function
    sell = Tools([shop.sell])["sell"]
    assert (sell.timeout, sell.description) == (5, "Sell something.")
    assert returned(sell, what="rope") == "Peter sold rope 1"
    assert returned(Shop.count, level=2) == "Shop <Level.HIGH: 2>"
    assert returned(Shop(), level=2) == "<Level.HIGH: 2>"
    partial = Tool.of(functools.partial(shop.sell, seats=2), name="f")
    assert (list(partial.parameters["properties"]), partial.description) == (["what"], "Sell something.")  # type: ignore[index]
    assert returned(partial, what="rope") == "Peter sold rope 2"


def test_only_a_schema_derived_from_the_function_converts_arguments_also_in_a_copy() -> None:
    explicit = {"type": "object", "properties": {"level": {"type": "integer"}}, "required": ["level"]}

    def count(level: Level) -> str:
        return f"{level!r}"

    declared = Tool.of(count, parameters=explicit)
    assert (declared.parameters, declared.typed, returned(declared, level=1)) == (explicit, None, "1")
    declared = Tool.of(count, name="f")
    copied = replace(declared, timeout=1.0)
    assert copied.typed is declared.typed
    assert returned(copied, level=1) == "<Level.LOW: 1>"
    assert replace(declared, function=Shop(), parameters=None).typed is not declared.typed


# injected objects


def test_a_function_gets_the_call_context_and_the_injected_object_which_the_model_cannot_pass() -> None:
    progress: list[Any] = []

    def sell(what: str, shop: Injected[Any], call: CallContext, **rest: str) -> str:
        assert call is current_call.get()
        call.progress({"done": what})
        return f"{shop.name} {what} {call.call_id} {call.turn} {call.round} {len(call.key)}"

    def on_progress(call: ToolCall, data: Any) -> None:
        progress.append((call.id, data))

    declared = Tool.of(sell, name="f")
    assert list(declared.parameters["properties"]) == ["what"]  # type: ignore[index]
    shop, options = {"inject": Shop("Peter")}, {"turn": "t1", "round": 2, "on_progress": on_progress}
    sold = ran([asked("f", what="rope"), asked("f", what="oars", shop="mine")], declared, executor=shop, **options)
    [(outcome, text), (other, problem)] = texts(sold)
    assert (outcome, text) == ("returned", "Peter rope call_f t1 2 32")
    assert (other, "shop: not a parameter" in problem) == ("invalid_arguments", True)
    assert progress == [("call_f", {"done": "rope"})]
    assert current_call.get(None) is None


def use(shop: Injected[Shop]) -> str:
    return shop.name


@pytest.mark.parametrize("build", [Turn, Coordinator])
def test_a_turn_injects_its_object_and_without_it_is_an_error(build: Any) -> None:
    provider = Emulated("openai.chat", script([call("use")], [Say("Done.")], tools=["use"]))
    for wrong in (None, "Peter"):
        with pytest.raises(InvalidTool, match=r"use: its parameter 'shop' is Shop, and inject= is (None|'Peter')"):
            build(provider, [use], inject=wrong)
    run = build(provider, [use], inject=Shop("Peter"))
    at_once(run.run("Go."))
    turn = run.turn if isinstance(run, Coordinator) else run
    assert turn.state.rounds[0].tool_results[0].parts[0].text == "Peter"


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


def _unknown(city: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def _unsupported(city: str, conversion: complex) -> None: ...
def _ambiguous(what: Point | dict[str, int]) -> None: ...
def _mixed(what: list[MixedStruct]) -> None: ...
def _starred_rest(**options: complex) -> None: ...


class MixedStruct(msgspec.Struct):
    item: Item


def _defaulting(default: Any) -> Callable[..., None]:
    def search(limit: int = default) -> None: ...

    return search


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_unknown, "_unknown: the annotation of its parameter 'city' cannot be evaluated: name 'Nowhere'"),
        (_unsupported, "_unsupported: the type of its parameter 'conversion' cannot be expressed: .*complex"),
        (_ambiguous, "_ambiguous: the type of its parameter 'what' cannot be expressed: .*more than one dict-like"),
        (_mixed, "_mixed: the type of its parameter 'what' cannot be expressed"),
        (_starred_rest, "_starred_rest: the type of its parameter 'options' cannot be expressed: .*complex"),
        (_defaulting(dataclasses.field(default=1)), "is a field of a class"),
        (_defaulting(msgspec.field(default=1)), "is a field of a class"),
        (_defaulting(pydantic.Field(default_factory=lambda data: data["x"])), "cannot be made"),
        (Shop.sell, "sell: its parameter 'self' has no type annotation"),
        (len, "len: its function .*takes 'obj' by position only"),
        (print, r"print: its parameter '\*args' is passed by position only"),
        (lambda: 1, "a tool has no name: <function"),
        ("look", "not a tool: 'look'"),
    ],
)
def test_a_signature_that_no_schema_expresses_is_an_error_with_the_function_and_the_parameter(
    function: Any, message: str
) -> None:
    for declare in (lambda: Tools([function]), lambda: Turn(Emulated("openai.chat", script([])), [function])):
        with pytest.raises(InvalidTool, match=message):
            declare()
    with pytest.raises(InvalidTool, match="its parameter 'conversion'"):
        tool(_unsupported)
    with pytest.raises(InvalidTool, match=r"cannot be decorated.*Tool\.of"):
        tool(Shop().sell)


@pytest.mark.parametrize(
    ("package", "needs_it", "does_not"),
    [
        ("docstring_parser", lambda: Tool.of(forecast), lambda: Tool.of(use)),
        (
            "jsonschema",
            lambda: Tools([Tool(name="f", function=lambda **_: None, parameters={"type": "object"})]),
            lambda: Tools([Tool(name="f", function=lambda: None)]),
        ),
    ],
)
def test_a_docstring_or_a_schema_without_its_package_raises_an_error_that_names_the_extra(
    package: str, needs_it: Any, does_not: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"toolparity\[turns\]"):
        needs_it()
    does_not()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["x", "y", "name"]), inner),
    max_leaves=4,
)


@examples(160, plain=8)
@given(parameters=signatures())
def test_generated_arguments_arrive_as_the_declared_types_on_every_wire(parameters: dict[str, Any]) -> None:
    received: list[dict[str, Any]] = []
    tool = Tool(name="generated", function=function_of(parameters, received))
    schema = tool.parameters or {}
    check_schema("generated", schema)
    assert set(schema.get("required", ())) == {name for name, given in parameters.items() if not given.optional}
    arguments = {name: given.json for name, given in parameters.items()}
    assert problems(schema, arguments) == []
    expected = {name: given.value for name, given in parameters.items()}
    for wire in WIRES:
        note(wire)
        received.clear()
        sent = as_sent(tool, wire, arguments)
        provider = Emulated(wire, script([call("generated", **sent)], [Say("Done.")], tools=["generated"]))
        turn = finished(Turn(provider, [tool]))
        [result] = turn.state.rounds[0].tool_results
        assert not result.is_error, result
        assert same(received, [expected]), (received, expected)
        assert turn.state.rounds[0].answer.calls[0].arguments == arguments  # type: ignore[union-attr]
        [declared] = provider.asked().tools
        assert [found for found in check_tools([declared], wire) if found.effect == "refused"] == []
        assert problems(declared.parameters or {}, sent) == []


@examples(300, plain=60)
@given(type=TYPES, value=_JSON)
def test_a_value_of_any_type_runs_the_function_or_is_reported_to_the_model(type: Any, value: Any) -> None:
    def function(p: Any) -> str:
        return "ran"

    function.__annotations__["p"] = type[0]
    [(outcome, text)] = texts(ran([asked("f", p=value)], Tool(name="f", function=function)))
    assert outcome in ("returned", "invalid_arguments")
    assert outcome == "returned" or text.startswith("The arguments of f do not fit its ")


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
    [(outcome, text)] = texts(ran([asked("f", **arguments)], Tool(name="f", function=function)))
    assert outcome == "invalid_arguments"
    assert reported in text


class Strict(pydantic.BaseModel, strict=True):
    day: datetime.date
    amount: decimal.Decimal


def test_whole_floats_are_integers_and_a_strict_model_gets_the_values_that_json_writes_as_text() -> None:
    received: list[Any] = []

    def pay(bill: Strict, days: int, points: list[Point], share: float) -> None:
        received.append((bill.day, bill.amount, days, points, share))

    returned(pay, bill={"day": "2026-01-02", "amount": "1.5"}, days=3.0, points=[{"x": 1.0}], share=1)
    assert same(received, [(datetime.date(2026, 1, 2), decimal.Decimal("1.5"), 3, [Point(1.0)], 1.0)])
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
    turn = finished(Turn(Emulated("openai.chat", script(*rounds, tools=["search"])), [tool]))
    assert received == [("Horta", 5, [])]
    assert [result.is_error for round in turn.state.rounds for result in round.tool_results] == [False, True]
    assert tool.typed is not None
    first, second = (tool.typed.convert({"town": "Horta"})["tags"] for _ in range(2))
    assert first is not second
