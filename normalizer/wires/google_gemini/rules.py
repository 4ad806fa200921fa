"""Request rules of generateContent: why Google refuses a request. The sources are error messages and documentation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...conversation import ToolDefinition
from ...schemas.reading import with_json_types
from .. import common_rules
from ..rule import Violations, rule, rules_in
from ..tool_rules import refused_tools
from ..traverse import member, text
from .parts import begins_with_call
from .schema import DATA
from .spelling import camel_case, listed

_CALLING = "https://ai.google.dev/gemini-api/docs/function-calling"
_DECLARATION = "https://ai.google.dev/api/caching#FunctionDeclaration"
_CONTENT = "https://ai.google.dev/api/caching#Content"
_MODES = frozenset(("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"))
_RESTRICTED = frozenset(("ANY", "VALIDATED"))
_ROLES = frozenset((None, "", "user", "model", "function"))

#: Rules get a body with its members in camel case.
parsed = camel_case

_Content = tuple[str, dict[str, Any]]


def _contents(body: Any) -> list[_Content]:
    """Return path and value of each content that is an object."""
    contents = listed(member(body, "contents"))
    return [(f"contents[{n}]", content) for n, content in enumerate(contents) if isinstance(content, dict)]


def _parts(content: _Content) -> Iterator[tuple[str, dict[str, Any]]]:
    path, value = content
    for number, part in enumerate(listed(value.get("parts"))):
        if isinstance(part, dict):
            yield f"{path}.parts[{number}]", part


def _count(content: _Content, name: str) -> int:
    return sum(part.get(name) is not None for _, part in _parts(content))


def _declarations(body: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, tool in enumerate(listed(member(body, "tools"))):
        for index, declaration in enumerate(listed(member(tool, "functionDeclarations"))):
            if isinstance(declaration, dict):
                yield f"tools[{number}].functionDeclarations[{index}]", declaration


def _arguments(body: Any) -> Iterator[tuple[str, Any]]:
    for content in _contents(body):
        for path, part in _parts(content):
            for kind, name in (("functionCall", "args"), ("functionResponse", "response")):
                if (value := member(part.get(kind), name)) is not None:
                    yield f"{path}.{kind}.{name}", value


def _tool_names(body: Any) -> Iterator[tuple[str, Any]]:
    return ((f"{path}.name", declaration.get("name")) for path, declaration in _declarations(body))


def _allowed(body: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    calling = member(member(body, "toolConfig"), "functionCallingConfig")
    declared = [name for _, name in _tool_names(body)]
    for number, name in enumerate(listed(member(calling, "allowedFunctionNames"))):
        yield f"toolConfig.functionCallingConfig.allowedFunctionNames[{number}]", name, declared


messages_present = common_rules.messages_present(
    lambda body: [("contents", listed(member(body, "contents")))], f"{_CONTENT} (contents is not specified)"
)
message_object = common_rules.message_object(
    lambda body: ((f"contents[{n}]", content) for n, content in enumerate(listed(member(body, "contents")))), _CONTENT
)
role_known = common_rules.role_known(
    lambda body: ((f"{path}.role", content.get("role")) for path, content in _contents(body)),
    "a recorded response: Please use a valid role: user, model.",
    known=_ROLES,
)
#: The arguments of a call and the response of a function.
arguments_object = common_rules.arguments_object(_arguments, _CALLING)
#: A name begins with a letter or an underscore.
name_format = common_rules.name_format(_tool_names, _DECLARATION, pattern="[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
tool_unique = common_rules.tool_unique(
    lambda body: ((path, name) for path, name in _tool_names(body) if isinstance(name, str)),
    "https://github.com/owndev/Open-WebUI-Functions/issues/135 (Duplicate function declaration found)",
)
choice_declared = common_rules.choice_declared(_allowed, "https://ai.google.dev/api/caching#FunctionCallingConfig")


@rule("content-present", "https://github.com/google-gemini/gemini-cli/issues/3505")
def content_present(body: Any) -> Violations:
    """A content has at least one part ("contents.parts must not be empty")."""
    for path, content in _contents(body):
        if not listed(content.get("parts")):
            yield f"{path}.parts", "is missing or empty"


@rule("part-data", "https://ai.google.dev/api/caching#Part")
def part_data(body: Any) -> Violations:
    """A part has data in one of its members only ("oneof field 'data' is already set")."""
    for content in _contents(body):
        for path, part in _parts(content):
            data = [name for name in DATA if part.get(name) is not None]
            if len(data) > 1:
                yield path, f"has {' and '.join(data)}"


@rule("call-named", _CALLING)
def call_named(body: Any) -> Violations:
    """A function call and a function response have the name of the function."""
    for content in _contents(body):
        for path, part in _parts(content):
            for kind in ("functionCall", "functionResponse"):
                if isinstance(part.get(kind), dict) and not part[kind].get("name"):
                    yield f"{path}.{kind}.name", "is missing or empty"


@rule("call-answered", "https://discuss.ai.google.dev/t/87387")
def call_answered(body: Any) -> Violations:
    """The content after calls has as many function responses ("the number of function response parts is equal")."""
    turns = _turns(body)
    for number, (kind, path, _, results) in enumerate(turns):
        before = turns[number - 1] if number else None
        if kind == "model" or not results:
            continue
        called = before[2] if before is not None else 0
        if called != results:
            yield path, f"{results} function responses after {called} function calls"


@rule("call-first", "https://github.com/google-gemini/gemini-cli/issues/11814; HIST-31")
def call_first(body: Any) -> Violations:
    """A conversation does not begin with a call ("function call turn comes immediately after a user turn")."""
    if begins_with_call([content for _, content in _contents(body)]) and not member(body, "cachedContent"):
        yield "contents[0]", "is a turn with a function call"


@rule("call-signed", "https://ai.google.dev/gemini-api/docs/thought-signatures")
def call_signed(body: Any) -> Violations:
    """Gemini 3 accepts calls of the current turn only with the signature of the first call of each content."""
    model = text(member(body, "model")).rpartition("/")[2]
    if not model.startswith("gemini-3"):
        return
    turn: list[_Content] = []
    for content in _contents(body):
        if content[1].get("role") == "model":
            turn.append(content)
        elif not _count(content, "functionResponse"):
            turn.clear()
    for content in turn:
        calls = [(path, part) for path, part in _parts(content) if part.get("functionCall") is not None]
        if calls and not calls[0][1].get("thoughtSignature"):
            yield f"{calls[0][0]}.thoughtSignature", "is missing"


def _turns(body: Any) -> list[tuple[str, str, int, int]]:
    """Return role, path, number of calls and of function responses of each turn: consecutive contents of one role."""
    turns: list[tuple[str, str, int, int]] = []
    for content in _contents(body):
        kind = "model" if content[1].get("role") == "model" else "user"
        calls, results = _count(content, "functionCall"), _count(content, "functionResponse")
        if turns and turns[-1][0] == kind:
            _, path, before, earlier = turns.pop()
            turns.append((kind, path, before + calls, earlier + results))
        else:
            turns.append((kind, content[0], calls, results))
    return turns


@rule("one-schema", _DECLARATION)
def one_schema(body: Any) -> Violations:
    """A function has either `parameters` or `parametersJsonSchema`."""
    for path, declaration in _declarations(body):
        if declaration.get("parameters") is not None and declaration.get("parametersJsonSchema") is not None:
            yield path, "has parameters and parametersJsonSchema"


@rule("tool-schema", "normalizer.schemas.rules.google")
def tool_schema(body: Any) -> Violations:
    """The schema of a function follows the rules for tools, which differ for `parameters`."""
    for path, declaration in _declarations(body):
        for name, target in (("parameters", "google.gemini/parameters"), ("parametersJsonSchema", "google.gemini")):
            schema = declaration.get(name)
            if isinstance(schema, dict):
                schema = with_json_types(schema) if name == "parameters" else schema
                tool = ToolDefinition(text(declaration.get("name")), parameters=schema)
                yield from refused_tools([(path, tool)], target, schema=name)


@rule("tool-choice", "https://ai.google.dev/api/caching#FunctionCallingConfig")
def tool_choice(body: Any) -> Violations:
    """The mode is AUTO, ANY, NONE or VALIDATED, and only ANY and VALIDATED restrict the functions."""
    calling = member(member(body, "toolConfig"), "functionCallingConfig")
    mode, names = member(calling, "mode"), listed(member(calling, "allowedFunctionNames"))
    path = "toolConfig.functionCallingConfig"
    word = mode.upper() if isinstance(mode, str) else mode
    if word is not None and not (isinstance(word, str) and word in _MODES):
        yield f"{path}.mode", f"is {mode!r}"
    elif names and word not in _RESTRICTED:
        yield f"{path}.allowedFunctionNames", f"is set with the mode {mode}"


@rule("temperature", "a recorded response: the supported range is from 0 (inclusive) to 2.0001 (exclusive)")
def temperature(body: Any) -> Violations:
    """The temperature is at least 0 and at most 2."""
    value = member(member(body, "generationConfig"), "temperature")
    if isinstance(value, (int, float)) and not 0 <= value < 2.0001:
        yield "generationConfig.temperature", f"is {value}"


RULES = rules_in(globals())
