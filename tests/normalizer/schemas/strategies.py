"""Hypothesis strategies: schemas of tools, and values that a schema accepts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from toolparity.normalizer.schemas.adapt.validation import fits

_NAMES = st.sampled_from(["a", "b", "city", "list of", "name", "value", "additional_properties", "naïve"])
_TEXTS = st.sampled_from(["", "x", "yes", "null", "1", '{"a":1}', "2026-01-01", "Grüße"]) | st.text(max_size=4)
_SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.5, 2.0, 1e300]) | _TEXTS
JSON = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3), max_leaves=6
)
_ANNOTATED = {"description": st.just("about"), "title": st.just("T"), "default": _SCALARS, "examples": st.just([1])}


def _whole(*options: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One of some strategies, which counts as one where it is an option itself."""
    return st.one_of(*options).map(lambda value: value)


def _with(base: dict[str, Any], /, **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Dicts with these members and mostly none or one of the others, so that one change is seen without the rest."""
    optional |= _ANNOTATED
    several = st.fixed_dictionaries(base, optional=optional)
    single = [st.fixed_dictionaries({**base, name: value}) for name, value in optional.items()]
    alone = st.fixed_dictionaries(base)
    return _whole(alone, alone, _whole(*single), several)


_STRINGS = _with(
    {"type": st.just("string")},
    minLength=st.integers(0, 2),
    maxLength=st.integers(3, 9),
    format=st.sampled_from(["date", "uri", "byte"]),
    pattern=st.just("^.*$"),
)
_NUMBERS = _with(
    {"type": st.sampled_from(["integer", "number"])},
    minimum=st.integers(-3, 0),
    exclusiveMaximum=st.integers(2, 9),
    multipleOf=st.just(1),
)
_LEAVES = st.one_of(
    _STRINGS,
    _NUMBERS,
    _with(
        {"type": st.sampled_from(["boolean", "null", ["string", "null"], ["integer", "string"], ["object", "null"]])}
    ),
    _with({"enum": st.lists(_SCALARS, min_size=1, max_size=3, unique_by=repr)}),
    _with({"const": JSON}),
    _with({}),
    st.just({"$ref": "#/$defs/leaf"}),
    st.just({"$ref": "#/$defs/node"}),
)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    properties = st.dictionaries(_NAMES, inner, max_size=3)
    closed = {"type": st.just("object"), "properties": properties, "additionalProperties": st.just(False)}
    open_ = _with(
        {"type": st.just("object")},
        properties=properties,
        required=st.lists(_NAMES, max_size=2, unique=True),
        additionalProperties=st.booleans() | inner,
        patternProperties=st.just({"^x": {"type": "integer"}}),
        minProperties=st.integers(0, 1),
    )
    return _whole(st.fixed_dictionaries(closed), open_)


def _composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    parts = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        _objects(inner),
        _with(
            {"type": st.just("array")},
            items=inner,
            prefixItems=parts,
            minItems=st.integers(0, 1),
            maxItems=st.integers(2, 3),
            uniqueItems=st.booleans(),
        ),
        _whole(*(_with({keyword: parts}) for keyword in ("anyOf", "oneOf", "allOf"))),
        _whole(
            st.builds(lambda one, parts: {**one, "anyOf": parts}, _objects(inner), parts),
            st.builds(lambda one, parts: {**one, "allOf": parts}, _objects(inner), parts),
            st.builds(lambda one, other: {**one, "not": other}, inner, inner),
        ),
    )


SCHEMAS = st.recursive(_LEAVES, _composed, max_leaves=7)
_DEFINITIONS = {
    "leaf": {"type": "string", "maxLength": 3},
    "node": {
        "type": "object",
        "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}},
        "required": ["v"],
    },
}


#: The parameters of a tool: usually an object, sometimes a union or a reference.
PARAMETERS = _whole(_objects(SCHEMAS), _objects(SCHEMAS), _composed(SCHEMAS)).map(
    lambda root: {**root, "$defs": _DEFINITIONS}
)


@st.composite
def values(draw: st.DrawFn, schema: Any, definitions: dict[str, Any], depth: int = 0) -> Any:
    """A value that tends to fit a schema; the caller checks whether it does."""
    if not isinstance(schema, dict) or depth > 6:
        return draw(_SCALARS)
    if "$ref" in schema:
        return draw(values(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions, depth + 1))
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    variants = [part for keyword in ("anyOf", "oneOf", "allOf") for part in schema.get(keyword, ())]
    if variants and (("type" not in schema) or draw(st.booleans())):
        found = draw(values(draw(st.sampled_from(variants)), definitions, depth + 1))
        if not isinstance(found, dict):
            return found
        base = draw(_object(schema, definitions, depth))
        return {**base, **found}
    kinds = schema.get("type", ["object"] if "properties" in schema else ["string", "object", "array", "null"])
    kind = draw(st.sampled_from(kinds if isinstance(kinds, list) else [kinds]))
    if kind == "object":
        return draw(_object(schema, definitions, depth))
    if kind == "array":
        parts = [draw(values(part, definitions, depth + 1)) for part in schema.get("prefixItems", ())]
        least = max(0, schema.get("minItems", 0) - len(parts))
        rest = draw(
            st.lists(values(schema.get("items", True), definitions, depth + 1), min_size=least, max_size=least + 2)
        )
        return [*parts, *rest][: schema.get("maxItems", 4)]
    if kind == "string":
        return draw(_TEXTS).ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength", 99)]
    least = max(schema.get("minimum", -5), schema.get("exclusiveMinimum", -6) + 1)
    numbers = {"integer": st.integers(least, least + 9), "number": st.integers(least, least + 9) | st.just(0.5)}
    return draw(numbers.get(kind, st.booleans() if kind == "boolean" else st.none()))


@st.composite
def _object(draw: st.DrawFn, schema: dict[str, Any], definitions: dict[str, Any], depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    required = [name for name in schema.get("required", ()) if isinstance(name, str)]
    for name, inner in schema.get("properties", {}).items():
        if name in required or draw(st.booleans()):
            found[name] = draw(values(inner, definitions, depth + 1))
    rest = schema.get("additionalProperties", True)
    for name in required:
        found.setdefault(name, draw(values(rest, definitions, depth + 1)))
    if rest is not False and draw(st.booleans()):
        found.setdefault(draw(_NAMES | st.just("x")), draw(values(rest, definitions, depth + 1)))
    return found


def fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Objects that a schema accepts."""
    drawn = values(schema, schema.get("$defs", {}))
    return drawn.filter(lambda value: isinstance(value, dict) and fits(schema, value))
