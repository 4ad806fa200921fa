"""Made-up answers to requests that nothing recorded or scripted answers: a call if tools are offered, else a text.

A request that ends with the user's message gets a call of each tool that its tool choice names, else of its first one,
with arguments that are valid against the tool's schema. Others get a text, which is JSON if they have a schema for it.
"""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Request, User

from ..scripts import OfferedTool, Part, Round, Say, Script, ScriptedCall, Think
from ..stated import stated_by
from .script_player import first_ask

_TEXT = "This answer is made up."
_DEEPEST = 8


def improvised(request: Request, body: Any) -> Script:
    """Return a script that answers a request, at whichever round the conversation is."""
    choice, parts = request.tool_choice, list[Part]((Think(_TEXT),))
    if request.messages and isinstance(request.messages[-1], User):
        tools = [tool for tool in request.tools if tool.kind in ("function", "custom")]
        listed = choice is not None and choice.mode in ("named", "raw")  # the player leaves out the others
        for tool in [] if choice is not None and choice.mode == "none" else tools if listed else tools[:1]:
            value = _TEXT if tool.kind == "custom" else json_codec.text(sample(tool.parameters, tool.parameters) or {})
            parts.append(ScriptedCall(tool.name, arguments_text=value))
    if len(parts) == 1:
        schema = stated_by(body, request.wire).get("format")
        parts.append(Say(json_codec.text(sample(schema, schema)) if schema else _TEXT))
    offered = [OfferedTool(tool.name, "", kind="custom") for tool in request.tools if tool.kind == "custom"]
    rounds = [Round(parts, first_ask(request)), *[Round(parts)] * len(request.messages)]
    return Script("improvised", "A made-up answer", rounds, offered)


def sample(schema: Any, root: Any, depth: int = 0) -> Any:
    """Return a small value that is valid against a usual JSON schema. ``root``: the schema that holds definitions."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return None
    if isinstance(reference := schema.get("$ref"), str):
        target = root
        for name in filter(None, reference.removeprefix("#").split("/")):
            target = target.get(name) if isinstance(target, dict) else None
        return sample(target, root, depth + 1)
    given = [schema[name] for name in ("const", "default") if name in schema]
    if given or schema.get("enum"):
        return [*given, *schema.get("enum", ())][0]
    if options := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return sample(options[0], root, depth + 1)
    kind = schema.get("type", "object")
    kind = str(kind[0] if isinstance(kind, list) and kind else kind).lower()
    if kind == "object":
        members = schema.get("properties") or {}
        return {name: sample(members.get(name), root, depth + 1) for name in schema.get("required") or ()}
    if kind == "array":
        return [sample(schema.get("items"), root, depth + 1)] * schema.get("minItems", 0)
    if kind in ("integer", "number"):
        return schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
    return "made up".ljust(schema.get("minLength", 0), ".") if kind == "string" else True if kind == "boolean" else None
