"""What the providers of Chat Completions refuse in a request, as data.

Sources are the providers' own documentation and error messages; ids like ORD-04 are failures reported from the field.
Where no provider is named, OpenAI's rule is meant, which its imitators copy with more or less rigour.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ...rules import Rule
from .dialects import XAI_RESERVED

Places = Iterator[tuple[str, str]]
Check = Callable[[Any], Places]
OPENAI = frozenset(("openai", "azure"))
#: Whoever is known to check that calls and results fit together as strictly as OpenAI does.
PAIRING = OPENAI | {"deepseek", "mistral", "xai", "groq"}
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SHORT = re.compile("[a-zA-Z0-9]{9}")
_STRICT_MEMBERS = {
    "groq": {
        "assistant": {"role", "content", "tool_calls", "function_call", "name", "reasoning"},
        "tool": {"role", "content", "tool_call_id", "name"},
    },
    "mistral": {
        "assistant": {"role", "content", "tool_calls", "prefix"},
        "tool": {"role", "content", "tool_call_id", "name"},
    },
}


# Walking a body that may be anything


def _messages(body: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    messages = body.get("messages") if isinstance(body, dict) else None
    for number, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, dict):
            yield number, message


def _items(holder: Any, member: str) -> list[Any]:
    items = holder.get(member) if isinstance(holder, dict) else None
    return items if isinstance(items, list) else []


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    if message.get("role") != "assistant":
        return []
    return [call for call in _items(message, "tool_calls") if isinstance(call, dict)]


def _inner(holder: dict[str, Any]) -> dict[str, Any]:
    """The function or custom object of a call or tool."""
    for kind in ("function", "custom"):
        if isinstance(inner := holder.get(kind), dict):
            return inner
    return {}


def _named(body: Any) -> Iterator[tuple[str, Any]]:
    """Every place of a tool's name in the history and the declarations."""
    for number, message in _messages(body):
        for place, call in enumerate(_calls(message)):
            yield f"messages[{number}].tool_calls[{place}].function.name", _inner(call).get("name")
    for number, tool in enumerate(_items(body, "tools")):
        if isinstance(tool, dict) and (inner := _inner(tool)):
            yield f"tools[{number}].function.name", inner.get("name")


def _ids(body: Any) -> Iterator[tuple[str, str]]:
    for number, message in _messages(body):
        for place, call in enumerate(_calls(message)):
            if isinstance(id := call.get("id"), str):
                yield f"messages[{number}].tool_calls[{place}].id", id
        if message.get("role") == "tool" and isinstance(id := message.get("tool_call_id"), str):
            yield f"messages[{number}].tool_call_id", id


def _rounds(body: Any) -> Iterator[tuple[int, list[Any], list[tuple[int, Any]]]]:
    """Each turn with calls: its place, the calls' ids, and the results (place, id) directly after it.

    Results that follow no such turn come with a place of -1.
    """
    place, ids, results = -1, list[Any](), list[tuple[int, Any]]()
    for number, message in _messages(body):
        if message.get("role") == "tool":
            results.append((number, message.get("tool_call_id")))
            continue
        yield place, ids, results
        calls = _calls(message)
        place, ids, results = (number if calls else -1), [call.get("id") for call in calls], []
    yield place, ids, results


# The rules


def _no_messages(body: Any) -> Places:
    if not _items(body, "messages"):
        yield "messages", "there is no message"


def _unknown_role(body: Any) -> Places:
    for number, message in _messages(body):
        if message.get("role") not in _ROLES:
            yield f"messages[{number}].role", f"{message.get('role')!r} is no role"


def _unanswered(body: Any) -> Places:
    for place, ids, results in _rounds(body):
        given = [id for _, id in results]
        for number, id in enumerate(ids):
            if id not in given:
                yield f"messages[{place}].tool_calls[{number}]", f"no result for {id!r} directly after"


def _orphans(body: Any) -> Places:
    for place, ids, results in _rounds(body):
        for number, id in results:
            if place < 0:
                yield f"messages[{number}]", "a result that follows no turn with calls"
            elif id not in ids:
                yield f"messages[{number}].tool_call_id", f"{id!r} is no call of the turn before"


def _answered_twice(body: Any) -> Places:
    for _, _, results in _rounds(body):
        seen: list[Any] = []
        for number, id in results:
            if id in seen:
                yield f"messages[{number}].tool_call_id", f"a second result for {id!r}"
            seen.append(id)


def _id_missing(body: Any) -> Places:
    for number, message in _messages(body):
        for place, call in enumerate(_calls(message)):
            if not isinstance(call.get("id"), str) or not call["id"]:
                yield f"messages[{number}].tool_calls[{place}].id", "a call without an id"
        if message.get("role") == "tool" and not (
            message.get("tool_call_id") and isinstance(message["tool_call_id"], str)
        ):
            yield f"messages[{number}].tool_call_id", "a result without the id of its call"


def _id_repeated(body: Any) -> Places:
    for place, ids, _ in _rounds(body):
        for number, id in enumerate(ids):
            if id in ids[:number]:
                yield f"messages[{place}].tool_calls[{number}].id", f"{id!r} stands twice in one turn"


def _id_long(body: Any) -> Places:
    for path, id in _ids(body):
        if len(id) > 40:
            yield path, f"{len(id)} characters"


def _id_not_short(body: Any) -> Places:
    for path, id in _ids(body):
        if not _SHORT.fullmatch(id):
            yield path, f"{id!r} is not 9 letters and figures"


def _bad_name(body: Any) -> Places:
    for path, name in _named(body):
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield path, f"{name!r} does not match {_NAME.pattern}"


def _reserved_name(body: Any) -> Places:
    for path, name in _named(body):
        if isinstance(name, str) and name in XAI_RESERVED:
            yield path, f"{name} is reserved"


def _arguments_no_text(body: Any) -> Places:
    for number, message in _messages(body):
        for place, call in enumerate(_calls(message)):
            function = call.get("function")
            if isinstance(function, dict) and not isinstance(function.get("arguments"), str):
                yield f"messages[{number}].tool_calls[{place}].function.arguments", "no text"


def _no_calls(body: Any) -> Places:
    for number, message in _messages(body):
        if message.get("tool_calls") == []:
            yield f"messages[{number}].tool_calls", "an empty list of calls"


def _no_content(body: Any) -> Places:
    for number, message in _messages(body):
        content = message.get("content")
        path = f"messages[{number}].content"
        if message.get("role") == "assistant" and not content and not isinstance(content, str):
            if not any(message.get(m) for m in ("tool_calls", "function_call", "refusal", "audio")):
                yield path, "neither content nor calls"
        elif content == []:
            yield path, "an empty list of parts"
        elif not isinstance(content, (str, list)):
            yield path, "no content"


def _content_no_text(body: Any) -> Places:
    for number, message in _messages(body):
        if _calls(message) and not isinstance(message.get("content"), str) and not message.get("content"):
            yield f"messages[{number}].content", "calls without a content text"


def _result_media(body: Any) -> Places:
    for number, message in _messages(body):
        if message.get("role") == "tool":
            for place, part in enumerate(_items(message, "content")):
                if not isinstance(part, dict) or part.get("type") != "text":
                    yield f"messages[{number}].content[{place}]", "a result holds text only"


def _function_nameless(body: Any) -> Places:
    for number, message in _messages(body):
        if message.get("role") == "function" and not (isinstance(message.get("name"), str) and message["name"]):
            yield f"messages[{number}].name", "a function's result without the function's name"


def _user_after_tool(body: Any) -> Places:
    before = None
    for number, message in _messages(body):
        role = message.get("role")
        if before == "tool" and role in ("user", "system"):
            yield f"messages[{number}].role", f"{role!r} after 'tool'"
        before = role


def _assistant_last(body: Any) -> Places:
    last = next(reversed(list(_messages(body))), None)
    if last and last[1].get("role") == "assistant" and not last[1].get("prefix") and not _calls(last[1]):
        yield f"messages[{last[0]}].role", "the last turn is the assistant's"


def _undocumented(provider: str) -> Check:
    def check(body: Any) -> Places:
        for number, message in _messages(body):
            role = message.get("role")
            known = _STRICT_MEMBERS[provider].get(role) if isinstance(role, str) else None
            for member in message if known else ():
                if known and member not in known:
                    yield f"messages[{number}].{member}", "not supported in this role"

    return check


def _foreign_members(body: Any) -> Places:
    for number, message in _messages(body):
        if message.get("role") == "tool":
            for member in message:
                if member in ("is_error", "status", "error"):
                    yield f"messages[{number}].{member}", "a result has no such member"


def _unthought(body: Any) -> Places:
    thinking = body.get("thinking") if isinstance(body, dict) else None
    on = isinstance(thinking, dict) and thinking.get("type") == "enabled"
    if not on and not (isinstance(body, dict) and body.get("model") == "deepseek-reasoner"):
        return
    for number, message in _messages(body):
        if _calls(message) and not isinstance(message.get("reasoning_content"), str):
            yield f"messages[{number}].reasoning_content", "missing beside calls"


def _custom(body: Any) -> Places:
    for number, message in _messages(body):
        for place, call in enumerate(_calls(message)):
            if call.get("type") == "custom":
                yield f"messages[{number}].tool_calls[{place}].type", "a custom call"
    for number, tool in enumerate(_items(body, "tools")):
        if isinstance(tool, dict) and tool.get("type") == "custom":
            yield f"tools[{number}].type", "a custom tool"


def _parameters_no_object(body: Any) -> Places:
    for number, tool in enumerate(_items(body, "tools")):
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict) and function.get("parameters"):
            schema = function["parameters"]
            if not isinstance(schema, dict) or schema.get("type", "object") != "object":
                yield f"tools[{number}].function.parameters", "no schema of an object"


def _tools_count(body: Any) -> Places:
    if isinstance(body, dict) and body.get("tools") == []:
        yield "tools", "an empty list of tools"
    if len(_items(body, "tools")) > 128:
        yield "tools", f"{len(body['tools'])} tools"


def _needs_tools(body: Any) -> Places:
    for member in ("tool_choice", "parallel_tool_calls"):
        if isinstance(body, dict) and body.get(member) is not None and not _items(body, "tools"):
            yield member, f"{member} without tools"


def _choice_undeclared(body: Any) -> Places:
    choice = body.get("tool_choice") if isinstance(body, dict) else None
    if isinstance(choice, dict) and (name := _inner(choice).get("name")) is not None:
        declared = [_inner(tool).get("name") for tool in _items(body, "tools") if isinstance(tool, dict)]
        if name not in declared:
            yield "tool_choice", f"{name!r} is not declared"


def _rule(
    id: str, check: Check, reason: str, source: str, providers: frozenset[str] | None = None, **more: Any
) -> Rule:
    return Rule(id, reason, source, check, providers, **more)


_MISTRAL = frozenset(("mistral",))
_INVALID_CALL = "invalid_function_call"

RULES: tuple[Rule, ...] = (
    _rule("messages-empty", _no_messages, "A request holds at least one message.", "OpenAI API reference"),
    _rule("role-unknown", _unknown_role, "A message's role is one of the documented ones.", "OpenAI API reference"),
    _rule(
        "call-unanswered",
        _unanswered,
        "A turn with calls is followed at once by one tool message for each call.",
        "OpenAI's error message; HIST-06",
        PAIRING,
    ),
    _rule(
        "result-orphan",
        _orphans,
        "A tool message answers a call of the assistant turn directly before it.",
        "OpenAI's error message; HIST-07, HIST-30",
        PAIRING,
    ),
    _rule("result-duplicate", _answered_twice, "A call is answered once.", "OpenAI's error message; ID-08", PAIRING),
    _rule("id-missing", _id_missing, "Calls and their results carry the call's id.", "OpenAI API reference", PAIRING),
    _rule("id-repeated", _id_repeated, "The ids of one turn's calls differ.", "ID-09", PAIRING),
    _rule("id-long", _id_long, "An id has at most 40 characters.", "OpenAI's error message; ID-13", OPENAI),
    _rule(
        "id-short",
        _id_not_short,
        "An id is exactly 9 letters and figures.",
        "Mistral's error message; ID-13",
        _MISTRAL,
        error_type=_INVALID_CALL,
    ),
    _rule("name-pattern", _bad_name, "A tool's name is 1 to 64 of a-z A-Z 0-9 _ -.", "OpenAI API reference; NAME-04"),
    _rule("name-reserved", _reserved_name, "xAI keeps the names of its own tools.", "XAI-08", frozenset(("xai",))),
    _rule("arguments-text", _arguments_no_text, "Arguments are JSON as text.", "OpenAI API reference", OPENAI),
    _rule("calls-empty", _no_calls, "A list of calls is not empty.", "OpenAI's error message", OPENAI),
    _rule(
        "content-missing",
        _no_content,
        "A message has content; only an assistant's with calls or a refusal may lack it.",
        "OpenAI API reference",
        OPENAI,
    ),
    _rule(
        "content-text",
        _content_no_text,
        "xAI wants a content text beside calls, '' at least.",
        "EMPTY-01 (recordings of grok-3 show that it once took an empty list)",
        frozenset(("xai",)),
    ),
    _rule("result-text", _result_media, "A tool message's parts are text.", "OpenAI API reference; RES-03", OPENAI),
    _rule("result-members", _foreign_members, "A tool message has no flag for failure.", "RES-02"),
    _rule("function-name", _function_nameless, "A function message names its function.", "OpenAI API reference"),
    _rule(
        "user-after-tool",
        _user_after_tool,
        "The assistant speaks between a tool's result and the user.",
        "Mistral's error message; ORD-04",
        _MISTRAL,
    ),
    _rule(
        "assistant-last",
        _assistant_last,
        "The last message is a user's or a tool's, or an assistant's prefix.",
        "Mistral's error message",
        _MISTRAL,
    ),
    _rule(
        "member-groq",
        _undocumented("groq"),
        "Groq refuses members of a message that it does not document.",
        "Groq's error message (property is unsupported)",
        frozenset(("groq",)),
    ),
    _rule(
        "member-mistral",
        _undocumented("mistral"),
        "Mistral refuses members of a message that it does not document.",
        "Mistral's error message (extra inputs are not permitted)",
        _MISTRAL,
        status=422,
    ),
    _rule(
        "reasoning-missing",
        _unthought,
        "While DeepSeek thinks, turns with calls carry their reasoning_content.",
        "DeepSeek's guide on thinking mode and its error message",
        frozenset(("deepseek",)),
    ),
    _rule(
        "custom-tool",
        _custom,
        "Free-text tools are OpenAI's alone.",
        "The providers' API references",
        frozenset(("mistral", "deepseek", "groq", "xai")),
    ),
    _rule(
        "parameters-object",
        _parameters_no_object,
        "A function's parameters are the schema of an object.",
        "OpenAI's error message",
        OPENAI | {"deepseek"},
    ),
    _rule("tools-count", _tools_count, "There are 1 to 128 tools, or no list.", "OpenAI API reference", OPENAI),
    _rule(
        "tools-needed",
        _needs_tools,
        "tool_choice and parallel_tool_calls need tools beside them.",
        "OpenAI's error message",
        OPENAI,
    ),
    _rule(
        "choice-undeclared", _choice_undeclared, "A tool that is chosen is declared.", "OpenAI's error message", OPENAI
    ),
)
