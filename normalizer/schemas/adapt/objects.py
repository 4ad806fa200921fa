"""Rewriting of object schemas: declared properties, required ones, and properties with arbitrary names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...digests import digest
from ..keywords import escaped, properties_of, required_of
from .codecs import NAME, SAME, VALUE, Codec, Member, Members, Pairs
from .rewritten import Rewritten
from .validation import fits

if TYPE_CHECKING:
    from .rewriter import Rewriter

#: The member for properties with arbitrary names beside declared ones.
_OTHERS = "additional_properties"
#: The member that is added where the target requires one.
_PRESENT = "present"
_TEXT = {"type": "string"}


def rewrite(
    rewriter: Rewriter, node: dict[str, Any], written: dict[str, Any], pointer: str, *, root: bool
) -> Codec | Rewritten:
    """Add the keywords of objects to ``written`` and return the codec, or return another schema instead."""
    node = _without_patterns(rewriter, node, pointer)
    rest = node.get("additionalProperties")
    declares = root or "properties" in node or ("additionalProperties" not in node and "type" not in node)
    closes = rewriter.has("closed") or (
        rewriter.has("closed-by-default") and not rewriter.rules.accepts("additionalProperties", True, root=root)
    )
    needs_properties = rewriter.has("object-properties") and not root and not properties_of(node)
    if rest is not False and ((closes and not declares) or needs_properties):
        return _arbitrary(rewriter, node, pointer)
    if needs_properties:
        return rewriter.json_text(node, pointer)
    if root and rewriter.has("root-properties") and "properties" not in node:
        rewriter.report("empty-properties", pointer, "")
        node = {**node, "properties": {}}
    members = _members(rewriter, node, written, pointer)
    rest_codec, pairs = _rest(rewriter, node, written, pointer, closes=closes, root=root)
    added = _required(rewriter, node, members, written, pointer, root=root)
    if pairs:
        written["required"] = [*written.get("required", ()), pairs]
    plain = all(
        member.name == name and member.codec is SAME and not member.optional for name, member in members.items()
    )
    if plain and rest_codec is SAME and not pairs and not added:
        return SAME
    return Members(members, rest_codec, pairs, added)


def _without_patterns(rewriter: Rewriter, node: dict[str, Any], pointer: str) -> dict[str, Any]:
    """Return an object schema whose patternProperties, if they are not accepted, are additionalProperties."""
    patterns = node.get("patternProperties")
    if not isinstance(patterns, dict) or rewriter.rules.accepts("patternProperties", patterns):
        return node
    rest: Any = True
    if node.get("additionalProperties") is False and patterns:
        schemas = list(patterns.values())
        rest = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    rewriter.report("constraint", f"{pointer}/patternProperties", ", ".join(patterns))
    return {**{key: value for key, value in node.items() if key != "patternProperties"}, "additionalProperties": rest}


def _arbitrary(rewriter: Rewriter, node: dict[str, Any], pointer: str) -> Rewritten:
    """Return the schema of an object without declared properties, where the target needs them."""
    rest = node.get("additionalProperties")
    if not isinstance(rest, dict) or not rest or node.get("type") != "object" or required_of(node):
        return rewriter.json_text(node, pointer)
    schema, codec = _pairs(rewriter, rest, pointer)
    if isinstance(node.get("description"), str):
        schema["description"] = node["description"]
    lost = node.keys() - {"type", "additionalProperties", "description", "title", "properties"}
    for keyword in sorted(lost):
        rewriter.report("constraint", f"{pointer}/{keyword}", keyword)
    return Rewritten(schema, Pairs(codec))


def _pairs(rewriter: Rewriter, rest: dict[str, Any], pointer: str) -> tuple[dict[str, Any], Codec]:
    """Return the schema of a list of names and values, and the codec of the values."""
    rewriter.report("pairs", pointer, "")
    value = rewriter.schema(rest, f"{pointer}/additionalProperties")
    entry: dict[str, Any] = {"type": "object", "properties": {NAME: dict(_TEXT), VALUE: value.schema}}
    entry["required"] = [NAME, VALUE]
    if rewriter.rules.accepts("additionalProperties", False):
        entry["additionalProperties"] = False
    return {"type": "array", "items": entry}, value.codec


def _members(rewriter: Rewriter, node: dict[str, Any], written: dict[str, Any], pointer: str) -> dict[str, Member]:
    properties = dict(properties_of(node))
    if rewriter.has("required-defined"):
        for name in required_of(node):
            if name not in properties:
                rest = node.get("additionalProperties", True)
                rewriter.report("declared", pointer, name)
                properties[name] = rest if isinstance(rest, dict) else {} if rest else {"not": {}}
    members: dict[str, Member] = {}
    schemas: dict[str, Any] = {}
    required = set(required_of(node))
    for name, inner in properties.items():
        at = f"{pointer}/properties/{escaped(name)}"
        wire_name = _wire_name(rewriter, name, properties, at)
        schema, codec = rewriter.schema(inner, at)
        optional = rewriter.has("all-required") and name not in required
        if optional:
            rewriter.report("nullable", at, name)
            if codec.to_wire(None) is None and fits(rewriter.complete(inner), None):
                rewriter.report("absent-or-null", at, name)
            schema = nullable(schema)
        members[name] = Member(wire_name, codec, optional)
        schemas[wire_name] = schema
    if schemas or "properties" in node:
        written["properties"] = schemas
    return members


def _wire_name(rewriter: Rewriter, name: str, taken: dict[str, Any], pointer: str) -> str:
    pattern = rewriter.rules.property_names
    if not pattern or re.fullmatch(pattern, name):
        return name
    rewriter.report("property-name", pointer, name)
    readable = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:50]
    alias = f"{readable}_{digest(name, 8)}"
    return alias if alias not in taken else f"{readable}_{digest(name, 12)}"


def _rest(
    rewriter: Rewriter, node: dict[str, Any], written: dict[str, Any], pointer: str, *, closes: bool, root: bool
) -> tuple[Codec, str]:
    """Add additionalProperties. Return the codec of properties with arbitrary names, and the member that holds them."""
    rest, accepts = node.get("additionalProperties"), rewriter.rules.accepts
    at = f"{pointer}/additionalProperties"
    if rest is False or (closes and rest is None):
        if rest is None:
            rewriter.report("closed", pointer, "")
        if accepts("additionalProperties", False, root=root):
            written["additionalProperties"] = False
        else:
            rewriter.report("opened", at, "")
    elif closes:
        schema, codec = _pairs(rewriter, rest if isinstance(rest, dict) else {}, pointer)
        properties = written.setdefault("properties", {})
        name = _OTHERS
        while name in properties:
            name += "_"
        properties[name] = schema
        if accepts("additionalProperties", False, root=root):
            written["additionalProperties"] = False
        return codec, name
    elif rewriter.has("closed-by-default") and rest is None:
        if root or properties_of(node):
            rewriter.report("closed", pointer, "")
        else:
            written["additionalProperties"] = True
    elif isinstance(rest, dict) and accepts("additionalProperties", rest, root=root):
        schema, codec = rewriter.schema(rest, at)
        written["additionalProperties"] = schema
        return codec, ""
    elif isinstance(rest, dict) and rest:
        rewriter.report("constraint", at, "additionalProperties")
    elif rest is not None and accepts("additionalProperties", True, root=root):
        written["additionalProperties"] = True
    return SAME, ""


def _required(
    rewriter: Rewriter,
    node: dict[str, Any],
    members: dict[str, Member],
    written: dict[str, Any],
    pointer: str,
    *,
    root: bool,
) -> dict[str, Any]:
    """Add the names of the required members, and a member if the target requires one. Return the added members."""
    names = list(dict.fromkeys(required_of(node)))
    if rewriter.has("all-required"):
        names = list(members)
    required = [members[name].name if name in members else name for name in names]
    if required and not rewriter.rules.accepts("required", required, root=root):
        rewriter.report("constraint", f"{pointer}/required", "required")
        written.setdefault("notes", []).append(f"required: {', '.join(required)}")
        return {}
    added: dict[str, Any] = {}
    if rewriter.has("some-required") and written.get("properties") and not required:
        name = _PRESENT
        while any(declared.startswith(name) for declared in written["properties"]):
            name += "_"
        rewriter.report("added-member", pointer, name)
        written["properties"][name] = {"type": "string", "enum": ["yes"], "description": "Always yes."}
        required, added = [name], {name: "yes"}
    declared = "required" in node or (rewriter.has("all-required") and "properties" in written)
    if required or (declared and rewriter.rules.accepts("required", required, root=root)):
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
