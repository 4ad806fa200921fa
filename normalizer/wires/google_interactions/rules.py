"""Request rules of the Interactions API.

Sources are the API's reference, the rules for tools in `normalizer.schemas`, and refusals reported from the field.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import common_rules
from ..common_rules import Round
from ..rule import Violations, rule, rules_in
from ..tool_rules import refused_tools
from ..traverse import items, member, objects
from .parts import CONTENTS, KINDS
from .schema import WIRE, Step
from .tools import read_tool
from .turns import is_turn

_API = "https://ai.google.dev/api/interactions-api"
_STORE = "https://ai.google.dev/gemini-api/docs/interactions (data storage)"
_NAME = "https://github.com/robocurve/inspect-robots/issues/380 (the live endpoint answers 400)"
_FOREIGN_IDS = "https://github.com/router-for-me/CLIProxyAPI/pull/5830"
_CHOICE = "generation_config.tool_choice"
_MODES = ("auto", "any", "none", "validated")
#: Types of steps, of which those of the schema's older outputs are contents.
_STEPS = frozenset(
    tag for step in Step.__args__ if isinstance(tag := step.__struct_config__.tag, str) and tag not in CONTENTS
)
#: Steps that have contents.
_SPOKEN = ("user_input", "model_output")


def _kind(item: Any) -> str:
    kind = member(item, "type")
    return kind if isinstance(kind, str) else ""


def _steps(body: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield path, step and type of every step of the input, and of every content of a turn."""
    for path, step in objects(body, "input"):
        if is_turn(step):
            yield from ((place, content, _kind(content)) for place, content in objects(step, "content", path))
        else:
            yield path, step, _kind(step)


def _contents(body: Any) -> Iterator[tuple[str, Any]]:
    """Yield path and value of every content: of steps, of results, and of an input without steps."""
    if _kind(member(body, "input")) in CONTENTS:
        yield "input", body["input"]
    for path, step, kind in _steps(body):
        if kind in CONTENTS:
            yield path, step
        name = "content" if kind in _SPOKEN else "result" if kind == "function_result" else ""
        for number, content in enumerate(items(step, name) if name else ()):
            yield f"{path}.{name}[{number}]", content


def _choice(body: Any) -> Any:
    return member(member(body, "generation_config"), "tool_choice")


def _rounds(body: Any) -> Iterator[Round]:
    """Yield the input as one round. With a stored history, results may refer to calls that it does not contain."""
    steps: list[common_rules.Step] = []
    for path, step, kind in _steps(body):
        id = step.get("id") if kind == "function_call" else step.get("call_id") if kind == "function_result" else None
        if isinstance(id, str):
            steps.append(common_rules.Step("call" if kind == "function_call" else "result", path, id))
    known = {step.id for step in steps if step.kind == "call"}
    chained = bool(member(body, "previous_interaction_id"))
    yield Round([step for step in steps if step.id in known or not chained], shared=False)


def _allowed(body: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    declared = [tool.get("name") for _, tool in objects(body, "tools")]
    for name in items(member(_choice(body), "allowed_tools"), "tools"):
        yield _CHOICE, name, declared


@rule("model-present", _API)
def model_present(body: Any) -> Violations:
    """A request names either a model or an agent."""
    names = [name for name in ("model", "agent") if member(body, name)]
    if not names:
        yield "model", "neither a model nor an agent"
    elif len(names) == 2:
        yield "agent", "cannot be combined with a model"


@rule("input-present", _API)
def input_present(body: Any) -> Violations:
    """The input is a text, a content, or a list of contents or steps, and is not empty."""
    given = member(body, "input")
    if given in (None, "", []) and not member(body, "continuation_token"):
        yield "input", "missing"
    elif not isinstance(given, (str, list, dict, type(None))):
        yield "input", f"must be a text, a content or a list, got {type(given).__name__}"


@rule("step-type", _API)
def step_type(body: Any) -> Violations:
    """The input consists of steps, or of contents, of documented types."""
    given = items(body, "input")
    for number, item in enumerate(given):
        kind = _kind(item)
        # An unknown step is the provider's, of a type newer than this table, and goes back (law `unknown`).
        if not isinstance(item, dict) or not (kind or is_turn(item)):
            yield f"input[{number}]", "must be a step or a content, which has a type"
    kinds = {_kind(item) in CONTENTS for item in given}
    if len(kinds) > 1:
        yield "input", "contents and steps cannot be mixed"


@rule("part-type", _API)
def part_type(body: Any) -> Violations:
    """A content is an object with a type, and a text has its text."""
    for path, content in _contents(body):
        if not _kind(content):
            yield path, "must be an object with a type"
        elif content["type"] == "text" and not isinstance(content.get("text"), str):
            yield f"{path}.text", "must be a string"


@rule("media-source", _API)
def media_source(body: Any) -> Violations:
    """An image, audio, video or document has data or an address, and data has a media type."""
    for path, content in _contents(body):
        if _kind(content) in KINDS:
            sources = [name for name in ("data", "uri") if content.get(name) is not None]
            if len(sources) != 1:
                yield path, "must have exactly one of data and uri"
            elif sources == ["data"] and not isinstance(content.get("mime_type"), str):
                yield f"{path}.mime_type", "missing"


@rule("call-form", _API)
def call_form(body: Any) -> Violations:
    """A call has an id, a name and an object of arguments."""
    for path, step, kind in _steps(body):
        if kind == "function_call":
            for name in ("id", "name"):
                if not (isinstance(step.get(name), str) and step[name]):
                    yield f"{path}.{name}", "must be a text"
            if not isinstance(step.get("arguments"), dict):
                yield f"{path}.arguments", "must be an object"


@rule("result-form", _NAME)
def result_form(body: Any) -> Violations:
    """A result has the id and the name of its call, and a result, even if it is empty."""
    for path, step, kind in _steps(body):
        if kind == "function_result":
            for name in ("call_id", "name"):
                if not (isinstance(step.get(name), str) and step[name]):
                    yield f"{path}.{name}", "missing"
            if not isinstance(step.get("result"), (str, list, dict)):
                yield f"{path}.result", "must be a text, an object or a list of contents"


@rule("member-known", _FOREIGN_IDS)
def member_known(body: Any) -> Violations:
    """A result has no id and a call no call_id."""
    for path, step, kind in _steps(body):
        name = {"function_call": "call_id", "function_result": "id"}.get(kind)
        if name and name in step:
            yield f"{path}.{name}", f"a {kind} has no {name}"


call_answered = common_rules.call_answered(_rounds, "failure HIST-06", whole=True)
result_asked_for = common_rules.result_asked_for(_rounds, "failure HIST-07", whole=True)
answered_once = common_rules.answered_once(_rounds, "failure ID-08", whole=True)
choice_declared = common_rules.choice_declared(_allowed, _API)


@rule("stored", _STORE)
def stored(body: Any) -> Violations:
    """With store=false an interaction cannot run in the background."""
    if member(body, "store") is False and member(body, "background") is True:
        yield "background", "requires that the interaction is stored"


@rule("tool-schema", "normalizer.schemas.rules.google")
def tool_schema(body: Any) -> Violations:
    """The name and the schema of a function follow the rules for tools."""
    declared = [(path, definition) for path, definition in objects(body, "tools")]
    for path, definition in declared:
        kind, name = definition.get("type"), definition.get("name")
        if not isinstance(kind, str):
            yield f"{path}.type", "missing"
        elif kind == "function" and not isinstance(name, str):
            yield f"{path}.name", "missing"
    yield from refused_tools([(path, read_tool(definition)) for path, definition in declared], WIRE, names=True)


@rule("tool-choice", _API)
def tool_choice(body: Any) -> Violations:
    """The tool choice is a mode or names tools; a call can only be required if a tool is declared."""
    choice = _choice(body)
    allowed = member(choice, "allowed_tools")
    mode = member(allowed, "mode") if isinstance(allowed, dict) else choice
    if choice is None:
        return
    if mode not in _MODES and not (isinstance(allowed, dict) and mode is None):
        yield _CHOICE, f"must be one of {', '.join(_MODES)}, got {mode!r}"
    if mode == "any" and not [*objects(body, "tools")]:
        yield _CHOICE, "a call is required, but no tool is declared"


#: All rules, in the order of their definition.
RULES = rules_in(globals())
