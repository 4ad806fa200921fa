"""Checks of the request rules of the Messages API: each yields (path, message) for every violation in a body.

A body may be any value. No check raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..traverse import items
from .walk import Blocks, Run, blocks, dicts, id_of, ids_of, runs, text

Found = Iterator[tuple[str, str]]

_ROLES = ("user", "assistant", "system")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_CHOICES = ("auto", "any", "tool", "none")
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_OF_MODEL = ("tool_use", "server_tool_use", "mcp_tool_use", "thinking", "redacted_thinking")
#: Known block types (`anthropic.types.beta.BetaContentBlockParam`), except results of server tools.
_BLOCKS = frozenset(
    """
    text image document search_result thinking redacted_thinking tool_use tool_result server_tool_use mcp_tool_use
    container_upload compaction fallback mcp_tool_listing tool_addition tool_removal
    """.split()  # noqa: SIM905 - a list of words reads better so
)
_UNIONS = ("oneOf", "anyOf", "allOf")
_MARKS = 4


def messages(body: Any) -> Found:
    given = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(given, list):
        yield "messages", "must be a list"
    elif not given:
        yield "messages", "at least one message is required"


def block_types(body: Any) -> Found:
    """Check the block types. Assistant messages may have any type, as the provider may have sent types unknown here."""
    for number, message in enumerate(items(body, "messages")):
        content = message.get("content") if isinstance(message, dict) else None
        for place, block in enumerate(content if isinstance(content, list) else ()):
            kind = block.get("type") if isinstance(block, dict) else None
            known = kind in _BLOCKS or kind.endswith("_tool_result") if isinstance(kind, str) else False
            if not known and not (isinstance(kind, str) and message.get("role") == "assistant"):
                yield f"messages[{number}].content[{place}]", f"{kind!r} is the type of no block"


def whose_blocks(body: Any) -> Found:
    for run in runs(body):
        for path, block in run.of(*_OF_MODEL) if run.role == "user" else run.of("tool_result"):
            if run.role in ("user", "assistant"):
                yield path, f"a {block['type']} block in a message of the {run.role}"


def url_images(body: Any) -> Found:
    for path, block in blocks(body, within=True):
        source = block.get("source")
        if block.get("type") == "image" and isinstance(source, dict) and source.get("type") == "url":
            yield f"{path}.source", "an image by its address"


def budget(body: Any) -> Found:
    """Check that the thinking budget is less than max_tokens.

    Requests with tools are not checked, because interleaved thinking, which a header enables, may exceed the limit.
    """
    limit, given = (body.get("max_tokens"), body["thinking"].get("budget_tokens")) if _thinks(body) else (None, None)
    if type(limit) is int and type(given) is int and given >= limit and not items(body, "tools"):
        yield "thinking.budget_tokens", f"{given} is not less than max_tokens, {limit}"


def cool(body: Any) -> Found:
    temperature = body.get("temperature") if _thinks(body) else None
    if temperature is not None and temperature != 1:
        yield "temperature", f"thinking is enabled, and it is {temperature!r}"


def roles(body: Any) -> Found:
    for number, message in enumerate(items(body, "messages")):
        if not isinstance(message, dict):
            yield f"messages[{number}]", "is no object"
        elif message.get("role") not in _ROLES:
            yield f"messages[{number}].role", f"{message.get('role')!r} is none of {', '.join(_ROLES)}"


def limit(body: Any) -> Found:
    limit = body.get("max_tokens") if isinstance(body, dict) else None
    if type(limit) is not int or limit < 1:
        yield "max_tokens", "must be a positive number"


def content(body: Any) -> Found:
    given = items(body, "messages")
    for number, message in enumerate(given):
        if not isinstance(message, dict) or message.get("content"):
            continue
        last = number == len(given) - 1 and message.get("role") == "assistant"
        if not last and not (message.get("role") == "system" and message.get("output_config")):
            yield f"messages[{number}].content", "is empty"


def empty_text(body: Any) -> Found:
    for path, block in blocks(body, system=True, within=True):
        if block.get("type") == "text" and not text(block.get("text")):
            yield f"{path}.text", "is empty"


def only_space(body: Any) -> Found:
    for number, message in enumerate(dicts(items(body, "messages"))):
        content = message.get("content")
        words = [content] if isinstance(content, str) else _texts(content)
        if words and any(words) and not any(word.strip() for word in words):
            yield f"messages[{number}].content", "holds nothing but white space"


def _texts(content: Any) -> list[str]:
    """Return the texts of a content list that has only text blocks, or an empty list for any other content."""
    if not isinstance(content, list) or any(b.get("type") != "text" for b in dicts(content)):
        return []
    return [text(block.get("text")) for block in dicts(content)]


def trailing_space(body: Any) -> Found:
    given = items(body, "messages")
    last = given[-1] if given else None
    if not isinstance(last, dict) or last.get("role") != "assistant":
        return
    content = last.get("content")
    if isinstance(content, list) and content and isinstance(content[-1], dict):
        content = content[-1].get("text") if content[-1].get("type") == "text" else None
    if isinstance(content, str) and content != content.rstrip():
        yield f"messages[{len(given) - 1}].content", "ends with white space"


def _pairs(body: Any) -> Iterator[tuple[Run, Run | None]]:
    """Yield each assistant turn with the turn after it, or None if it is the last turn."""
    all_runs = runs(body)
    for number, run in enumerate(all_runs):
        if run.role == "assistant":
            yield run, all_runs[number + 1] if number + 1 < len(all_runs) else None


def answered(body: Any) -> Found:
    for run, after in _pairs(body):
        if after is None:
            continue
        answers = ids_of(after.of("tool_result"), "tool_use_id") if after.role == "user" else set()
        for path, block in run.of("tool_use"):
            if id_of(block, "id") not in answers:
                yield path, f"{block.get('id')} has no tool_result directly after it"


def leading(body: Any) -> Found:
    for run in runs(body):
        begun = False
        for path, block in run.blocks:
            result = block.get("type") == "tool_result"
            if result and begun:
                yield path, "a tool_result stands behind other content"
            begun = begun or not result


def asked_for(body: Any) -> Found:
    before: Run | None = None
    for run in runs(body):
        calls = ids_of(before.of("tool_use"), "id") if before is not None else set()
        for path, block in run.of("tool_result"):
            if id_of(block, "tool_use_id") not in calls:
                yield path, f"the turn before holds no tool_use {block.get('tool_use_id')}"
        before = run


def once(body: Any) -> Found:
    for run in runs(body):
        yield from _repeated(run.of("tool_result"), "tool_use_id", "is answered twice")


def unique(body: Any) -> Found:
    calls = [(p, b) for p, b in blocks(body) if b.get("type") in ("tool_use", *_SERVER_CALLS)]
    yield from _repeated(calls, "id", "is used twice")


def _repeated(found: Blocks, member: str, words: str) -> Found:
    seen: set[str | None] = set()
    for path, block in found:
        id = id_of(block, member)
        if id in seen:
            yield f"{path}.{member}", f"{id} {words}"
        seen.add(id)


def id_format(body: Any) -> Found:
    for path, block in blocks(body):
        kind = block.get("type")
        member = "id" if kind in ("tool_use", "mcp_tool_use") else "tool_use_id" if kind == "tool_result" else None
        if member is not None and not _ID.fullmatch(text(block.get(member))):
            yield f"{path}.{member}", f"{block.get(member)!r} does not match ^{_ID.pattern}$"


def server_id_format(body: Any) -> Found:
    for path, block in blocks(body):
        if block.get("type") == "server_tool_use" and not _SERVER_ID.fullmatch(text(block.get("id"))):
            yield f"{path}.id", f"{block.get('id')!r} does not match ^{_SERVER_ID.pattern}$"


def inputs(body: Any) -> Found:
    for path, block in blocks(body):
        if block.get("type") in ("tool_use", *_SERVER_CALLS) and not isinstance(block.get("input"), dict):
            yield f"{path}.input", "is no object"


def names(body: Any) -> Found:
    for number, tool in enumerate(items(body, "tools")):
        if _is_custom(tool) and not _NAME.fullmatch(text(tool.get("name"))):
            yield f"tools[{number}].name", f"{tool.get('name')!r} does not match ^{_NAME.pattern}$"
    for path, block in blocks(body):
        if block.get("type") == "tool_use" and not _NAME.fullmatch(text(block.get("name"))):
            yield f"{path}.name", f"{block.get('name')!r} does not match ^{_NAME.pattern}$"


def _is_custom(tool: Any) -> bool:
    return isinstance(tool, dict) and tool.get("type") in (None, "custom")


def unique_names(body: Any) -> Found:
    tools = [(f"tools[{n}]", t) for n, t in enumerate(items(body, "tools")) if isinstance(t, dict) and "name" in t]
    yield from _repeated(tools, "name", "is declared twice")


def schemas(body: Any) -> Found:
    for number, tool in enumerate(items(body, "tools")):
        if not _is_custom(tool):
            continue
        schema = tool.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"tools[{number}].input_schema", "is no schema of type object"
        elif any(union in schema for union in _UNIONS):
            yield f"tools[{number}].input_schema", f"has one of {', '.join(_UNIONS)} at its top"


def signed(body: Any) -> Found:
    for path, block in blocks(body):
        if block.get("type") == "thinking" and not text(block.get("signature")):
            yield f"{path}.signature", "thinking without a signature"
        elif block.get("type") == "redacted_thinking" and not text(block.get("data")):
            yield f"{path}.data", "redacted thinking without its data"


def thinking_first(body: Any) -> Found:
    if not _thinks(body):
        return
    last = list(_pairs(body))[-1:]
    for run, after in last:
        if after is None or not after.of("tool_result") or not run.of("tool_use"):
            return
        path, first = run.blocks[0]
        if first.get("type") not in ("thinking", "redacted_thinking"):
            yield path, "thinking is enabled and the turn that called the tools does not begin with it"


def _thinks(body: Any) -> bool:
    thinking = body.get("thinking") if isinstance(body, dict) else None
    return isinstance(thinking, dict) and thinking.get("type") == "enabled"


def thinking_last(body: Any) -> Found:
    for run, _ in _pairs(body):
        if run.blocks and run.blocks[-1][1].get("type") in ("thinking", "redacted_thinking"):
            yield run.blocks[-1][0], "the last block of an assistant turn is thinking"


def server_pairs(body: Any) -> Found:
    """Check that each server call has its result in its turn, unless the turn is paused or waits for tool results."""
    for run, after in _pairs(body):
        results = [id for _, block in run.blocks if _is_server_result(block) for id in [block.get("tool_use_id")]]
        waiting = after is None or bool(run.of("tool_use"))
        for path, block in run.of(*_SERVER_CALLS):
            if not waiting and block.get("id") not in results:
                yield path, f"{block.get('name')} ({block.get('id')}) has no result in its turn"


def server_results(body: Any) -> Found:
    pending: list[Any] = []
    for run, _ in _pairs(body):
        calls: list[Any] = []
        results: list[Any] = []
        for path, block in run.blocks:
            if block.get("type") in _SERVER_CALLS:
                calls.append(block.get("id"))
            elif _is_server_result(block):
                results.append(block.get("tool_use_id"))
                if block.get("tool_use_id") not in calls and block.get("tool_use_id") not in pending:
                    yield path, f"{block.get('type')} for {block.get('tool_use_id')}, which its turn does not call"
        # code that waits for a client tool gets its result in a later turn
        pending = [id for id in (*pending, *calls) if id not in results] if run.of("tool_use") else []


def _is_server_result(block: dict[str, Any]) -> bool:
    kind = text(block.get("type"))
    return kind.endswith("_tool_result") and "tool_use_id" in block


def errors(body: Any) -> Found:
    for path, block in blocks(body):
        if block.get("type") != "tool_result" or block.get("is_error") is not True:
            continue
        content = block.get("content")
        if not content:
            yield f"{path}.content", "an error result without content"
        elif isinstance(content, list) and any(part.get("type") != "text" for part in dicts(content)):
            yield f"{path}.content", "an error result that holds more than text"


def choice(body: Any) -> Found:
    choice = body.get("tool_choice") if isinstance(body, dict) else None
    if choice is None:
        return
    kind = choice.get("type") if isinstance(choice, dict) else None
    tools = items(body, "tools")
    if kind not in _CHOICES:
        yield "tool_choice.type", f"{kind!r} is none of {', '.join(_CHOICES)}"
    elif not tools:
        yield "tool_choice", "there are no tools to choose from"
    elif kind == "tool" and choice.get("name") not in [tool.get("name") for tool in dicts(tools)]:
        yield "tool_choice.name", f"{choice.get('name')!r} is not declared"


def forced(body: Any) -> Found:
    choice = body.get("tool_choice") if isinstance(body, dict) else None
    if _thinks(body) and isinstance(choice, dict) and choice.get("type") in ("any", "tool"):
        yield "tool_choice", "thinking is enabled, and it allows only auto and none"


def cache_marks(body: Any) -> Found:
    marked = [path for path, block in blocks(body, system=True, within=True) if block.get("cache_control")]
    for number, tool in enumerate(items(body, "tools")):
        if isinstance(tool, dict) and tool.get("cache_control"):
            marked.append(f"tools[{number}]")
    if len(marked) > _MARKS:
        yield f"{marked[_MARKS]}.cache_control", f"{len(marked)} cache marks, at most {_MARKS} are allowed"


def container(body: Any) -> Found:
    """Check that the request names the container if code in it called a tool and waits for the result."""
    if not isinstance(body, dict) or body.get("container"):
        return
    turns = runs(body)
    waiting = turns[-2].of("tool_use") if len(turns) > 1 and turns[-2].role == "assistant" else []
    for _, block in waiting:
        caller = block.get("caller")
        if isinstance(caller, dict) and text(caller.get("type")).startswith("code_execution"):
            yield "container", f"{block.get('id')} was called by code; the container it runs in must be named"
            return
