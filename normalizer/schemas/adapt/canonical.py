"""Spellings of older drafts and of OpenAPI as JSON Schema 2020-12, without a change of meaning."""

from __future__ import annotations

from typing import Any

from ..keywords import LISTS, MAPS, SINGLE, TYPES, types_of

#: The type of the value of each keyword. With another value the keyword is left out: JSON Schema gives it no meaning.
_FORMS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(MAPS, dict),
    **dict.fromkeys(LISTS, list),
    **dict.fromkeys(SINGLE, (dict, bool)),
    "items": (dict, bool, list),
    **dict.fromkeys(("enum", "required"), list),
    **dict.fromkeys(("$ref", "pattern", "format"), str),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), (int, float)),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), (int, float)),
}


def canonical(schema: Any, *, negated: bool = False) -> Any:
    """Return a schema in the spelling of JSON Schema 2020-12, as a copy. No property has a boolean.

    A keyword whose value has the wrong type is left out. ``negated``: the schema is inside a `not`, which no rewriting
    enters, so that an array gets the items that some providers demand here.
    """
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    if not isinstance(schema, dict):
        return {}
    written: dict[str, Any] = {}
    for keyword, value in schema.items():
        if not _has_form(keyword, value):
            continue
        if keyword in MAPS:
            name = "$defs" if keyword == "definitions" else keyword
            written[name] = {
                **written.get(name, {}),
                **{key: canonical(inner, negated=negated) for key, inner in value.items()},
            }
        elif keyword in LISTS:
            written[keyword] = [canonical(inner, negated=negated) for inner in value]
        elif keyword == "items" and isinstance(value, list):
            written["prefixItems"] = [canonical(inner, negated=negated) for inner in value]
        elif keyword in SINGLE:
            written[keyword] = (
                value if isinstance(value, bool) else canonical(value, negated=negated or keyword == "not")
            )
        elif keyword == "$ref":
            written["$ref"] = value.replace("#/definitions/", "#/$defs/")
        elif keyword not in ("nullable", "additionalItems"):
            written[keyword] = value
    if isinstance(schema.get("items"), list) and "additionalItems" in schema:
        rest = schema["additionalItems"]
        written["items"] = rest if isinstance(rest, bool) else canonical(rest, negated=negated)
    if negated and "items" not in written and "array" in types_of(written):
        written["items"] = {}
    return _with_types(written, nullable=schema.get("nullable") is True)


def _has_form(keyword: str, value: Any) -> bool:
    return keyword not in _FORMS or isinstance(value, _FORMS[keyword])


def _with_types(schema: dict[str, Any], *, nullable: bool) -> dict[str, Any]:
    """Spell types as a word or a list of words, and null as a type. A type that JSON Schema lacks is left out."""
    kind = schema.get("type")
    if kind is not None:
        kinds = [word for word in (kind if isinstance(kind, list) else [kind]) if word in TYPES]
        schema.pop("type")
        if kinds:
            schema = {"type": kinds[0] if len(kinds) == 1 else list(dict.fromkeys(kinds)), **schema}
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        # a boolean before draft 6
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and limit in schema:
            schema[exclusive] = schema.pop(limit)
    if not nullable:
        return schema
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema = {**schema, "enum": [*schema["enum"], None]}
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    kind = schema.get("type")
    return {**schema, "type": [kind, "null"]} if isinstance(kind, str) else schema
