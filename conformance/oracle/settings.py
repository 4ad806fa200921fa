"""Independent readings of what a request states beside its conversation: instructions, tools and settings."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from toolparity.cassettes.stated import LACKING_CHOICES, OWNED, PLACES, stated_by, without
from toolparity.normalizer import json_codec

from ..subjects import SubjectExchange
from . import Json, facts, message_texts
from .history import conversation, role_of, texts_of
from .same import Same

#: Settings of the connection and of what a response may omit: they may differ from request to request.
TRANSPORT = frozenset(("stream", "stream_options"))


class Tool(NamedTuple):
    """A tool that a request declares. ``kind``: its type on the wire, or "". ``schema``: None for a custom tool."""

    name: str
    kind: str
    description: str
    schema: Any
    strict: bool


def instructions(body: Json) -> str:
    """Return the text of the system prompt, wherever the wire has it."""
    _, items = conversation(body)
    texts = [text for name in ("instructions", "system", "system_instruction") for text in texts_of(body.get(name))]
    texts += texts_of((body.get("systemInstruction") or {}).get("parts"))
    return "".join([*texts, *(text for role in ("system", "developer") for text in message_texts(items, role))])


def tools(body: Json, wire: str) -> list[Tool]:
    """Return the client's tools. Tools of the provider have no description and no schema."""
    found = []
    for tool in declared_tools(body):
        inner = tool.get("function") or tool.get("custom") or tool.get("toolSpec") or tool
        schema = next((inner[name] for name in _SCHEMAS if name in inner), (inner.get("inputSchema") or {}).get("json"))
        if isinstance(schema, str):
            schema = json_codec.decode(schema)
        if schema is not None or "custom" in tool or tool.get("type") == "custom":
            default = facts(wire).strict_by_default and "parameters" in inner  # cohere.chat has it for all tools
            strict = inner.get("strict", body.get("strict_tools", default))
            kind = str(tool.get("type", ""))
            found.append(Tool(str(inner.get("name")), kind, inner.get("description") or "", schema, bool(strict)))
    return found


#: The members of the wires for the schema of a tool.
_SCHEMAS = ("parameters", "input_schema", "parametersJsonSchema")


def declared_tools(body: Json) -> list[Json]:
    """Return the definitions of all tools, those of the provider included."""
    listed = body.get("tools") or (body.get("toolConfig") or {}).get("tools") or []
    return [inner for tool in listed for inner in tool.get("functionDeclarations", [tool])]


def settings(body: Json, wire: str) -> Json:
    """Return the settings and media that a request states, by the names of `stated.PLACES`, and four others.

    ``tool choice``: "auto", "none", "required" or the name of a tool. ``parallel calls``, ``choices``, ``length``.
    """
    holders, choice = _holders(body), stated_choice(body)
    found: Json = {
        **stated_by(body, wire),
        "parallel calls": body.get("parallel_tool_calls"),
        "tool choice": _tool_choice(choice),
    }
    if isinstance(choice, dict) and "disable_parallel_tool_use" in choice:
        found["parallel calls"] = not choice["disable_parallel_tool_use"]
    found["length"] = next((each[name] for each in holders for name in _LENGTHS if each.get(name) is not None), None)
    if isinstance(found.get("stop"), str):
        found["stop"] = [found["stop"]]
    if isinstance(older := body.get("output_format"), dict):  # Anthropic's form before output_config
        found.setdefault("format", older.get("schema"))
    if facts(wire).several_choices:
        found["choices"] = body.get("n", 1)
    return {name: value for name, value in found.items() if value is not None}


def asked_settings(exchange: SubjectExchange) -> Json:
    """Return the settings of the request of an exchange, which must not be changed."""
    return _asked(Same(exchange, exchange.request))


@lru_cache(maxsize=64)  # the requests of one scenario
def _asked(key: Same) -> Json:
    return settings(key.value.request, key.value.wire)


def stated_choice(body: Json) -> Any:
    """Return the tool choice of a request as its wire has it, or None."""
    names = ("tool_choice", "toolChoice", "functionCallingConfig")
    return next((each[name] for each in _holders(body) for name in names if name in each), None)


def _holders(body: Json) -> list[Json]:
    return [body, *(body[name] for name in _HOLDERS if isinstance(body.get(name), dict))]


#: The members of the wires for the limit of output tokens, and the objects that contain them or the tool choice.
_LENGTHS = ("max_completion_tokens", "max_output_tokens", "max_tokens", "maxTokens", "maxOutputTokens", "num_predict")
_HOLDERS = ("generation_config", "generationConfig", "inferenceConfig", "options", "toolConfig")
#: The words of the wires for a tool choice.
_CHOICES = {
    "any": "required",
    "ANY": "required",
    "AUTO": "auto",
    "REQUIRED": "required",
    "NONE": "none",
    "TOOL_MODE_AUTO": "auto",
    "TOOL_MODE_NONE": "none",
    "TOOL_MODE_REQUIRED": "required",
}


#: The members that every wire has, in its own form.
STRUCTURE = frozenset(("model", "messages", "input", "system", "instructions", "tools", "tool_choice"))
STRUCTURE |= {"parallel_tool_calls", "strict_tools", "modelId", "toolConfig", "system_instruction"}
STRUCTURE |= {"contents", "systemInstruction"}


def added_settings(exchange: SubjectExchange, body: Json, wire: str) -> list[str]:
    """Return the settings of a request for another wire that are not in the conversation, and members of messages.

    A setting is known by its value. A wire may require a limit, and one choice is the default.
    """
    request, asked = exchange.request, asked_settings(exchange)
    stated = [*_values_of(request), *asked.values()]
    added = [
        name
        for name, value in without(body, wire, asked).items()
        if name not in STRUCTURE | TRANSPORT and not (name == "max_tokens" and facts(wire).required == "limit")
        if (name, value) != ("n", 1) and any(each not in stated for each in _leaves(value))
    ]
    if asked["tool choice"] == "auto" and request.get("tool_choice") is None and "parallel calls" not in asked:
        added += [name for name in ("tool_choice", "parallel_tool_calls") if body.get(name) is not None]
    users = [item for item in conversation(body)[1] if role_of(item) == "user"]
    known = {"role", "content", "parts", "type", *(["images"] if "image" in asked else [])}
    return added + [name for item in users for name in item.keys() - known]


def _values_of(value: Any) -> list[Any]:
    members = list(value.values()) if isinstance(value, dict) else []
    return members + [each for member in members for each in _values_of(member)]


def _leaves(value: Any) -> list[Any]:
    if not isinstance(value, dict):
        return [value]
    return [member for name, member in value.items() if name != "tool_choice"]


def must_state(name: str, value: Any, stated: Json, wire: str, *, same_owner: bool) -> bool:
    """Return whether a request for a wire must have a setting of `settings` with this value.

    ``stated``: the settings that it has. ``same_owner``: whether its provider is the one of the earlier request.
    """
    comparable = {
        "choices": facts(wire).several_choices,
        "parallel calls": facts(wire).parallel,
        "tool choice": has_choice(value, wire),
        "length": True,
    }
    if name in OWNED and not same_owner:
        return name in stated and name != "cache"
    return comparable.get(name, name in PLACES.get(wire, {}))


def has_choice(choice: str, wire: str) -> bool:
    """Return whether a wire has a tool choice of `settings`."""
    lacking = LACKING_CHOICES.get(wire, frozenset())
    return choice == "auto" or (choice if choice in ("none", "required") else "named") not in lacking


def _tool_choice(choice: Any) -> str:
    """Return the common word; the default of every wire is "auto"."""
    if isinstance(choice, dict) and len(choice) == 1 and isinstance(inner := next(iter(choice.values())), dict):
        # Converse: {"tool": {"name"}}, {"auto": {}}; Interactions: {"allowed_tools": {"mode", "tools"}}
        choice = inner.get("name") or next(iter(inner.get("tools") or choice))
    if isinstance(choice, dict):
        function = choice.get("function") or choice.get("custom") or {}
        allowed = choice.get("allowedFunctionNames") or [None]
        named = choice.get("name") or choice.get("function_name") or function.get("name") or allowed[0]
        choice = named or choice.get("mode", choice.get("type"))
    return _CHOICES.get(choice, str(choice)) if choice else "auto"
