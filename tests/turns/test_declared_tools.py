"""A tool whose function cannot take the calls that its schema allows is refused where it is declared."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolparity.turns import Executor, Tool, Tools
from toolparity.turns.errors import InvalidTool
from toolparity.turns.execution.signatures import misfit
from toolparity.turns.execution.validation import problems

from .executing import asked, ran, texts
from .playing import at_once

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


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


CALLABLES = (weather, later, Service().method, Service.of_class, Service.static, Service(), wrapped(weather))


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
    assert texts(ran([asked("t", more=1)], Tool(name="t", function=lambda: 1)))[0][0] == "invalid_arguments"


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
