"""The form of an answer, required by the provider's own means, such as `response_format` or `output_config.format`.

    format = output_format(schema, "anthropic.messages", model="claude-haiku-4-5")
    encoded = format.applied(write_request(request, "anthropic.messages"))
    text = format.restored(response.text)        # fits ``schema`` again

Where a wire has the member is in the table of its part ``request_params``, what the provider refuses is in its dialect
and in ``model_rules.toml``, and which schemas it accepts are its rules for strict tools (`schemas`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from . import json_codec
from .conversation import Encoded, Request, TextPart, ToolDefinition, User
from .errors import MissingExtra, UnknownWire
from .model import Wire
from .requests import read_request, write_request
from .schemas import Adapted, adapt_tools, rules_of
from .schemas.keywords import is_object, nodes, properties_of, types_of
from .schemas.references import Resolver, references
from .wires.parameters import differing, overlaid, parameters, schema_of
from .wires.registry import spec

#: The name of the schema, and of the member that holds an answer whose schema does not describe an object.
_NAME = "answer"
_TOOL = ToolDefinition("tool", parameters={"type": "object", "properties": {}})


class OutputFormat(Struct, frozen=True):
    """The members of a request's body that require a form of the answer. ``schema``: as the provider gets it.

    ``unseen``: the provider does not show the schema to the model, so that the instructions should contain it, too.
    """

    wire: Wire
    provider: str | None
    members: dict[str, Any]
    schema: dict[str, Any]
    unseen: bool
    adapted: Adapted
    wrapped: bool

    def applied(self, encoded: Encoded) -> Encoded:
        """Return the request with the members, which replace those that the body has."""
        if spec(self.wire).framing == "messages":
            part = write_request(Request(self.wire, None, [], params=self.members), self.wire, provider=self.provider)
            encoded.body.MergeFrom(part.body)
            return encoded
        return replace(encoded, body=overlaid(encoded.body, self.members))

    def restored(self, text: str) -> str:
        """Return the text of an answer as the original schema describes it; unchanged if it is not JSON."""
        try:
            value = json_codec.decode(text)
        except ValueError:
            return text
        _, original = self.adapted.restore(_NAME, value)
        if self.wrapped and isinstance(original, dict) and original.keys() == {_NAME}:
            original = original[_NAME]
        return text if original == value else json_codec.text(original)


def output_format(
    schema: dict[str, Any], wire: Wire, *, provider: str | None = None, model: str | None = None, tools: bool = False
) -> OutputFormat | None:
    """Return the format for answers that fit a schema; None if the provider cannot require them.

    ``tools``: whether the request declares tools, beside which some providers accept no format.
    """
    return _format(json_codec.text(schema), wire, provider, model, tools)


@lru_cache(maxsize=256)
def _format(text: str, wire: Wire, provider: str | None, model: str | None, tools: bool) -> OutputFormat | None:
    schema = json_codec.decode(text)
    try:
        wrapped = not _is_plain_object(schema)
        found = _adapted(_in_object(schema) if wrapped else schema, wire, provider)
        if found is not None and not wrapped and any(loss.code == "wrapped" for loss in found.losses):
            found, wrapped = _adapted(_in_object(schema), wire, provider), True
    except (UnknownWire, MissingExtra):  # no rules are known for the wire, or they cannot be applied
        return None
    if found is None:
        return None
    [tool] = found.tools
    named = {"name": _NAME, "schema": tool.parameters, "strict": bool(tool.strict)}
    members = _members({"type": "json_schema", "json_schema": named}, wire, provider, model, tools)
    if members is None or tool.parameters is None:
        return None
    return OutputFormat(wire, provider, members, tool.parameters, spec(wire).output.unseen, found, wrapped)


def _adapted(schema: dict[str, Any] | None, wire: Wire, provider: str | None) -> Adapted | None:
    """Return the schema as the provider accepts it.

    None if parts of the answer would be JSON text, or an object that may have any members would have none.
    """
    if schema is None:
        return None
    for strict in (True, False) if spec(wire).output.lenient else (True,):
        adapted = adapt_tools([ToolDefinition(_NAME, None, schema, strict)], wire, provider or "")
        enforced = not strict or adapted.tools[0].strict or rules_of(wire, provider or "").strict_scope == "never"
        codes = {loss.code for loss in adapted.losses}
        if enforced and "json-text" not in codes and not ("closed" in codes and _has_empty_object(adapted)):
            return adapted
    return None


def _has_empty_object(adapted: Adapted) -> bool:
    schemas = [node.schema for node in nodes(adapted.tools[0].parameters)]
    return any(is_object(each) and not properties_of(each) and not each.get("additionalProperties") for each in schemas)


def _is_plain_object(schema: dict[str, Any]) -> bool:
    """Return whether the schema accepts only objects: by its type, or by that of the schema that it refers to."""
    resolver, node, seen = Resolver(schema), schema, set[str]()
    while isinstance(node, dict) and isinstance(reference := node.get("$ref"), str) and reference not in seen:
        seen.add(reference)
        node = resolver.target(reference)
    return types_of(node) == ["object"]


def _in_object(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of an object whose only member has the schema; None if a reference would lead elsewhere."""
    definitions: dict[str, Any] = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
    if not all(reference.startswith(("#/$defs/", "#/definitions/")) for _, reference in references(schema)):
        return None
    inner = {name: value for name, value in schema.items() if name not in definitions}
    return {"type": "object", "properties": {_NAME: inner}, "required": [_NAME], **definitions}


def _members(
    format: dict[str, Any], wire: Wire, provider: str | None, model: str | None, tools: bool
) -> dict[str, Any] | None:
    """Return the members of a body with this format, in the form of Chat Completions. None if none has the schema."""

    def written(params: dict[str, Any]) -> Request:
        request = Request("", model, [User([TextPart("x")])], [_TOOL] if tools else [], params=params)
        return read_request(write_request(request, wire, provider=provider).body, wire, provider=provider)

    request = written({"format": format})
    required = [each for each in parameters(request) if each.name == "format" and schema_of(each.value) is not None]
    return differing(request.params, written({}).params) if required else None
