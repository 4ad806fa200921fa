"""Functions with generated signatures, and values of their parameters' types with the JSON that a model writes."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import inspect
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import msgspec
import pydantic
from hypothesis import strategies as st


class Unit(enum.Enum):
    METRIC = "metric"
    IMPERIAL = "imperial"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass(frozen=True)
class Point:
    """A place on the map."""

    x: float
    y: float = 0.0


class Box(msgspec.Struct, frozen=True):
    corner: Point
    label: str | None = None
    inner: list[Box] = []


class Circle(msgspec.Struct, tag=True, frozen=True):
    radius: float


class Square(msgspec.Struct, tag=True, frozen=True):
    side: float


class Options(TypedDict):
    name: str
    limit: NotRequired[int]


class Pair(NamedTuple):
    left: int
    right: str


class Item(pydantic.BaseModel):
    """A line of an order."""

    sku: str = pydantic.Field(alias="SKU", description="The number of the article.")
    quantity: Annotated[int, pydantic.Field(ge=1)] = 1


class Order(pydantic.BaseModel):
    items: list[Item]
    due: datetime.date | None = None


_TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
_WHOLE = st.integers(-(2**53), 2**53)
_FRACTION = st.floats(allow_nan=False, allow_infinity=False, width=32)
_POINTS = st.builds(Point, _FRACTION, _FRACTION)
_BOXES = st.recursive(
    st.builds(Box, _POINTS, st.none() | _TEXT),
    lambda boxes: st.builds(Box, _POINTS, _TEXT, st.lists(boxes, max_size=2)),
    max_leaves=3,
)
_ITEMS = st.builds(lambda sku, quantity: Item(SKU=sku, quantity=quantity), _TEXT, st.integers(1, 9))
_RESOLVED: tuple[Any, ...] = (bool, Unit, Level, Literal["a", "b", 3], datetime.date, uuid.UUID)
_LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    *((type, st.from_type(type)) for type in _RESOLVED),
    (int, _WHOLE),
    (float, _FRACTION),
    (str, _TEXT),
    (bytes, st.binary(max_size=8)),
    (Annotated[int, msgspec.Meta(ge=1, le=9)], st.integers(1, 9)),
    (Annotated[str, "A word."], _TEXT),
    (datetime.datetime, st.datetimes(timezones=st.none() | st.just(datetime.UTC))),
    (datetime.timedelta, st.timedeltas(datetime.timedelta(0), datetime.timedelta(days=9))),
    (decimal.Decimal, st.decimals(-1000, 1000, places=2)),
]
_OBJECTS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (Point, _POINTS),
    (Box, _BOXES),
    (Circle | Square, st.builds(Circle, _FRACTION) | st.builds(Square, _FRACTION)),
    (Options, st.fixed_dictionaries({"name": _TEXT}, optional={"limit": _WHOLE})),
    (Pair, st.builds(Pair, _WHOLE, _TEXT)),
    (dict[str, Any], st.dictionaries(_TEXT, _WHOLE | _TEXT | st.none(), max_size=3)),
    (Any, st.none() | st.booleans() | _WHOLE | _TEXT | st.lists(_WHOLE, max_size=2)),
]
_MODELS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (Item, _ITEMS),
    (Order, st.builds(Order, items=st.lists(_ITEMS, max_size=2), due=st.none() | st.dates())),
    (Annotated[int, pydantic.Field(gt=0)], st.integers(1, 99)),
]
_HASHABLE = (int, str, Unit, datetime.date, uuid.UUID)


def _containers(member: tuple[Any, st.SearchStrategy[Any]]) -> st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]]:
    type, values = member
    made = [
        (list[type], st.lists(values, max_size=3)),  # type: ignore[valid-type]
        (dict[str, type], st.dictionaries(_TEXT, values, max_size=3)),  # type: ignore[valid-type]
        (tuple[type, int], st.tuples(values, _WHOLE)),  # type: ignore[valid-type]
    ]
    if type in _HASHABLE:
        made += [
            (set[type], st.sets(values, max_size=3)),  # type: ignore[valid-type]
            (dict[type, int], st.dictionaries(values, _WHOLE, max_size=3)),  # type: ignore[valid-type]
        ]
    if type is not Any:
        made.append((type | None, st.none() | values))
    return st.sampled_from(made)


def _types(pool: list[tuple[Any, st.SearchStrategy[Any]]]) -> st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]]:
    leaves = st.sampled_from(pool)
    return leaves | leaves.flatmap(_containers) | leaves.flatmap(_containers).flatmap(_containers)


TYPES = _types(_LEAVES + _OBJECTS) | _types(_MODELS)


def _json(value: Any) -> Any:
    def model(value: Any) -> Any:
        return value.model_dump(mode="json", by_alias=True)

    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=model))


class Parameter(NamedTuple):
    """Of a function: its type, a value with its JSON, and whether this value is its default."""

    annotation: Any
    value: Any
    json: Any
    optional: bool


@st.composite
def signatures(draw: st.DrawFn) -> dict[str, Parameter]:
    """The parameters of a function by name."""

    def parameter() -> Parameter:
        annotation, values = draw(TYPES)
        value = draw(values)
        return Parameter(annotation, value, _json(value), draw(st.booleans()))

    names = draw(st.lists(st.sampled_from(["city", "days", "unit", "größe", "_private", "self"]), unique=True))
    return {name: parameter() for name in names}


def function_of(parameters: dict[str, Parameter], received: list[dict[str, Any]]) -> Callable[..., str]:
    """A function with these parameters that keeps what it receives."""

    def function(**arguments: Any) -> str:
        received.append(arguments)
        return "ran"

    empty, keyword = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    declared = [
        inspect.Parameter(name, keyword, annotation=given.annotation, default=given.value if given.optional else empty)
        for name, given in parameters.items()
    ]
    function.__signature__ = inspect.Signature(declared)  # type: ignore[attr-defined]
    return function


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal and have the same types, at any depth."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)
