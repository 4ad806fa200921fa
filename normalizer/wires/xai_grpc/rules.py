"""Request rules of xAI, for a GetCompletionsRequest.

xAI documents little of this. The sources are the SDK's documentation and reports by users. Other rules follow from the
meaning of the messages, and their source says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ... import json_codec
from ...errors import MalformedBody
from ..rule import Rule
from ..xai_tools import RESERVED_ON_GRPC
from .schema import ROLE_ASSISTANT, ROLE_TOOL, TYPE_CLIENT, TYPE_UNSET, request_from

Found = Iterator[tuple[str, str]]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SDK = "documentation of xai-sdk, xai_sdk/chat.py"
_MEANING = "the meaning of the messages; xAI documents no refusal"
TOOLS_AT_MOST = 128


def _rule(id: str, reason: str, source: str, check: Callable[[Any], Found]) -> Rule:
    def guarded(body: Any) -> Found:
        try:
            message = request_from(body)
        except MalformedBody:
            return
        yield from check(message)

    return Rule(id, reason, source, guarded, status=400, error_type="INVALID_ARGUMENT")


def parsed(body: Any) -> Any:
    """Parse a body once for all rules. Returns the message, or the body itself if it cannot be parsed."""
    try:
        return request_from(body)
    except MalformedBody:
        return body


def _readable(body: Any) -> Found:
    try:
        request_from(body)
    except MalformedBody as error:
        yield "$", error.what


def _model(message: Any) -> Found:
    if not message.model:
        yield "model", "no model"


def _messages(message: Any) -> Found:
    if not message.messages:
        yield "messages", "no message"


def _roles(message: Any) -> Found:
    for index, said in enumerate(message.messages):
        if not said.role:
            yield f"messages[{index}].role", "no role"


def _contents(message: Any) -> Found:
    for index, said in enumerate(message.messages):
        if not said.content and not said.encrypted_content:
            yield f"messages[{index}].content", "no content element, not even an empty text"


def _parts(message: Any) -> Found:
    for index, said in enumerate(message.messages):
        for number, part in enumerate(said.content):
            if part.WhichOneof("content") is None:
                yield f"messages[{index}].content[{number}]", "neither text nor image nor file"


def _files(message: Any) -> Found:
    for index, said in enumerate(message.messages):
        for number, part in enumerate(said.content):
            if part.WhichOneof("content") == "file":
                file = part.file
                given = [n for n in ("file_id", "data", "url") if getattr(file, n)]
                where = f"messages[{index}].content[{number}].file"
                if len(given) != 1:
                    yield where, f"{' and '.join(given) or 'none'} of file_id, data and url"
                elif given == ["file_id"] and (file.filename or file.mime_type):
                    yield where, "a filename or mime_type beside a file_id"


def _client(call: Any) -> bool:
    return call.type in (TYPE_CLIENT, TYPE_UNSET)


def _calls(message: Any) -> Found:
    for index, said in enumerate(message.messages):
        for number, call in enumerate(said.tool_calls):
            if not call.function.name:
                yield f"messages[{index}].tool_calls[{number}]", "a call without a name"


def _ids(message: Any) -> Found:
    seen: set[str] = set()
    for index, said in enumerate(message.messages):
        if said.role != ROLE_ASSISTANT:
            seen = set()
            continue
        for number, call in enumerate(said.tool_calls):
            if not _client(call):
                continue
            if not call.id or call.id in seen:
                yield f"messages[{index}].tool_calls[{number}].id", f"{call.id or 'no id'}: no answer can name it"
            seen.add(call.id)


def _answers(message: Any) -> Iterator[tuple[str, str, str]]:
    """Yield (rule, path, message) for every client call and tool message without a counterpart.

    A tool message without an id belongs to the first unanswered call.
    """
    waiting: list[tuple[str, str]] = []  # (id, path)
    answered: set[str] = set()
    chained = bool(message.previous_response_id)
    for index, said in enumerate(message.messages):
        here = f"messages[{index}]"
        if said.role == ROLE_TOOL and not any(not _client(call) for call in said.tool_calls):
            id = said.tool_call_id
            match = next((one for one in waiting if not id or one[0] == id), None)
            if match is not None:
                waiting.remove(match)
                answered.add(match[0])
            elif id in answered:
                yield "one-answer", here, f"a second answer to {id}"
            elif not chained:
                yield "answer-asked-for", here, f"an answer to {id or 'no call'}, which nothing before asks for"
        elif said.role == ROLE_ASSISTANT:
            if answered or said.tool_calls:
                for id, path in waiting if answered else ():
                    yield "calls-answered", path, f"{id} has no answer before the model goes on"
                if answered:
                    waiting, answered, chained = [], set(), False
            waiting += [(call.id, f"{here}.tool_calls[{n}]") for n, call in enumerate(said.tool_calls) if _client(call)]
    for id, path in waiting:
        yield "calls-answered", path, f"{id} has no answer"


def _only(rule: str) -> Callable[[Any], Found]:
    def check(message: Any) -> Found:
        for found, path, text in _answers(message):
            if found == rule:
                yield path, text

    return check


def _functions(message: Any) -> Iterator[tuple[str, Any]]:
    for index, tool in enumerate(message.tools):
        if tool.WhichOneof("tool") == "function":
            yield f"tools[{index}].function", tool.function


def _names(message: Any) -> Found:
    for path, function in _functions(message):
        if not _NAME.fullmatch(function.name):
            yield f"{path}.name", f"{function.name!r} is no name"


def _reserved(message: Any) -> Found:
    for path, function in _functions(message):
        if function.name in RESERVED_ON_GRPC:
            yield f"{path}.name", f"the function name {function.name} is reserved"


def _once(message: Any) -> Found:
    seen: set[str] = set()
    for path, function in _functions(message):
        if function.name in seen:
            yield f"{path}.name", f"{function.name} is declared twice"
        seen.add(function.name)


def _schemas(message: Any) -> Found:
    for path, function in _functions(message):
        try:
            fine = isinstance(json_codec.decode(function.parameters), dict)
        except ValueError:
            fine = False
        if not fine:
            yield f"{path}.parameters", "no JSON object"


def _tools(message: Any) -> Found:
    if len(message.tools) > TOOLS_AT_MOST:
        yield "tools", f"{len(message.tools)} tools"


def _choice(message: Any) -> Found:
    name = message.tool_choice.function_name
    if name and all(function.name != name for _, function in _functions(message)):
        yield "tool_choice.function_name", f"{name} is not declared"


RULES: tuple[Rule, ...] = (
    Rule("readable", "A body must be a GetCompletionsRequest.", "the protobuf schema", _readable, status=400),
    _rule("model", "A request names its model.", _SDK, _model),
    _rule("messages", "A request contains at least one message.", _MEANING, _messages),
    _rule("roles", "A message has a role.", "the protobuf schema: 0 is the invalid role", _roles),
    _rule("content-present", "Each message must have at least one content element.", "EMPTY-01", _contents),
    _rule("content-known", "A content element is text, an image or a file.", "the protobuf schema", _parts),
    _rule("file-source", "A file comes from exactly one of file_id, data and url.", _SDK, _files),
    _rule("call-named", "A tool call contains its function.", "XAI-02", _calls),
    _rule("call-ids", "Call ids are unique within a turn, because results refer to them.", "XAI-01", _ids),
    _rule(
        "calls-answered",
        "Every client call has a result before the next assistant message.",
        _MEANING,
        _only("calls-answered"),
    ),
    _rule("one-answer", "A call has one result.", _MEANING, _only("one-answer")),
    _rule("answer-asked-for", "A tool message refers to an earlier call.", "HIST-07", _only("answer-asked-for")),
    _rule("name-form", "A function name has letters, digits, - and _, at most 64.", "REST documentation", _names),
    _rule("name-reserved", "Names of xAI's hosted tools are reserved.", "XAI-08", _reserved),
    _rule("name-once", "Function names are unique.", "NAME-08", _once),
    _rule("parameters", "Parameters are a JSON Schema as a JSON object.", _SDK, _schemas),
    _rule("tools-count", f"At most {TOOLS_AT_MOST} tools.", _SDK, _tools),
    _rule("choice-declared", "A forced function is one of the declared ones.", _SDK, _choice),
)
