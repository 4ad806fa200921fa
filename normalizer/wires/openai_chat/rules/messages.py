"""Rules about the messages: calls, their results, and the content."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ... import common_rules
from ...common_rules import Places, calls_of, message_list, message_rounds, messages_of, roles_of
from ...rule import Violations, rule
from ...traverse import items, member, objects, text
from ...xai_tools import REFUSED
from ..dialects import USER_AFTER_TOOL

OPENAI = ("openai", "azure")
#: Providers known to check the pairing of calls and results as strictly as OpenAI.
_PAIRING = (*OPENAI, "deepseek", "mistral", "xai", "groq")
_REFERENCE = "OpenAI API reference"
_REFUSAL = "OpenAI's error message"
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_SHORT_ID = re.compile("[a-zA-Z0-9]{9}")
_MEMBERS = {
    "groq": {
        "assistant": {"role", "content", "tool_calls", "function_call", "name", "reasoning"},
        "tool": {"role", "content", "tool_call_id", "name"},
    },
    "mistral": {
        "assistant": {"role", "content", "tool_calls", "prefix"},
        "tool": {"role", "content", "tool_call_id", "name"},
    },
}


def all_calls(body: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield path and value of each call of the history."""
    for path, message in objects(body, "messages"):
        yield from calls_of(message, path)


def function_of(holder: Any) -> dict[str, Any]:
    """Return the `function` or `custom` object of a call or tool definition, or an empty one."""
    return next((value for kind in ("function", "custom") if isinstance(value := member(holder, kind), dict)), {})


def _ids(body: Any) -> Iterator[tuple[str, str]]:
    for path, message in objects(body, "messages"):
        holders = [(f"{call_path}.id", call.get("id")) for call_path, call in calls_of(message, path)]
        if message.get("role") == "tool":
            holders.append((f"{path}.tool_call_id", message.get("tool_call_id")))
        yield from ((call_path, id) for call_path, id in holders if isinstance(id, str))


def _ids_of_turns(body: Any) -> Iterator[Places]:
    for path, message in objects(body, "messages"):
        yield [(f"{place}.id", repr(call.get("id"))) for place, call in calls_of(message, path)]


def _names(body: Any) -> Iterator[tuple[str, Any]]:
    for path, call in all_calls(body):
        yield f"{path}.function.name", function_of(call).get("name")
    for path, tool in objects(body, "tools"):
        if function := function_of(tool):
            yield f"{path}.function.name", function.get("name")


messages_present = common_rules.messages_present(message_list, _REFERENCE)
message_object = common_rules.message_object(messages_of, _REFERENCE)
role_known = common_rules.role_known(roles_of, _REFERENCE, known=_ROLES)
call_answered = common_rules.call_answered(message_rounds, f"{_REFUSAL}; HIST-06", _PAIRING)
result_asked_for = common_rules.result_asked_for(message_rounds, f"{_REFUSAL}; HIST-07, HIST-30", _PAIRING)
answered_once = common_rules.answered_once(message_rounds, f"{_REFUSAL}; ID-08", _PAIRING)
id_unique = common_rules.id_unique(_ids_of_turns, "ID-09", _PAIRING)
name_format = common_rules.name_format(_names, f"{_REFERENCE}; NAME-04", pattern="[a-zA-Z0-9_-]{1,64}")
name_free = common_rules.name_free(_names, "XAI-08", ["xai"], reserved=REFUSED)


def _parts(body: Any) -> Iterator[tuple[str, Any]]:
    for path, message in objects(body, "messages"):
        for number, part in enumerate(items(message, "content")):
            yield f"{path}.content[{number}]", part


@rule("id-missing", _REFERENCE, _PAIRING)
def id_missing(body: Any) -> Violations:
    """Calls and their results contain the call's id."""
    for path, message in objects(body, "messages"):
        for call_path, call in calls_of(message, path):
            if not text(call.get("id")):
                yield f"{call_path}.id", "a call without an id"
        if message.get("role") == "tool" and not text(message.get("tool_call_id")):
            yield f"{path}.tool_call_id", "a result without the id of its call"


@rule("id-long", f"{_REFUSAL}; ID-13", OPENAI)
def id_long(body: Any) -> Violations:
    """An id has at most 40 characters."""
    for path, id in _ids(body):
        if len(id) > 40:
            yield path, f"{len(id)} characters, at most 40 are allowed"


@rule("id-short", "Mistral's error message; ID-13", ["mistral"], error_type="invalid_function_call")
def id_short(body: Any) -> Violations:
    """An id consists of exactly 9 letters and digits."""
    for path, id in _ids(body):
        if not _SHORT_ID.fullmatch(id):
            yield path, f"{id!r} does not consist of 9 letters and digits"


@rule("arguments-text", _REFERENCE, OPENAI)
def arguments_text(body: Any) -> Violations:
    """Arguments are JSON text."""
    for path, call in all_calls(body):
        function = call.get("function")
        if isinstance(function, dict) and not isinstance(function.get("arguments"), str):
            yield f"{path}.function.arguments", "must be a string"


@rule("calls-empty", _REFUSAL, OPENAI)
def calls_empty(body: Any) -> Violations:
    """A list of calls is not empty."""
    for path, message in objects(body, "messages"):
        if message.get("tool_calls") == []:
            yield f"{path}.tool_calls", "an empty list of calls"


@rule("content-present", _REFERENCE, OPENAI)
def content_present(body: Any) -> Violations:
    """A message has content, unless it is an assistant message with calls or a refusal."""
    for path, message in objects(body, "messages"):
        content = message.get("content")
        if message.get("role") == "assistant" and not content and not isinstance(content, str):
            if not any(message.get(name) for name in ("tool_calls", "function_call", "refusal", "audio")):
                yield f"{path}.content", "neither content nor calls"
        elif content == []:
            yield f"{path}.content", "an empty list of parts"
        elif not isinstance(content, (str, list)):
            yield f"{path}.content", "must be a string or a list of parts"


@rule(
    "content-text",
    "EMPTY-01 (requests without the member, and with an empty list, were recorded with status 200)",
    ["xai"],
)
def content_text(body: Any) -> Violations:
    """xAI accepts no null as the content next to calls; it may be '' or absent."""
    for path, message in objects(body, "messages"):
        if calls_of(message, path) and message.get("content", "") is None:
            yield f"{path}.content", "must not be null"


def _unknown_parts(body: Any, known: str) -> Violations:
    for path, part in _parts(body):
        kind = member(part, "type")
        if kind is None:
            yield path, "a part without a type"
        elif kind not in known.split():
            yield path, f"unknown part type: {kind!r}"


@rule("part-type", f"{_REFUSAL}s (missing required parameter: type; the supported values)", OPENAI)
def part_type(body: Any) -> Violations:
    """A content part has one of the documented types."""
    return _unknown_parts(body, "text image_url input_audio refusal audio file")


@rule("part-type-deepseek", "DeepSeek's error message (unknown variant, expected `text`)", ["deepseek"])
def part_type_deepseek(body: Any) -> Violations:
    """DeepSeek accepts only text parts."""
    return _unknown_parts(body, "text")


@rule("part-type-groq", "Groq's SDK", ["groq"])
def part_type_groq(body: Any) -> Violations:
    """A content part has one of the documented types."""
    return _unknown_parts(body, "text image_url document")


@rule("part-type-mistral", "Mistral's SDK and API description", ["mistral"], status=422)
def part_type_mistral(body: Any) -> Violations:
    """A content part has one of the documented types."""
    known = "text image_url input_audio document_url file reference thinking resource resource_link tool_reference"
    return _unknown_parts(body, known)


@rule("file-id", "Mistral's SDK", ["mistral"], status=422)
def file_id(body: Any) -> Violations:
    """Mistral accepts a file by its id, and file data only in a document_url."""
    for path, part in _parts(body):
        if member(part, "type") == "file" and not isinstance(part.get("file_id"), str):
            yield path, "a file without a file_id"


@rule("audio-format", _REFERENCE, OPENAI)
def audio_format(body: Any) -> Violations:
    """Audio is wav or mp3."""
    for path, part in _parts(body):
        audio = part.get("input_audio") if member(part, "type") == "input_audio" else None
        if isinstance(audio, dict) and audio.get("format") not in ("wav", "mp3"):
            yield f"{path}.input_audio.format", f"must be wav or mp3, got {audio.get('format')!r}"


@rule("result-text", f"{_REFERENCE}; RES-03", OPENAI)
def result_text(body: Any) -> Violations:
    """The parts of a tool message are text."""
    for path, message in objects(body, "messages"):
        for number, part in enumerate(items(message, "content") if message.get("role") == "tool" else ()):
            if member(part, "type") != "text":
                yield f"{path}.content[{number}]", "a part of a tool message that is not text"


@rule("result-members", "RES-02")
def result_members(body: Any) -> Violations:
    """A tool message has no error flag."""
    for path, message in objects(body, "messages"):
        for name in message if message.get("role") == "tool" else ():
            if name in ("is_error", "status", "error"):
                yield f"{path}.{name}", "a tool message has no such member"


@rule("function-name", _REFERENCE)
def function_name(body: Any) -> Violations:
    """A function message contains the function's name."""
    for path, message in objects(body, "messages"):
        if message.get("role") == "function" and not text(message.get("name")):
            yield f"{path}.name", "a function message without the function's name"


@rule("user-after-tool", "Mistral's error message; ORD-04 (some models were recorded to take it)", ["mistral"])
def user_after_tool(body: Any) -> Violations:
    """An assistant message separates a tool result from a user message."""
    if text(member(body, "model")).startswith(USER_AFTER_TOOL):
        return
    previous = None
    for path, message in objects(body, "messages"):
        role = message.get("role")
        if previous == "tool" and role in ("user", "system"):
            yield f"{path}.role", f"a {role} message directly after a tool message"
        previous = role


@rule("content-or-calls", "Mistral's error message", ["mistral"])
def content_or_calls(body: Any) -> Violations:
    """An assistant message has content or calls."""
    for path, message in objects(body, "messages"):
        if message.get("role") == "assistant" and not message.get("content") and not calls_of(message, path):
            yield path, "neither content nor calls"


@rule("assistant-last", "Mistral's error message", ["mistral"])
def assistant_last(body: Any) -> Violations:
    """The last message is a user or tool message, or an assistant prefix."""
    for path, message in list(objects(body, "messages"))[-1:]:
        if message.get("role") == "assistant" and not message.get("prefix") and not calls_of(message, path):
            yield f"{path}.role", "the last message is the assistant's"


def _undocumented(body: Any, provider: str) -> Violations:
    for path, message in objects(body, "messages"):
        known = _MEMBERS[provider].get(text(message.get("role")), message.keys())
        for name in message:
            if name not in known:
                yield f"{path}.{name}", "not supported in this role"


@rule("member-groq", "Groq's error message (property is unsupported)", ["groq"])
def member_groq(body: Any) -> Violations:
    """Groq rejects undocumented members of a message."""
    return _undocumented(body, "groq")


@rule("member-mistral", "Mistral's error message (extra inputs are not permitted)", ["mistral"], status=422)
def member_mistral(body: Any) -> Violations:
    """Mistral rejects undocumented members of a message."""
    return _undocumented(body, "mistral")
