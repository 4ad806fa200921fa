"""Checks for the request rules of Chat Completions.

Each check yields path and description of every violation. None raises, whatever the body.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ..strict_schema import lacking_for_strict
from ..traverse import items
from ..xai_tools import RESERVED_ON_CHAT
from . import walk
from .dialects import GROQ_LACKS, MISTRAL_MEMBERS, USER_AFTER_TOOL
from .request_params import is_schema

Places = Iterator[tuple[str, str]]
Check = Callable[[Any], Places]
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SHORT = re.compile("[a-zA-Z0-9]{9}")
_CHOICES = ("function", "custom", "allowed_tools")
_MESSAGE_MEMBERS = {
    "groq": {
        "assistant": {"role", "content", "tool_calls", "function_call", "name", "reasoning"},
        "tool": {"role", "content", "tool_call_id", "name"},
    },
    "mistral": {
        "assistant": {"role", "content", "tool_calls", "prefix"},
        "tool": {"role", "content", "tool_call_id", "name"},
    },
}


def no_messages(body: Any) -> Places:
    if not items(body, "messages"):
        yield "messages", "there is no message"


def message_no_object(body: Any) -> Places:
    for number, message in enumerate(items(body, "messages")):
        if not isinstance(message, dict):
            yield f"messages[{number}]", "no object"


def unknown_role(body: Any) -> Places:
    for number, message in walk.messages(body):
        if message.get("role") not in _ROLES:
            yield f"messages[{number}].role", f"{message.get('role')!r} is no role"


def unanswered(body: Any) -> Places:
    for place, ids, results in walk.rounds(body):
        given = {id for _, id in results}
        for number, id in enumerate(ids):
            if id not in given:
                yield f"messages[{place}].tool_calls[{number}]", f"no result for {id} directly after"


def orphans(body: Any) -> Places:
    for place, ids, results in walk.rounds(body):
        asked = set(ids)
        for number, id in results:
            if place < 0:
                yield f"messages[{number}]", "a result that follows no turn with calls"
            elif id not in asked:
                yield f"messages[{number}].tool_call_id", f"{id} is no call of the turn before"


def answered_twice(body: Any) -> Places:
    for _, _, results in walk.rounds(body):
        seen = set[str]()
        for number, id in results:
            if id in seen:
                yield f"messages[{number}].tool_call_id", f"a second result for {id}"
            seen.add(id)


def id_missing(body: Any) -> Places:
    for number, message in walk.messages(body):
        for place, call in enumerate(walk.calls(message)):
            if not isinstance(call.get("id"), str) or not call["id"]:
                yield f"messages[{number}].tool_calls[{place}].id", "a call without an id"
        if message.get("role") == "tool" and not (
            message.get("tool_call_id") and isinstance(message["tool_call_id"], str)
        ):
            yield f"messages[{number}].tool_call_id", "a result without the id of its call"


def id_repeated(body: Any) -> Places:
    for place, ids, _ in walk.rounds(body):
        seen = set[str]()
        for number, id in enumerate(ids):
            if id in seen:
                yield f"messages[{place}].tool_calls[{number}].id", f"{id} stands twice in one turn"
            seen.add(id)


def id_long(body: Any) -> Places:
    for path, id in walk.ids(body):
        if len(id) > 40:
            yield path, f"{len(id)} characters"


def id_not_short(body: Any) -> Places:
    for path, id in walk.ids(body):
        if not _SHORT.fullmatch(id):
            yield path, f"{id!r} is not 9 letters and figures"


def bad_name(body: Any) -> Places:
    for path, name in walk.named(body):
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield path, f"{name!r} does not match {_NAME.pattern}"


def reserved_name(body: Any) -> Places:
    for path, name in walk.named(body):
        if isinstance(name, str) and name in RESERVED_ON_CHAT:
            yield path, f"{name} is reserved"


def arguments_no_text(body: Any) -> Places:
    for number, message in walk.messages(body):
        for place, call in enumerate(walk.calls(message)):
            function = call.get("function")
            if isinstance(function, dict) and not isinstance(function.get("arguments"), str):
                yield f"messages[{number}].tool_calls[{place}].function.arguments", "no text"


def no_calls(body: Any) -> Places:
    for number, message in walk.messages(body):
        if message.get("tool_calls") == []:
            yield f"messages[{number}].tool_calls", "an empty list of calls"


def no_content(body: Any) -> Places:
    for number, message in walk.messages(body):
        content = message.get("content")
        path = f"messages[{number}].content"
        if message.get("role") == "assistant" and not content and not isinstance(content, str):
            if not any(message.get(m) for m in ("tool_calls", "function_call", "refusal", "audio")):
                yield path, "neither content nor calls"
        elif content == []:
            yield path, "an empty list of parts"
        elif not isinstance(content, (str, list)):
            yield path, "no content"


def content_no_text(body: Any) -> Places:
    for number, message in walk.messages(body):
        if walk.calls(message) and message.get("content") is None:
            yield f"messages[{number}].content", "calls without a content text"


def unknown_part(*kinds: str) -> Check:
    """Return the check for content parts whose type is missing or not one of ``kinds``."""

    def check(body: Any) -> Places:
        for path, part in walk.parts(body):
            kind = part.get("type") if isinstance(part, dict) else None
            if kind is None:
                yield path, "a part without a type"
            elif kind not in kinds:
                yield path, f"{kind!r} is no type of a part"

    return check


def foreign_file(body: Any) -> Places:
    for path, part in walk.parts(body):
        if isinstance(part, dict) and part.get("type") == "file" and not isinstance(part.get("file_id"), str):
            yield path, "a file that is not named by file_id"


def unknown_sound(body: Any) -> Places:
    for path, part in walk.parts(body):
        sound = part.get("input_audio") if isinstance(part, dict) and part.get("type") == "input_audio" else None
        if isinstance(sound, dict) and sound.get("format") not in ("wav", "mp3"):
            yield f"{path}.input_audio.format", f"{sound.get('format')!r} is neither wav nor mp3"


def result_media(body: Any) -> Places:
    for path, part in walk.parts(body, "tool"):
        if not isinstance(part, dict) or part.get("type") != "text":
            yield path, "a result holds text only"


def function_nameless(body: Any) -> Places:
    for number, message in walk.messages(body):
        if message.get("role") == "function" and not (isinstance(message.get("name"), str) and message["name"]):
            yield f"messages[{number}].name", "a function's result without the function's name"


def user_after_tool(body: Any) -> Places:
    model = body.get("model") if isinstance(body, dict) else None
    if isinstance(model, str) and model in USER_AFTER_TOOL:
        return
    before = None
    for number, message in walk.messages(body):
        role = message.get("role")
        if before == "tool" and role in ("user", "system"):
            yield f"messages[{number}].role", f"{role!r} after 'tool'"
        before = role


def says_nothing(body: Any) -> Places:
    for number, message in walk.messages(body):
        if message.get("role") == "assistant" and not message.get("content") and not walk.calls(message):
            yield f"messages[{number}]", "neither content nor calls"


def assistant_last(body: Any) -> Places:
    last = next(reversed(list(walk.messages(body))), None)
    if last and last[1].get("role") == "assistant" and not last[1].get("prefix") and not walk.calls(last[1]):
        yield f"messages[{last[0]}].role", "the last turn is the assistant's"


def undocumented(provider: str) -> Check:
    """Return the check for message members that ``provider`` does not support in the message's role."""

    def check(body: Any) -> Places:
        for number, message in walk.messages(body):
            role = message.get("role")
            known = _MESSAGE_MEMBERS[provider].get(role) if isinstance(role, str) else None
            for member in message if known else ():
                if known and member not in known:
                    yield f"messages[{number}].{member}", "not supported in this role"

    return check


def foreign_members(body: Any) -> Places:
    for number, message in walk.messages(body):
        if message.get("role") == "tool":
            for member in message:
                if member in ("is_error", "status", "error"):
                    yield f"messages[{number}].{member}", "a result has no such member"


def unthought(body: Any) -> Places:
    thinking = body.get("thinking") if isinstance(body, dict) else None
    on = isinstance(thinking, dict) and thinking.get("type") == "enabled"
    if not on and not (isinstance(body, dict) and body.get("model") == "deepseek-reasoner"):
        return
    for number, message in walk.messages(body):
        if walk.calls(message) and not isinstance(message.get("reasoning_content"), str):
            yield f"messages[{number}].reasoning_content", "missing beside calls"


def custom(body: Any) -> Places:
    for number, message in walk.messages(body):
        for place, call in enumerate(walk.calls(message)):
            if call.get("type") == "custom":
                yield f"messages[{number}].tool_calls[{place}].type", "a custom call"
    for number, tool in walk.tools(body):
        if tool.get("type") == "custom":
            yield f"tools[{number}].type", "a custom tool"


def parameters_no_object(body: Any) -> Places:
    for number, tool in walk.tools(body):
        function = tool.get("function")
        if isinstance(function, dict) and function.get("parameters"):
            schema = function["parameters"]
            if not isinstance(schema, dict) or schema.get("type", "object") != "object":
                yield f"tools[{number}].function.parameters", "no schema of an object"


def strict_schema(body: Any) -> Places:
    for number, tool in walk.tools(body):
        function = tool.get("function")
        if isinstance(function, dict) and function.get("strict") is True:
            for lack in lacking_for_strict(function.get("parameters")):
                yield f"tools[{number}].function.parameters", lack


def tools_count(body: Any) -> Places:
    if isinstance(body, dict) and body.get("tools") == []:
        yield "tools", "an empty list of tools"
    if len(items(body, "tools")) > 128:
        yield "tools", f"{len(body['tools'])} tools"


def tools_needed(body: Any) -> Places:
    for member in ("tool_choice", "parallel_tool_calls"):
        if isinstance(body, dict) and body.get(member) is not None and not items(body, "tools"):
            yield member, f"{member} without tools"


def choice_undeclared(body: Any) -> Places:
    choice = body.get("tool_choice") if isinstance(body, dict) else None
    if isinstance(choice, dict) and (name := walk.inner(choice).get("name")) is not None:
        declared = [walk.inner(tool).get("name") for _, tool in walk.tools(body)]
        if name not in declared:
            yield "tool_choice", f"{name!r} is not declared"


def unknown_choice(*words: str) -> Check:
    """Return the check for a ``tool_choice`` that is neither one of ``words`` nor an object of a known type."""

    def check(body: Any) -> Places:
        choice = body.get("tool_choice") if isinstance(body, dict) else None
        if choice is None:
            return
        if choice not in words if not isinstance(choice, dict) else choice.get("type", "function") not in _CHOICES:
            yield "tool_choice", f"{choice!r} is no way to choose"

    return check


def two_limits(body: Any) -> Places:
    limits = ("max_tokens", "max_completion_tokens")
    if isinstance(body, dict) and all(body.get(member) is not None for member in limits):
        yield "max_tokens", "both limits at the same time"


def body_mistral(body: Any) -> Places:
    for member in body if isinstance(body, dict) else ():
        if member not in MISTRAL_MEMBERS:
            yield member, "not documented"


def body_groq(body: Any) -> Places:
    if isinstance(body, dict):
        for member in sorted(GROQ_LACKS):
            if body.get(member) is not None:
                yield member, "not supported"
        if body.get("n") not in (None, 1):
            yield "n", "more than one choice"


def schema_wanted(body: Any) -> Places:
    if isinstance(body, dict) and is_schema(body.get("response_format")):
        yield "response_format.type", "json_schema is not available"
