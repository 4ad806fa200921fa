"""Made-up answers to requests that nothing recorded or scripted answers: a call if tools are offered, else a text.

A request that ends with the user's message gets a call of each tool that its tool choice names, else of its first one,
with arguments that are valid against the tool's schema, if it is a usual one. Others get a text, which is JSON if they
require JSON.
"""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Request, User
from toolparity.normalizer.wires.parameters import Number, parameters, schema_of

from ..scripts import OfferedTool, Part, Round, Say, Script, ScriptedCall, Think
from .script_player import first_ask

_TEXT = "This answer is made up."
_DEEPEST = 8
#: The most values and characters of a sample: schemas can require more than there is memory for.
_LARGEST = 10_000
#: Format -> a text that has it.
_FORMATS = {"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "uuid": "123e4567-e89b-42d3-a456-426614174000"}


def improvised(request: Request) -> Script:
    """Return a script that answers a request, at whichever round the conversation is."""
    choice, parts = request.tool_choice, list[Part]((Think(_TEXT),))
    if request.messages and isinstance(request.messages[-1], User):
        tools = [tool for tool in request.tools if tool.kind in ("function", "custom")]
        listed = choice is not None and choice.mode in ("named", "raw")  # the player leaves out the others
        for tool in [] if choice is not None and choice.mode == "none" else tools if listed else tools[:1]:
            value = _TEXT if tool.kind == "custom" else _json(tool.parameters)
            parts.append(ScriptedCall(tool.name, arguments_text=value))
    if len(parts) == 1:
        formats = [one.value for one in parameters(request) if one.name == "format" and isinstance(one.value, dict)]
        required = [format for format in formats if format.get("type") != "text"]
        parts.append(Say(_json(schema_of(required[0])) if required else _TEXT))
    offered = [OfferedTool(tool.name, "", kind="custom") for tool in request.tools if tool.kind == "custom"]
    rounds = [Round(parts, first_ask(request)), *[Round(parts)] * len(request.messages)]
    return Script("improvised", "A made-up answer", rounds, offered)


def _json(schema: Any) -> str:
    value = _sample(schema, schema, [_LARGEST])
    return json_codec.text({} if value is None else value)


def _sample(schema: Any, root: Any, left: list[int], depth: int = 0) -> Any:
    """Return a small value that is valid against a usual JSON schema: one without patterns and combined schemas.

    ``root``: the schema that holds definitions. ``left``: how much larger the sample may become.
    """
    left[0] -= 1
    if not isinstance(schema, dict) or depth > _DEEPEST or left[0] < 0:
        return None
    if isinstance(reference := schema.get("$ref"), str):
        target = root
        for name in filter(None, reference.removeprefix("#").split("/")):
            target = target.get(name) if isinstance(target, dict) else None
        return _sample(target, root, left, depth + 1)
    if given := [*(schema[name] for name in ("const", "default") if name in schema), *_given(schema, "enum", list, [])]:
        return given[0]
    if options := [one for name in ("anyOf", "oneOf", "allOf") for one in _given(schema, name, list, [])]:
        return _sample(options[0], root, left, depth + 1)
    match str([*_given(schema, "type", list, []), schema.get("type", "object")][0]).lower():
        case "object":
            known, names = _given(schema, "properties", dict, {}), map(str, _given(schema, "required", list, []))
            return {name: _sample(known.get(name), root, left, depth + 1) for name in names}
        case "array":
            numbers = range(int(min(_given(schema, "minItems", Number, 0), left[0])))
            return [_sample(schema.get("items"), root, left, depth + 1) for _ in numbers if left[0] > 0]
        case "integer" | "number":
            least = _given(schema, "minimum", Number, _given(schema, "exclusiveMinimum", Number, 0) + 1)
            return min(least, _given(schema, "maximum", Number, least))
        case "string":
            least = int(min(_given(schema, "minLength", Number, 0), left[0]))
            left[0] -= least
            text = _FORMATS.get(str(schema.get("format")), "made up").ljust(least, ".")
            return text[: int(max(0, min(_given(schema, "maxLength", Number, len(text)), len(text))))]
        case kind:
            return True if kind == "boolean" else None


def _given(schema: dict[str, Any], name: str, kind: Any, default: Any) -> Any:
    """Return a member of a schema, or the default if it has another type."""
    value = schema.get(name)
    return value if isinstance(value, kind) and not isinstance(value, bool) else default
