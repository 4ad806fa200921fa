"""Rewriting of object schemas: declared properties, required ones, and properties with arbitrary names."""

from __future__ import annotations

import re
from typing import Any

from ...digests import digest
from ..keywords import escaped, properties_of, required_of
from .codecs import NAME, SAME, VALUE, Codec, Member, Members, Pairs
from .rewriting import Rewriting
from .rewritten import Rewritten
from .validation import fits

#: The member for properties with arbitrary names beside declared ones.
_OTHERS = "additional_properties"
#: The member that is added where the target requires one.
_PRESENT = "present"
_TEXT = {"type": "string"}


def rewrite(
    rewriting: Rewriting, node: dict[str, Any], written: dict[str, Any], pointer: str, *, root: bool
) -> Codec | Rewritten:
    """Add the keywords of objects to ``written`` and return the codec, or return another schema instead."""
    node = _without_patterns(rewriting, node, pointer)
    rest = node.get("additionalProperties")
    declares = root or "properties" in node or ("additionalProperties" not in node and "type" not in node)
    closes = rewriting.has("closed") or (
        rewriting.has("closed-by-default") and not rewriting.rules.accepts("additionalProperties", True, root=root)
    )
    needs_properties = rewriting.has("object-properties") and not root and not properties_of(node)
    if rest is not False and ((closes and not declares) or needs_properties):
        return _arbitrary(rewriting, node, pointer)
    if needs_properties:
        return rewriting.json_text(node, pointer)
    if root and rewriting.has("root-properties") and "properties" not in node:
        rewriting.report("empty-properties", pointer, "")
        node = {**node, "properties": {}}
    members = _members(rewriting, node, written, pointer)
    rest_codec, pairs = _rest(rewriting, node, written, pointer, closes=closes, root=root)
    added = _required(rewriting, node, members, written, pointer, root=root)
    if pairs:
        written["required"] = [*written.get("required", ()), pairs]
    plain = all(
        member.name == name and member.codec is SAME and not member.optional for name, member in members.items()
    )
    if plain and rest_codec is SAME and not pairs and not added:
        return SAME
    return Members(members, rest_codec, pairs, added)


def _without_patterns(rewriting: Rewriting, node: dict[str, Any], pointer: str) -> dict[str, Any]:
    """Return an object schema whose patternProperties, if they are not accepted, are additionalProperties."""
    patterns = node.get("patternProperties")
    if not isinstance(patterns, dict) or rewriting.rules.accepts("patternProperties", patterns):
        return node
    rest: Any = True
    if node.get("additionalProperties") is False and patterns:
        schemas = list(patterns.values())
        rest = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    rewriting.report("constraint", f"{pointer}/patternProperties", ", ".join(patterns))
    return {**{key: value for key, value in node.items() if key != "patternProperties"}, "additionalProperties": rest}


def _arbitrary(rewriting: Rewriting, node: dict[str, Any], pointer: str) -> Rewritten:
    """Return the schema of an object without declared properties, where the target needs them."""
    rest = node.get("additionalProperties")
    if not isinstance(rest, dict) or not rest or node.get("type") != "object" or required_of(node):
        return rewriting.json_text(node, pointer)
    schema, codec = _pairs(rewriting, rest, pointer)
    if isinstance(node.get("description"), str):
        schema["description"] = node["description"]
    lost = node.keys() - {"type", "additionalProperties", "description", "title", "properties"}
    for keyword in sorted(lost):
        rewriting.report("constraint", f"{pointer}/{keyword}", keyword)
    return Rewritten(schema, Pairs(codec))


def _pairs(rewriting: Rewriting, rest: dict[str, Any], pointer: str) -> tuple[dict[str, Any], Codec]:
    """Return the schema of a list of names and values, and the codec of the values."""
    rewriting.report("pairs", pointer, "")
    value = rewriting.schema(rest, f"{pointer}/additionalProperties")
    entry: dict[str, Any] = {"type": "object", "properties": {NAME: dict(_TEXT), VALUE: value.schema}}
    entry["required"] = [NAME, VALUE]
    if rewriting.rules.accepts("additionalProperties", False):
        entry["additionalProperties"] = False
    return {"type": "array", "items": entry}, value.codec


def _members(rewriting: Rewriting, node: dict[str, Any], written: dict[str, Any], pointer: str) -> dict[str, Member]:
    properties = dict(properties_of(node))
    if rewriting.has("required-defined"):
        for name in required_of(node):
            if name not in properties:
                rest = node.get("additionalProperties", True)
                rewriting.report("declared", pointer, name)
                properties[name] = rest if isinstance(rest, dict) else {} if rest else {"not": {}}
    members: dict[str, Member] = {}
    schemas: dict[str, Any] = {}
    required = set(required_of(node))
    for name, inner in properties.items():
        at = f"{pointer}/properties/{escaped(name)}"
        wire_name = _wire_name(rewriting, name, properties, at)
        schema, codec = rewriting.schema(inner, at)
        optional = rewriting.has("all-required") and name not in required
        if optional:
            rewriting.report("nullable", at, name)
            if codec.to_wire(None) is None and fits(rewriting.complete(inner), None):
                rewriting.report("absent-or-null", at, name)
            schema = nullable(schema)
        members[name] = Member(wire_name, codec, optional)
        schemas[wire_name] = schema
    if schemas or "properties" in node:
        written["properties"] = schemas
    return members


def _wire_name(rewriting: Rewriting, name: str, taken: dict[str, Any], pointer: str) -> str:
    pattern = rewriting.rules.property_names
    if not pattern or re.fullmatch(pattern, name):
        return name
    rewriting.report("property-name", pointer, name)
    readable = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:50]
    alias = f"{readable}_{digest(name, 8)}"
    return alias if alias not in taken else f"{readable}_{digest(name, 12)}"


def _rest(
    rewriting: Rewriting, node: dict[str, Any], written: dict[str, Any], pointer: str, *, closes: bool, root: bool
) -> tuple[Codec, str]:
    """Add additionalProperties. Return the codec of properties with arbitrary names, and the member that holds them."""
    rest, accepts = node.get("additionalProperties"), rewriting.rules.accepts
    at = f"{pointer}/additionalProperties"
    if rest is False or (closes and rest is None):
        if rest is None:
            rewriting.report("closed", pointer, "")
        if accepts("additionalProperties", False, root=root):
            written["additionalProperties"] = False
        else:
            rewriting.report("opened", at, "")
    elif closes:
        schema, codec = _pairs(rewriting, rest if isinstance(rest, dict) else {}, pointer)
        properties = written.setdefault("properties", {})
        name = _OTHERS
        while name in properties:
            name += "_"
        properties[name] = schema
        if accepts("additionalProperties", False, root=root):
            written["additionalProperties"] = False
        return codec, name
    elif rewriting.has("closed-by-default") and rest is None:
        if root or properties_of(node):
            rewriting.report("closed", pointer, "")
        else:
            written["additionalProperties"] = True
    elif isinstance(rest, dict) and accepts("additionalProperties", rest, root=root):
        schema, codec = rewriting.schema(rest, at)
        written["additionalProperties"] = schema
        return codec, ""
    elif isinstance(rest, dict) and rest:
        rewriting.report("constraint", at, "additionalProperties")
    elif rest is not None and accepts("additionalProperties", True, root=root):
        written["additionalProperties"] = True
    return SAME, ""


def _required(
    rewriting: Rewriting,
    node: dict[str, Any],
    members: dict[str, Member],
    written: dict[str, Any],
    pointer: str,
    *,
    root: bool,
) -> dict[str, Any]:
    """Add the names of the required members, and a member if the target requires one. Return the added members."""
    names = list(dict.fromkeys(required_of(node)))
    if rewriting.has("all-required"):
        names = list(members)
    required = [members[name].name if name in members else name for name in names]
    if required and not rewriting.rules.accepts("required", required, root=root):
        rewriting.report("constraint", f"{pointer}/required", "required")
        written.setdefault("notes", []).append(f"required: {', '.join(required)}")
        return {}
    added: dict[str, Any] = {}
    if rewriting.has("some-required") and written.get("properties") and not required:
        name = _PRESENT
        while any(declared.startswith(name) for declared in written["properties"]):
            name += "_"
        rewriting.report("added-member", pointer, name)
        written["properties"][name] = {"type": "string", "enum": ["yes"], "description": "Always yes."}
        required, added = [name], {name: "yes"}
    declared = "required" in node or (rewriting.has("all-required") and "properties" in written)
    if required or (declared and rewriting.rules.accepts("required", required, root=root)):
        written["required"] = required
    return added


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an adapted schema that also accepts null."""
    null = {"type": "null"}
    if "anyOf" in schema:
        variants = schema["anyOf"]
        return schema if null in variants else {**schema, "anyOf": [*variants, null]}
    kind = schema.get("type")
    if "enum" not in schema and "const" not in schema and "$ref" not in schema and kind is not None:
        kinds = [kind] if isinstance(kind, str) else kind
        return {**schema, "type": list(dict.fromkeys((*kinds, "null")))}
    about = {key: schema[key] for key in ("description",) if key in schema and "$ref" not in schema}
    return {"anyOf": [{key: value for key, value in schema.items() if key not in about}, null], **about}
