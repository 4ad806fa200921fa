"""Request rules of Cohere's Chat API.

They concern requests of version 2; one of version 1, which has a ``message`` instead of ``messages``, breaks none.
Sources: the API reference (https://docs.cohere.com/reference/chat), the SDK's types, and refusals that users reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...conversation import ToolDefinition
from ..rule import Violations, rule, rules_in
from ..tool_rules import refused_tools
from ..traverse import items, member, objects, text
from .read_v1 import is_v1
from .request_params import MEMBERS, PARAMETERS

_REFERENCE = "API reference: https://docs.cohere.com/reference/chat"
_GUIDE = "guide: https://docs.cohere.com/docs/tool-use-usage-patterns"
_TYPES = "cohere.types.ChatMessageV2"
_ERRORS = "list of errors: https://docs.cohere.com/reference/errors"
#: The refusal "unknown field: parameter … is not a valid field", with status 422.
_UNKNOWN = "refusal: https://github.com/agno-agi/agno/issues/3503"
#: The types of content of each role.
_CONTENTS = {
    "system": ("text",),
    "user": ("text", "image_url"),
    "assistant": ("text", "thinking"),
    "tool": ("text", "document"),
}
_FUNCTION = frozenset(("name", "description", "parameters"))
_NAME = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")


class _Round(NamedTuple):
    """An assistant message with calls, and the tool messages directly after it.

    ``path``: the path of the message, or "" for results that follow no calls. ``ids``: the ids of its calls.
    ``results``: path and call id of each tool message. An id, of any type, is represented by its `repr`.
    """

    path: str
    ids: list[str]
    results: list[tuple[str, str]]


def _rounds(body: Any) -> Iterator[_Round]:
    current = _Round("", [], [])
    for path, message in objects(body, "messages"):
        if message.get("role") == "tool":
            current.results.append((path, repr(message.get("tool_call_id"))))
            continue
        yield current
        asked = [repr(call.get("id")) for _, call in _calls(message)]
        current = _Round(path if asked else "", asked, [])
    yield current


def _calls(message: dict[str, Any], path: str = "") -> list[tuple[str, dict[str, Any]]]:
    return list(objects(message, "tool_calls", path)) if message.get("role") == "assistant" else []


@rule("messages-empty", _REFERENCE)
def _messages_empty(body: Any) -> Violations:
    """A request contains at least one message."""
    if not items(body, "messages") and not (isinstance(body, dict) and is_v1(body)):
        yield "messages", "at least one message is required"


@rule("model-missing", f"{_ERRORS}: a model parameter is required for this endpoint")
def _model_missing(body: Any) -> Violations:
    """A request names a model."""
    if isinstance(body, dict) and not is_v1(body) and not isinstance(body.get("model"), str):
        yield "model", "must be a text"


@rule("message-object", _TYPES)
def _message_object(body: Any) -> Violations:
    """A message is an object."""
    for number, message in enumerate(items(body, "messages")):
        if not isinstance(message, dict):
            yield f"messages[{number}]", "must be an object"


@rule("role-unknown", _TYPES)
def _role_unknown(body: Any) -> Violations:
    """A message's role is one of the documented ones."""
    for path, message in objects(body, "messages"):
        if not isinstance(role := message.get("role"), str) or role not in _CONTENTS:
            yield f"{path}.role", f"unknown role: {role!r}"


@rule("content-missing", f"{_TYPES}; {_ERRORS}: message must not be empty in a turn")
def _content_missing(body: Any) -> Violations:
    """A message has content; that of the assistant has content or calls, and that of a tool may be an empty text."""
    for path, message in objects(body, "messages"):
        content = message.get("content")
        if message.get("role") == "assistant":
            if not (content or items(message, "tool_calls")):
                yield path, "must have content or calls"
        elif not isinstance(content, (str, list)):
            yield f"{path}.content", "must be a text or a list"
        elif not content and message.get("role") in ("system", "user"):
            yield f"{path}.content", "must not be empty"


@rule("content-type", _TYPES)
def _content_type(body: Any) -> Violations:
    """The content of a message has only types that its role may have."""
    for path, message in objects(body, "messages"):
        role = message.get("role")
        accepted = _CONTENTS.get(role, ()) if isinstance(role, str) else ()
        for number, part in enumerate(items(message, "content") if accepted else ()):
            if member(part, "type") not in accepted:
                yield f"{path}.content[{number}].type", f"must be one of {', '.join(accepted)}"


@rule("call-form", _TYPES)
def _call_form(body: Any) -> Violations:
    """A call has an id, and a function with a name and its arguments as text."""
    for message_path, message in objects(body, "messages"):
        for path, call in _calls(message, message_path):
            function = call.get("function")
            if not isinstance(call.get("id"), str):
                yield f"{path}.id", "must be a text"
            if not isinstance(member(function, "name"), str):
                yield f"{path}.function.name", "must be a text"
            if not isinstance(member(function, "arguments"), str):
                yield f"{path}.function.arguments", "must be a text"


@rule("call-unanswered", f"{_GUIDE}; HIST-06")
def _call_unanswered(body: Any) -> Violations:
    """One tool message for each call directly follows an assistant message with calls."""
    for path, ids, results in _rounds(body):
        answered = {id for _, id in results}
        for number, id in enumerate(ids):
            if id not in answered:
                yield f"{path}.tool_calls[{number}]", f"no tool message with id {id} directly follows the call"


@rule("result-orphan", f"{_REFERENCE}: tool_call_id; HIST-07")
def _result_orphan(body: Any) -> Violations:
    """A tool message refers to a call of the assistant message directly before it."""
    for asked, ids, results in _rounds(body):
        known = set(ids)
        for path, id in results:
            if not asked:
                yield path, "a tool message that follows no assistant message with calls"
            elif id not in known:
                yield f"{path}.tool_call_id", f"the preceding assistant message has no call {id}"


@rule("tool-form", "cohere.types.ToolV2")
def _tool_form(body: Any) -> Violations:
    """A tool is a function with a name and parameters."""
    for path, tool in _tools(body):
        function = tool.get("function")
        if tool.get("type") != "function" or not isinstance(function, dict):
            yield path, "must be a function"
            continue
        if not isinstance(function.get("name"), str):
            yield f"{path}.function.name", "must be a text"
        if not isinstance(function.get("parameters"), dict):
            yield f"{path}.function.parameters", "must be a JSON schema"


@rule("tool-schema", "normalizer.schemas.rules.cohere")
def tool_schema(body: Any) -> Violations:
    """The schema of a function follows the rules for tools."""
    strict = member(body, "strict_tools") is True
    declared: list[tuple[str, ToolDefinition]] = []
    for path, tool in _tools(body):
        schema = member(tool.get("function"), "parameters")
        if isinstance(schema, dict):
            name = text(member(tool["function"], "name"))
            declared.append((f"{path}.function", ToolDefinition(name, parameters=schema, strict=strict)))
    yield from refused_tools(declared, "cohere.chat")


@rule("tool-name", f"{_ERRORS}: tool names can only contain certain characters (A-Za-z0-9_)")
def _tool_name(body: Any) -> Violations:
    """The name of a tool consists of letters, digits and underscores, and does not begin with a digit."""
    for path, tool in _tools(body):
        name = member(tool.get("function"), "name")
        if isinstance(name, str) and not _NAME.fullmatch(name):
            yield f"{path}.function.name", f"must match {_NAME.pattern}: {name!r}"


@rule("field-unknown", _UNKNOWN, status=422)
def _field_unknown(body: Any) -> Violations:
    """The body and the functions of its tools have only documented members."""
    if not isinstance(body, dict) or is_v1(body):
        return
    for name in body:
        if name not in MEMBERS:
            yield str(name), "is not a valid field"
    for path, tool in _tools(body):
        function = tool.get("function")
        for name in function if isinstance(function, dict) else ():
            if name not in _FUNCTION:
                yield f"{path}.function.{name}", "is not a valid field"


@rule("choice-word", _REFERENCE)
def _choice_word(body: Any) -> Violations:
    """The tool choice is REQUIRED or NONE, and REQUIRED needs tools."""
    choice = member(body, "tool_choice")
    if choice is not None and choice not in ("REQUIRED", "NONE"):
        yield "tool_choice", f"must be REQUIRED or NONE: {choice!r}"
    if choice == "REQUIRED" and not items(body, "tools"):
        yield "tool_choice", "REQUIRED needs tools"


@rule("format-beside-tools", f"{_REFERENCE}: response_format")
def _format_beside_tools(body: Any) -> Violations:
    """A JSON response format is not supported in combination with documents or tools."""
    if member(member(body, "response_format"), "type") == "json_object":
        for name in ("documents", "tools"):
            if items(body, name):
                yield "response_format", f"is not supported in combination with {name}"


@rule("param-range", f"{_REFERENCE}; {_ERRORS}")
def _param_range(body: Any) -> Violations:
    """Parameters are in their documented ranges."""
    for known in PARAMETERS.values():
        value, least, most = member(body, known.path), known.least, known.most
        if known.longest is not None and len(items(body, known.path)) > known.longest:
            yield known.path, f"at most {known.longest} are allowed"
        if least is None or most is None or not isinstance(value, (int, float)):
            continue
        if not least <= value <= most:
            yield known.path, f"must be from {least} to {most}: {value}"


def _tools(body: Any) -> list[tuple[str, dict[str, Any]]]:
    return [] if isinstance(body, dict) and is_v1(body) else list(objects(body, "tools"))


RULES = rules_in(globals())
