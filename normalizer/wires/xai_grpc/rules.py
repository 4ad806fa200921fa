"""Request rules of xAI, for a GetCompletionsRequest.

xAI documents little of this. The sources are the SDK's documentation and reports by users. Other rules follow from the
meaning of the messages, and their source says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from ... import json_codec
from ...errors import MalformedBody
from .. import common_rules
from ..common_rules import Places, Round, Step
from ..rule import Check, Rule, Violations, rule, rules_in
from ..xai_tools import REFUSED
from .schema import ROLE_ASSISTANT, ROLE_TOOL, TYPE_CLIENT, TYPE_UNSET, GetCompletionsRequest, request_from

_SDK = "documentation of xai-sdk, xai_sdk/chat.py"
_SCHEMA = "the protobuf schema"
_ERROR = "INVALID_ARGUMENT"
_MEANING = "the meaning of the messages; xAI documents no refusal"
MOST_TOOLS = 128


def parsed(body: Any) -> Any:
    """Parse a body once for all rules. Returns the message, or the body itself if it cannot be parsed."""
    try:
        return request_from(body)
    except MalformedBody:
        return body


def _guarded(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that gets only the message that `parsed` returned, and returns () for any other body."""

    @wraps(check)
    def guarded(body: Any) -> Any:
        return check(body) if isinstance(body, GetCompletionsRequest) else iter(())

    return guarded


def _message_rule(id: str, source: str) -> Callable[[Check], Rule]:
    return lambda check: rule(id, source, error_type=_ERROR)(_guarded(check))


def _common_rule(of_wire: Callable[..., Rule], places: Callable[[Any], Any], source: str, **options: Any) -> Rule:
    return of_wire(_guarded(places), source, error_type=_ERROR, **options)


def _numbered(entries: Any, path: str) -> Iterator[tuple[str, Any]]:
    return ((f"{path}[{number}]", entry) for number, entry in enumerate(entries))


def _parts(request: Any) -> Iterator[tuple[str, Any]]:
    for path, message in _numbered(request.messages, "messages"):
        yield from _numbered(message.content, f"{path}.content")


def _functions(request: Any) -> Iterator[tuple[str, Any]]:
    for path, tool in _numbered(request.tools, "tools"):
        if tool.WhichOneof("tool") == "function":
            yield f"{path}.function", tool.function


def _is_client_call(call: Any) -> bool:
    return call.type in (TYPE_CLIENT, TYPE_UNSET)


def _rounds(request: GetCompletionsRequest) -> Iterator[Round]:
    """Yield the calls of the assistant with the tool messages before its next message.

    A tool message without an id belongs to the first unanswered call. With a stored history, the first tool messages
    may refer to calls that it contains.
    """
    steps: list[Step] = []
    waiting: list[str] = []
    answered, chained = False, bool(request.previous_response_id)
    for path, message in _numbered(request.messages, "messages"):
        if message.role == ROLE_TOOL and all(map(_is_client_call, message.tool_calls)):
            id = message.tool_call_id or next(iter(waiting), "")
            if id in waiting:
                waiting.remove(id)
                answered = True
            elif chained and all(step.id != id for step in steps):
                continue
            steps.append(Step("result", path, id))
        elif message.role == ROLE_ASSISTANT:
            if answered:
                yield Round(steps, shared=False)
                steps, waiting, answered, chained = [], [], False, False
            made = [(call.id, place) for place, call in _client_calls(message, path)]
            steps += [Step("call", place, id) for id, place in made]
            waiting += [id for id, _ in made]
    yield Round(steps, shared=False)


def _client_calls(message: Any, path: str) -> Iterator[tuple[str, Any]]:
    calls = _numbered(message.tool_calls, f"{path}.tool_calls")
    return ((place, call) for place, call in calls if message.role == ROLE_ASSISTANT and _is_client_call(call))


def _ids_of_turns(request: GetCompletionsRequest) -> Iterator[Places]:
    turn: list[tuple[str, Any]] = []
    for path, message in _numbered(request.messages, "messages"):
        if message.role != ROLE_ASSISTANT:
            yield turn
            turn = []
        turn += [(f"{place}.id", call.id) for place, call in _client_calls(message, path) if call.id]
    yield turn


def _names(request: GetCompletionsRequest) -> Places:
    return ((f"{path}.name", function.name) for path, function in _functions(request))


def _forced(request: GetCompletionsRequest) -> Iterator[tuple[str, str, list[str]]]:
    if name := request.tool_choice.function_name:
        yield "tool_choice.function_name", name, [function.name for _, function in _functions(request)]


@rule("readable", _SCHEMA)
def readable(body: Any) -> Violations:
    """A body must be a GetCompletionsRequest."""
    try:
        request_from(body)
    except MalformedBody as error:
        yield "$", error.what


model_present = _common_rule(common_rules.model_present, lambda request: [("model", request.model)], _SDK)
messages_present = _common_rule(
    common_rules.messages_present, lambda request: [("messages", [*request.messages])], _MEANING
)
call_answered = _common_rule(common_rules.call_answered, _rounds, _MEANING, whole=True)
result_asked_for = _common_rule(common_rules.result_asked_for, _rounds, "HIST-07", whole=True)
answered_once = _common_rule(common_rules.answered_once, _rounds, _MEANING, whole=True)
id_unique = _common_rule(common_rules.id_unique, _ids_of_turns, "XAI-01", whole=True)
name_format = _common_rule(common_rules.name_format, _names, "REST documentation", pattern="[a-zA-Z0-9_-]{1,64}")
name_free = _common_rule(common_rules.name_free, _names, "XAI-08", reserved=REFUSED)
tool_unique = _common_rule(common_rules.tool_unique, _names, "NAME-08")
choice_declared = _common_rule(common_rules.choice_declared, _forced, _SDK)


@_message_rule("role-known", f"{_SCHEMA}: 0 is the invalid role")
def role_known(request: Any) -> Violations:
    """A message has a role."""
    for path, message in _numbered(request.messages, "messages"):
        if not message.role:
            yield f"{path}.role", "missing"


@_message_rule("id-missing", "XAI-01")
def id_missing(request: Any) -> Violations:
    """A call has an id, because results refer to it."""
    for path, message in _numbered(request.messages, "messages"):
        yield from ((f"{place}.id", "missing") for place, call in _client_calls(message, path) if not call.id)


@_message_rule("content-present", "EMPTY-01")
def content_present(request: Any) -> Violations:
    """Each message must have at least one content element."""
    for path, message in _numbered(request.messages, "messages"):
        if not message.content and not message.encrypted_content:
            yield f"{path}.content", "must have at least one element, which may be an empty text"


@_message_rule("part-type", _SCHEMA)
def part_type(request: Any) -> Violations:
    """A content element is text, an image or a file."""
    for path, part in _parts(request):
        if part.WhichOneof("content") is None:
            yield path, "neither text nor image nor file"


@_message_rule("media-source", _SDK)
def media_source(request: Any) -> Violations:
    """A file comes from exactly one of file_id, data and url."""
    for path, part in _parts(request):
        if part.WhichOneof("content") == "file":
            sources = [name for name in ("file_id", "data", "url") if getattr(part.file, name)]
            if len(sources) != 1:
                yield f"{path}.file", f"must have one of file_id, data and url, got {', '.join(sources) or 'none'}"
            elif sources == ["file_id"] and (part.file.filename or part.file.mime_type):
                yield f"{path}.file", "filename and mime_type cannot be combined with file_id"


@_message_rule("call-named", "XAI-02")
def call_named(request: Any) -> Violations:
    """A tool call contains its function."""
    for path, message in _numbered(request.messages, "messages"):
        for call_path, call in _numbered(message.tool_calls, f"{path}.tool_calls"):
            if not call.function.name:
                yield call_path, "a call without a name"


@_message_rule("parameters-object", _SDK)
def parameters_object(request: Any) -> Violations:
    """Parameters are a JSON Schema as a JSON object."""
    for path, function in _functions(request):
        try:
            valid = isinstance(json_codec.decode(function.parameters), dict)
        except ValueError:
            valid = False
        if not valid:
            yield f"{path}.parameters", "must be a JSON object"


@_message_rule("tools-count", _SDK)
def tools_count(request: Any) -> Violations:
    """A request has at most 128 tools."""
    if len(request.tools) > MOST_TOOLS:
        yield "tools", f"{len(request.tools)} tools, at most {MOST_TOOLS} are allowed"


RULES = rules_in(globals())
