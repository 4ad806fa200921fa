"""Request rules of xAI, for a GetCompletionsRequest.

xAI documents little of this. The sources are the SDK's documentation and reports by users. Other rules follow from the
meaning of the messages, and their source says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from ... import json_codec
from ...errors import MalformedBody
from ..rule import Check, Rule, Violations, rule, rules_in
from ..xai_tools import RESERVED_ON_GRPC
from .schema import ROLE_ASSISTANT, ROLE_TOOL, TYPE_CLIENT, TYPE_UNSET, GetCompletionsRequest, request_from

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SDK = "documentation of xai-sdk, xai_sdk/chat.py"
_SCHEMA = "the protobuf schema"
_MEANING = "the meaning of the messages; xAI documents no refusal"
MOST_TOOLS = 128


def parsed(body: Any) -> Any:
    """Parse a body once for all rules. Returns the message, or the body itself if it cannot be parsed."""
    try:
        return request_from(body)
    except MalformedBody:
        return body


def _message_rule(id: str, source: str) -> Callable[[Check], Rule]:
    """Make a rule whose check gets the message that `parsed` returned, and skips any other body."""

    def decorated(check: Check) -> Rule:
        @wraps(check)
        def guarded(body: Any) -> Violations:
            return check(body) if isinstance(body, GetCompletionsRequest) else iter(())

        return rule(id, source, error_type="INVALID_ARGUMENT")(guarded)

    return decorated


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


@rule("readable", _SCHEMA)
def readable(body: Any) -> Violations:
    """A body must be a GetCompletionsRequest."""
    try:
        request_from(body)
    except MalformedBody as error:
        yield "$", error.what


@_message_rule("model", _SDK)
def model(request: Any) -> Violations:
    """A request names its model."""
    if not request.model:
        yield "model", "missing"


@_message_rule("messages", _MEANING)
def messages(request: Any) -> Violations:
    """A request contains at least one message."""
    if not request.messages:
        yield "messages", "at least one message is required"


@_message_rule("roles", f"{_SCHEMA}: 0 is the invalid role")
def roles(request: Any) -> Violations:
    """A message has a role."""
    for path, message in _numbered(request.messages, "messages"):
        if not message.role:
            yield f"{path}.role", "missing"


@_message_rule("content-present", "EMPTY-01")
def content_present(request: Any) -> Violations:
    """Each message must have at least one content element."""
    for path, message in _numbered(request.messages, "messages"):
        if not message.content and not message.encrypted_content:
            yield f"{path}.content", "must have at least one element, which may be an empty text"


@_message_rule("content-known", _SCHEMA)
def content_known(request: Any) -> Violations:
    """A content element is text, an image or a file."""
    for path, part in _parts(request):
        if part.WhichOneof("content") is None:
            yield path, "neither text nor image nor file"


@_message_rule("file-source", _SDK)
def file_source(request: Any) -> Violations:
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


@_message_rule("call-ids", "XAI-01")
def call_ids(request: Any) -> Violations:
    """Call ids are unique within a turn, because results refer to them."""
    seen: set[str] = set()
    for path, message in _numbered(request.messages, "messages"):
        if message.role != ROLE_ASSISTANT:
            seen = set()
            continue
        for call_path, call in _numbered(message.tool_calls, f"{path}.tool_calls"):
            if _is_client_call(call):
                if not call.id or call.id in seen:
                    yield f"{call_path}.id", f"{call.id} occurs twice in one turn" if call.id else "missing"
                seen.add(call.id)


def _unpaired(request: Any) -> Iterator[tuple[str, str, str]]:
    """Yield (rule, path, message) for every client call and tool message without a counterpart.

    A tool message without an id belongs to the first unanswered call.
    """
    unanswered: list[tuple[str, str]] = []  # (id, path)
    answered: set[str] = set()
    chained = bool(request.previous_response_id)
    for path, message in _numbered(request.messages, "messages"):
        if message.role == ROLE_TOOL and all(map(_is_client_call, message.tool_calls)):
            id = message.tool_call_id
            match = next((call for call in unanswered if id in ("", call[0])), None)
            if match is not None:
                unanswered.remove(match)
                answered.add(match[0])
            elif id in answered:
                yield "one-answer", path, f"a second result for {id}"
            elif not chained:
                yield "answer-asked-for", path, f"no preceding call has the id {id or '(none)'}"
        elif message.role == ROLE_ASSISTANT:
            if answered:
                for id, call_path in unanswered:
                    yield "calls-answered", call_path, f"{id} has no result before the next assistant message"
                unanswered, answered, chained = [], set(), False
            calls = _numbered(message.tool_calls, f"{path}.tool_calls")
            unanswered += [(call.id, call_path) for call_path, call in calls if _is_client_call(call)]
    for id, call_path in unanswered:
        yield "calls-answered", call_path, f"{id} has no result"


@_message_rule("calls-answered", _MEANING)
def calls_answered(request: Any) -> Violations:
    """Every client call has a result before the next assistant message."""
    return ((path, text) for rule, path, text in _unpaired(request) if rule == "calls-answered")


@_message_rule("one-answer", _MEANING)
def one_answer(request: Any) -> Violations:
    """A call has one result."""
    return ((path, text) for rule, path, text in _unpaired(request) if rule == "one-answer")


@_message_rule("answer-asked-for", "HIST-07")
def answer_asked_for(request: Any) -> Violations:
    """A tool message refers to an earlier call."""
    return ((path, text) for rule, path, text in _unpaired(request) if rule == "answer-asked-for")


@_message_rule("name-form", "REST documentation")
def name_form(request: Any) -> Violations:
    """A function name has letters, digits, - and _, at most 64."""
    for path, function in _functions(request):
        if not _NAME.fullmatch(function.name):
            yield f"{path}.name", f"{function.name!r} does not match {_NAME.pattern}"


@_message_rule("name-reserved", "XAI-08")
def name_reserved(request: Any) -> Violations:
    """Names of xAI's hosted tools are reserved."""
    for path, function in _functions(request):
        if function.name in RESERVED_ON_GRPC:
            yield f"{path}.name", f"{function.name} is reserved"


@_message_rule("name-once", "NAME-08")
def name_once(request: Any) -> Violations:
    """Function names are unique."""
    seen: set[str] = set()
    for path, function in _functions(request):
        if function.name in seen:
            yield f"{path}.name", f"{function.name} is declared twice"
        seen.add(function.name)


@_message_rule("parameters", _SDK)
def parameters(request: Any) -> Violations:
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


@_message_rule("choice-declared", _SDK)
def choice_declared(request: Any) -> Violations:
    """A forced function is one of the declared ones."""
    name = request.tool_choice.function_name
    if name and all(function.name != name for _, function in _functions(request)):
        yield "tool_choice.function_name", f"{name} is not declared"


RULES = rules_in(globals())
