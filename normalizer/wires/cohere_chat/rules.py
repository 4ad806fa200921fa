"""Request rules of Cohere's Chat API.

They concern requests of version 2; one of version 1, which has a ``message`` instead of ``messages``, breaks none.
Sources: the API reference (https://docs.cohere.com/reference/chat), the SDK's types, and refusals that users reported.
"""

from __future__ import annotations

from typing import Any

from ...conversation import ToolDefinition
from .. import common_rules
from ..common_rules import Places, calls_of, message_rounds, messages_of, roles_of
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
#: The known types. An unknown one of the assistant came from the provider.
_KINDS = frozenset(kind for kinds in _CONTENTS.values() for kind in kinds)
_FUNCTION = frozenset(("name", "description", "parameters"))


def _tools(body: Any) -> list[tuple[str, dict[str, Any]]]:
    return [] if isinstance(body, dict) and is_v1(body) else list(objects(body, "tools"))


def _of_version_2(body: Any, *names: str) -> Places:
    return [] if isinstance(body, dict) and is_v1(body) else [(name, member(body, name)) for name in names]


messages_present = common_rules.messages_present(lambda body: _of_version_2(body, "messages"), _REFERENCE)
model_present = common_rules.model_present(
    lambda body: _of_version_2(body, "model"), f"{_ERRORS}: a model parameter is required for this endpoint"
)
message_object = common_rules.message_object(messages_of, _TYPES)
role_known = common_rules.role_known(roles_of, _TYPES, known=_CONTENTS)
call_answered = common_rules.call_answered(message_rounds, f"{_GUIDE}; HIST-06")
result_asked_for = common_rules.result_asked_for(message_rounds, f"{_REFERENCE}: tool_call_id; HIST-07")
#: A name does not begin with a digit. `tool-form` reports one that is not a text.
name_format = common_rules.name_format(
    lambda body: (
        (f"{path}.function.name", name)
        for path, tool in _tools(body)
        if isinstance(name := member(tool.get("function"), "name"), str)
    ),
    f"{_ERRORS}: tool names can only contain certain characters (A-Za-z0-9_)",
    pattern="[a-zA-Z_][a-zA-Z0-9_]*",
)


@rule("content-present", f"{_TYPES}; {_ERRORS}: message must not be empty in a turn")
def _content_present(body: Any) -> Violations:
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


@rule("part-type", _TYPES)
def _part_type(body: Any) -> Violations:
    """The content of a message has only types that its role may have."""
    for path, message in objects(body, "messages"):
        role = message.get("role")
        accepted = _CONTENTS.get(role, ()) if isinstance(role, str) else ()
        for number, part in enumerate(items(message, "content") if accepted else ()):
            kind = member(part, "type")
            from_provider = role == "assistant" and isinstance(kind, str) and kind not in _KINDS
            if kind not in accepted and not from_provider:
                yield f"{path}.content[{number}].type", f"must be one of {', '.join(accepted)}"


@rule("call-form", _TYPES)
def _call_form(body: Any) -> Violations:
    """A call has an id, and a function with a name and its arguments as text."""
    for message_path, message in objects(body, "messages"):
        for path, call in calls_of(message, message_path):
            function = call.get("function")
            if not isinstance(call.get("id"), str):
                yield f"{path}.id", "must be a text"
            if not isinstance(member(function, "name"), str):
                yield f"{path}.function.name", "must be a text"
            if not isinstance(member(function, "arguments"), str):
                yield f"{path}.function.arguments", "must be a text"


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


@rule("tool-choice", _REFERENCE)
def _tool_choice(body: Any) -> Violations:
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


RULES = rules_in(globals())
