"""Request rules of Converse.

Sources: the service model `bedrock-runtime` of botocore and the API reference ("documented"), and error messages of
Bedrock ("refusal"). Some refusals depend on the model, and concern only models for which they were reported. Two user
messages in a row are not a rule: most models refuse them, but recorded requests show that Titan accepts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...conversation import ToolDefinition
from .. import common_rules
from ..common_rules import Places, Round, Step, message_list, messages_of, roles_of
from ..rule import Violations, rule, rules_in
from ..tool_rules import refused_tools
from ..traverse import items, member, objects, text
from .parts import DOCUMENT_NAME, kind_of

_ROLES = ("user", "assistant", "system")
#: The types of content blocks (`ContentBlock` of the service model).
_BLOCKS = frozenset(
    """
    text image document video audio toolUse toolResult guardContent cachePoint reasoningContent citationsContent
    searchResult toolAddition toolRemoval
    """.split()  # noqa: SIM905 - a list of words reads better so
)
_CHOICES = ("auto", "any", "tool")
_MOST_CACHE_POINTS = 4
_USER_FIRST = re.compile(r"anthropic\.claude|amazon\.nova")
_NOT_BLANK = re.compile(r"anthropic\.claude|amazon\.titan")
Values = Iterator[tuple[str, Any]]


def _blocks(body: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the content blocks of all messages, with their paths."""
    for path, message in objects(body, "messages"):
        yield from objects(message, "content", path)


def _values(body: Any, kind: str) -> Values:
    """Yield the values of all content blocks of a type, with their paths."""
    for path, block in _blocks(body):
        if kind in block:
            yield f"{path}.{kind}", block[kind]


def _message_values(message: tuple[str, Any], kind: str) -> Values:
    path, holder = message
    for place, block in objects(holder, "content", path):
        if kind in block:
            yield f"{place}.{kind}", block[kind]


def _client_calls(message: tuple[str, Any]) -> Values:
    """Yield the calls of a message that the client executes."""
    for path, call in _message_values(message, "toolUse"):
        if member(call, "type") != "server_tool_use":
            yield path, call


def _media(body: Any, kind: str) -> Values:
    """Yield the media of a kind in all messages and tool results, with their paths."""
    yield from _values(body, kind)
    for path, result in _values(body, "toolResult"):
        yield from _message_values((path, result), kind)


def _tools(body: Any, kind: str) -> Values:
    for path, tool in objects(member(body, "toolConfig"), "tools", "toolConfig"):
        if kind in tool:
            yield f"{path}.{kind}", tool[kind]


def _id(value: Any) -> Any:
    id = member(value, "toolUseId")
    return id if isinstance(id, str) else None


def _is_served(result: Any, served: set[Any]) -> bool:
    return _id(result) in served or isinstance(member(result, "type"), str)


def _rounds(body: Any) -> Iterator[Round]:
    """Yield the client calls of each assistant message with the results in the next message."""
    calls: list[Step] = []
    for path, message in objects(body, "messages"):
        results = _message_values((path, message), "toolResult") if message.get("role") == "user" else iter(())
        yield Round([*calls, *(Step("result", place, _id(result)) for place, result in results)])
        uses = _client_calls((path, message)) if message.get("role") == "assistant" else iter(())
        calls = [Step("call", place, _id(call)) for place, call in uses]


def _ids_of_turns(body: Any) -> Iterator[Places]:
    for message in objects(body, "messages"):
        yield ((f"{path}.toolUseId", _id(call)) for path, call in _client_calls(message))


def _ids(body: Any) -> Places:
    for kind in ("toolUse", "toolResult"):
        yield from ((f"{path}.toolUseId", member(value, "toolUseId")) for path, value in _values(body, kind))


def _names(body: Any) -> Places:
    for path, value in [*_values(body, "toolUse"), *_tools(body, "toolSpec"), *_tools(body, "systemTool")]:
        yield f"{path}.name", member(value, "name")


def _forced(body: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    choice = member(member(body, "toolConfig"), "toolChoice")
    if kind_of(choice) == "tool" and len(choice) == 1:
        declared = [member(tool, "name") for _, tool in [*_tools(body, "toolSpec"), *_tools(body, "systemTool")]]
        yield "toolConfig.toolChoice.tool.name", member(choice["tool"], "name"), declared


messages_present = common_rules.messages_present(message_list, "documented: messages")
message_object = common_rules.message_object(messages_of, "documented: messages")
role_known = common_rules.role_known(roles_of, "documented: Message.role", known=_ROLES)
call_answered = common_rules.call_answered(
    _rounds, "refusal: Expected toolResult blocks for the following Ids; HIST-02"
)
result_asked_for = common_rules.result_asked_for(
    _rounds, "refusal: The number of toolResult blocks exceeds that of toolUse blocks; BED-07, HIST-07"
)
answered_once = common_rules.answered_once(_rounds, "refusal: blocks contain duplicate Ids; ID-08")
id_unique = common_rules.id_unique(_ids_of_turns, "refusal: blocks contain duplicate Ids; ID-12")
id_format = common_rules.id_format(_ids, "documented: ToolUseId; ID-13, ID-19", pattern="[a-zA-Z0-9_.:-]{1,64}")
name_format = common_rules.name_format(_names, "documented: ToolName; NAME-04", pattern="[a-zA-Z0-9_-]{1,64}")
arguments_object = common_rules.arguments_object(
    lambda body: ((f"{path}.input", member(call, "input")) for path, call in _values(body, "toolUse")),
    "refusal: The format of the value at toolUse.input is invalid; ARG-08, INV-02",
)
tool_unique = common_rules.tool_unique(
    lambda body: ((f"{path}.name", text(member(spec, "name"))) for path, spec in _tools(body, "toolSpec")),
    "refusal: The tool names are not unique",
)
choice_declared = common_rules.choice_declared(_forced, "documented: ToolChoice; TC-01")


@rule(
    "user-first", "https://github.com/deepgram/deepgram-python-sdk/issues/760 (A conversation must start with a user)"
)
def user_first(body: Any) -> Violations:
    """For Claude and Nova, a conversation begins with a user message."""
    first = next(iter(items(body, "messages")), None)
    if member(first, "role") == "assistant" and _USER_FIRST.search(text(member(body, "modelId"))):
        yield "messages[0].role", "must be user"


@rule("content-present", "refusal: The content field in the Message object is empty")
def content_present(body: Any) -> Violations:
    """The content of a message is a list of at least one block."""
    for path, message in objects(body, "messages"):
        value = message.get("content")
        if not isinstance(value, list):
            yield f"{path}.content", "must be a list"
        elif not value:
            yield f"{path}.content", "must not be empty"


@rule("part-type", "documented: ContentBlock, a union of which one member is set")
def part_type(body: Any) -> Violations:
    """A content block has one member, whose name is a known type."""
    for path, message in objects(body, "messages"):
        for number, block in enumerate(items(message, "content")):
            kind = kind_of(block)
            # InvokeModel of Nova has the cache point beside the text.
            beside = {"cachePoint"} if "schemaVersion" in body else set[str]()
            if kind is None or len(block.keys() - beside) > 1:
                yield f"{path}.content[{number}]", "must be an object with one member"
            # an unknown block of the assistant came from the provider
            elif kind not in _BLOCKS and message.get("role") != "assistant":
                yield f"{path}.content[{number}]", f"unknown block type: {kind!r}"


@rule(
    "blank-text",
    "documented: NonEmptyString; https://github.com/langchain-ai/langchain-aws/issues/403; BED-02",
)
def blank_text(body: Any) -> Violations:
    """A text is not empty, and for Claude and Titan a message of texts contains more than white space."""
    texts = [*objects(body, "system"), *_blocks(body)]
    texts += [part for path, result in _values(body, "toolResult") for part in objects(result, "content", path)]
    for path, block in texts:
        if "text" in block and not text(block["text"]):
            yield f"{path}.text", "must not be empty"
    for path, message in objects(body, "messages") if _NOT_BLANK.search(text(member(body, "modelId"))) else ():
        parts = [text(member(block, "text")) for block in items(message, "content")]
        if parts and all(parts) and not "".join(parts).strip():
            yield f"{path}.content[0].text", "must not be blank"


@rule("block-role", "refusal: toolUse blocks can only be in assistant messages, toolResult blocks in user messages")
def block_role(body: Any) -> Violations:
    """Calls and reasoning belong in assistant messages, the results of client calls in user messages."""
    for path, message in objects(body, "messages"):
        served = {
            _id(block["toolUse"])
            for _, block in objects(message, "content")
            if member(block.get("toolUse"), "type") == "server_tool_use"
        }
        misplaced = {"user": ("toolUse", "reasoningContent"), "assistant": ("toolResult",)}
        for place, block in objects(message, "content", path):
            for kind in misplaced.get(text(message.get("role")), ()):
                if kind in block and not (kind == "toolResult" and _is_served(block[kind], served)):
                    yield place, f"a {kind} block in a message of role {message['role']}"


@rule("result-json", "refusal: The format of the value at toolResult.content.json is invalid")
def result_json(body: Any) -> Violations:
    """The content of a result is a list, and its JSON an object."""
    for path, result in _values(body, "toolResult"):
        if not isinstance(member(result, "content"), list):
            yield f"{path}.content", "must be a list"
        for place, block in objects(result, "content", path):
            if "json" in block and not isinstance(block["json"], dict):
                yield f"{place}.json", "must be an object"


@rule("error-content", "refusal: The content field cannot be empty when status value is error")
def error_content(body: Any) -> Violations:
    """An error result has content."""
    for path, result in _values(body, "toolResult"):
        if member(result, "status") == "error" and member(result, "content") == []:
            yield f"{path}.content", "an error result without content"


@rule("tool-config", "refusal: The toolConfig field must be defined when using toolUse and toolResult blocks; BED-03")
def tool_config(body: Any) -> Violations:
    """A request with calls or results in its history declares tools."""
    used = next((path for kind in ("toolUse", "toolResult") for path, _ in _values(body, kind)), None)
    if used is not None and not items(member(body, "toolConfig"), "tools"):
        yield "toolConfig", f"must declare tools, because of {used}"


@rule("tools", "documented: ToolConfiguration.tools, ToolSpecification")
def tools(body: Any) -> Violations:
    """A tool configuration has tools, each with a schema for an object."""
    config = member(body, "toolConfig")
    if config is None:
        return
    if not items(config, "tools"):
        yield "toolConfig.tools", "at least one tool is required"
    for path, spec in _tools(body, "toolSpec"):
        schema = member(member(spec, "inputSchema"), "json")
        if not isinstance(schema, dict):
            yield f"{path}.inputSchema.json", "must be an object"
        elif schema.get("type") != "object":
            yield f"{path}.inputSchema.json.type", f"must be object, got {schema.get('type')!r}"


@rule("tool-schema", "normalizer.schemas.rules.anthropic")
def tool_schema(body: Any) -> Violations:
    """The description and the schema of a tool follow the rules for tools."""
    declared: list[tuple[str, ToolDefinition]] = []
    for path, spec in _tools(body, "toolSpec"):
        schema = member(member(spec, "inputSchema"), "json")
        if member(schema, "type") == "object":  # see `tools`
            strict = member(spec, "strict") is True
            name, description = text(member(spec, "name")), member(spec, "description")
            declared.append((path, ToolDefinition(name, description, parameters=schema, strict=strict)))
    yield from refused_tools(declared, "bedrock.converse", schema="inputSchema.json")


@rule("tool-choice", "documented: ToolChoice; TC-01")
def tool_choice(body: Any) -> Violations:
    """The tool choice is a documented one."""
    choice = member(member(body, "toolConfig"), "toolChoice")
    if choice is None:
        return
    kind = kind_of(choice)
    if kind not in _CHOICES or len(choice) != 1:
        yield "toolConfig.toolChoice", f"must have one of the members {', '.join(_CHOICES)}"


@rule("inference-range", "documented: InferenceConfiguration")
def inference_range(body: Any) -> Violations:
    """The token limit is positive, temperature and topP are between 0 and 1."""
    config = member(body, "inferenceConfig")
    limit = member(config, "maxTokens")
    if limit is not None and (type(limit) is not int or limit < 1):
        yield "inferenceConfig.maxTokens", "must be a positive integer"
    for name in ("temperature", "topP"):
        value = member(config, name)
        if value is not None and not (isinstance(value, (int, float)) and 0 <= value <= 1):
            yield f"inferenceConfig.{name}", f"must be between 0 and 1, got {value!r}"


@rule("document-name", "documented: DocumentBlock.name")
def document_name(body: Any) -> Violations:
    """A document has a name of letters, digits, _, -, single white space, parentheses and square brackets."""
    for path, document in _media(body, "document"):
        name = member(document, "name")
        if not DOCUMENT_NAME.fullmatch(text(name)):
            yield f"{path}.name", f"{name!r} does not match the format of names"


@rule("document-text", "documented: ContentBlock.document")
def document_text(body: Any) -> Violations:
    """A user message with a document has a text."""
    for path, message in objects(body, "messages"):
        kinds = {kind_of(block) for block in items(message, "content")}
        if message.get("role") == "user" and "document" in kinds and not kinds & {"text", "guardContent"}:
            yield f"{path}.content", "a document without a text beside it"


@rule("cache-points", "refusal: a maximum of 4 blocks with cache_control may be provided", whole=True)
def cache_points(body: Any) -> Violations:
    """At most four cache points are set."""
    holders = [*objects(body, "system"), *objects(member(body, "toolConfig"), "tools", "toolConfig"), *_blocks(body)]
    marks = [path for path, holder in holders if "cachePoint" in holder]
    if len(marks) > _MOST_CACHE_POINTS:
        problem = f"{len(marks)} cache points, at most {_MOST_CACHE_POINTS} are allowed"
        yield f"{marks[_MOST_CACHE_POINTS]}.cachePoint", problem


RULES = rules_in(globals())
