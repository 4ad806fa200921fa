"""Checks for the request rules of the Responses endpoints.

Each check yields path and description of every violation. None raises, whatever the body.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ..strict_schema import lacking_for_strict
from ..xai_tools import RESERVED_ON_RESPONSES
from .results import OUTPUTS
from .write import SMALLEST_LIMIT
from .write_assistant import LONGEST_ID, PREFIXES

Broken = Iterator[tuple[str, str]]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ROLES = frozenset(("user", "assistant", "system", "developer"))
#: Call that the client may have to answer -> type of its output.
_CALLS = {output.removesuffix("_output"): output for output in OUTPUTS if output != "tool_search_output"}
_CALLS["tool_search_call"] = "tool_search_output"
#: Items that only the client writes. They cannot be the item that has to follow reasoning.
_BY_CALLER = frozenset((*OUTPUTS, "mcp_approval_response", "additional_tools", "item_reference"))
#: Types of items (`openai.types.responses.ResponseInputItemParam`), except for calls, which end with `_call`.
_ITEMS = _BY_CALLER | {
    *("message", "reasoning", "compaction", "compaction_trigger", "configuration_update", "program", "program_output"),
    *("mcp_list_tools", "mcp_approval_request", "additional_tools", "multi_agent_call_output"),
}
_PARTS = frozenset(("input_text", "input_image", "input_file"))
#: Outputs that may be a list of parts.
_OF_PARTS = frozenset(("function_call_output", "custom_tool_call_output"))
_MODES = frozenset(("none", "auto", "required"))


def _items(body: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield path, item and type of every item that is an object."""
    given = body.get("input") if isinstance(body, dict) else None
    for number, item in enumerate(given if isinstance(given, list) else ()):
        if isinstance(item, dict):
            kind = item.get("type", "message")
            yield f"input[{number}]", item, kind if isinstance(kind, str) else ""


def _tools(body: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    given = body.get("tools") if isinstance(body, dict) else None
    for number, tool in enumerate(given if isinstance(given, list) else ()):
        if isinstance(tool, dict):
            yield f"tools[{number}]", tool


def _is_client(item: dict[str, Any], kind: str) -> bool:
    """Whether the item is a client call."""
    if kind not in _CALLS:
        return False
    if kind == "tool_search_call":
        return item.get("execution") == "client"
    environment = item.get("environment")
    return not (isinstance(environment, dict) and environment.get("type") not in (None, "local"))


def _asks_for(item: dict[str, Any]) -> str | None:
    id = item.get("call_id")
    id = item.get("id") if id is None and item.get("type") == "local_shell_call_output" else id
    return id if isinstance(id, str) else None


def _chained(body: Any) -> bool:
    """Whether the provider keeps items that this body does not contain."""
    if not isinstance(body, dict):
        return True
    kept = any(body.get(name) is not None for name in ("previous_response_id", "conversation", "prompt"))
    return kept or any(kind == "item_reference" for _, _, kind in _items(body))


def nothing(body: Any) -> Broken:
    if isinstance(body, dict) and body.get("input") in (None, [], "") and not _chained(body):
        yield "input", "there is neither an input nor a history that the provider keeps"


def two_anchors(body: Any) -> Broken:
    if isinstance(body, dict) and body.get("previous_response_id") and body.get("conversation"):
        yield "conversation", "previous_response_id stands beside it"


def roles(body: Any) -> Broken:
    for path, item, kind in _items(body):
        role = item.get("role")
        if kind == "message" and not (isinstance(role, str) and role in _ROLES):
            yield path, f"the role is {role!r}"


def items(body: Any) -> Broken:
    given = body.get("input") if isinstance(body, dict) else None
    for number, item in enumerate(given if isinstance(given, list) else ()):
        kind = item.get("type", "message") if isinstance(item, dict) else None
        known = isinstance(kind, str) and (kind in _ITEMS or kind.endswith("_call"))
        # An unknown item with an id is the provider's, of a type newer than this table, and goes back (law `unknown`).
        if not known and not (isinstance(kind, str) and isinstance(item.get("id"), str)):
            yield f"input[{number}]", f"{kind!r} is the type of no item"
        elif kind == "message" and not isinstance(item.get("content"), (str, list)):
            yield f"input[{number}].content", "it is neither a string nor a list of parts"


def part_types(body: Any) -> Broken:
    for path, item, kind in _items(body):
        content = item.get("content")
        if kind != "message" or not isinstance(content, list):
            continue
        said = item.get("role") == "assistant"
        for number, part in enumerate(content):
            of = part.get("type") if isinstance(part, dict) else None
            fits = isinstance(of, str) and (of in ("output_text", "refusal") if said else of.startswith("input_"))
            if not fits:
                yield f"{path}.content[{number}]", f"a part of type {of!r} in a message of {item.get('role')!r}"


def of_xai(check: Callable[[Any], Broken]) -> Callable[[Any], Broken]:
    """Return a check that ignores xAI's own calls: custom calls of undeclared tools (failure SRV-09)."""

    def checked(body: Any) -> Broken:
        names = {tool.get("name") for _, tool in _tools(body) if tool.get("type") == "custom"}
        own = [
            kind == "custom_tool_call" and item.get("name") not in names and isinstance(item.get("name"), str)
            for _, item, kind in _items(body)
        ]
        if not any(own):
            return check(body)
        mine = iter(own)
        items = [{} if isinstance(item, dict) and next(mine) else item for item in body["input"]]
        return check({**body, "input": items})

    return checked


def call_ids(body: Any) -> Broken:
    for path, item, kind in _items(body):
        if _is_client(item, kind) or (kind in OUTPUTS and kind != "tool_search_output"):
            id = _asks_for(item)
            if not id:
                yield f"{path}.call_id", "there is none"
            elif len(id) > LONGEST_ID:
                yield f"{path}.call_id", f"it has {len(id)} characters"


def item_ids(body: Any) -> Broken:
    for path, item, kind in _items(body):
        id, prefix = item.get("id"), PREFIXES.get(kind)
        if isinstance(id, str) and prefix and item.get("role") in (None, "assistant") and not id.startswith(prefix):
            yield f"{path}.id", f"{id!r} does not begin with {prefix!r}"


def repeated_items(body: Any) -> Broken:
    seen: set[str] = set()
    for path, item, kind in _items(body):
        id = item.get("id")
        if isinstance(id, str) and kind != "local_shell_call_output":
            if id in seen:
                yield f"{path}.id", f"{id!r} stands there twice"
            seen.add(id)


def call_texts(body: Any) -> Broken:
    for path, item, kind in _items(body):
        member = {"function_call": "arguments", "custom_tool_call": "input"}.get(kind)
        if member and not isinstance(item.get(member), str):
            yield f"{path}.{member}", "it is no string"


def output_parts(body: Any) -> Broken:
    for path, item, kind in _items(body):
        output = item.get("output") if kind in _OF_PARTS else None
        for number, part in enumerate(output if isinstance(output, list) else ()):
            of = part.get("type") if isinstance(part, dict) else None
            if not (isinstance(of, str) and of in _PARTS):
                yield f"{path}.output[{number}]", f"a part of type {of!r} in an output"


def outputs(body: Any) -> Broken:
    for path, item, kind in _items(body):
        if kind not in OUTPUTS or kind in ("apply_patch_call_output", "tool_search_output"):
            continue
        output = item.get("output")
        if output is None:
            yield f"{path}.output", "it is missing"
        elif kind in _OF_PARTS and not isinstance(output, (str, list)):
            yield f"{path}.output", "it is neither a string nor a list of parts"
        elif kind == "computer_call_output" and not isinstance(output, dict):
            yield f"{path}.output", "it is no picture of the screen"


def unanswered(body: Any) -> Broken:
    open_calls: dict[tuple[str, str], list[str]] = {}
    for path, item, kind in _items(body):
        id = _asks_for(item)
        if id is not None and _is_client(item, kind):
            open_calls.setdefault((_CALLS[kind], id), []).append(path)
        elif id is not None and kind in OUTPUTS:
            waiting = open_calls.get((kind, id)) or _of_any_type(open_calls, id)
            if waiting:
                waiting.pop(0)
    for (_, id), paths in open_calls.items():
        for path in paths:
            yield path, f"nothing answers {id}"


def _of_any_type(open_calls: dict[tuple[str, str], list[str]], id: str) -> list[str]:
    return next((paths for (_, known), paths in open_calls.items() if known == id and paths), [])


def orphans(body: Any) -> Broken:
    if _chained(body):
        return
    asked: set[str] = set()
    for path, item, kind in _items(body):
        id = _asks_for(item)
        if id is None:
            continue
        if kind in OUTPUTS:
            if id not in asked and not (kind == "tool_search_output" and item.get("execution") != "client"):
                yield path, f"no call before it has the id {id}"
        else:
            asked.add(id)


def answered_twice(body: Any) -> Broken:
    left: dict[tuple[str, str], int] = {}
    for path, item, kind in _items(body):
        id = _asks_for(item)
        if id is None:
            continue
        if _is_client(item, kind):
            left[_CALLS[kind], id] = left.get((_CALLS[kind], id), 0) + 1
        elif (kind, id) in left:
            left[kind, id] -= 1
            if left[kind, id] < 0:
                yield path, f"{id} was answered before"


def approvals(body: Any) -> Broken:
    if _chained(body):
        return
    asked: set[Any] = set()
    for path, item, kind in _items(body):
        if kind == "mcp_approval_request" and isinstance(item.get("id"), str):
            asked.add(item["id"])
        elif kind == "mcp_approval_response":
            id = item.get("approval_request_id")
            if not isinstance(id, str) or id not in asked:
                yield path, f"nothing asked for {id!r}"


def summaries(body: Any) -> Broken:
    for path, item, kind in _items(body):
        if kind == "reasoning" and not isinstance(item.get("summary"), list):
            yield f"{path}.summary", "it is missing"


def lost_reasoning(body: Any) -> Broken:
    if not isinstance(body, dict) or body.get("store") is not False:
        return
    for path, item, kind in _items(body):
        if kind == "reasoning" and item.get("id") and not item.get("encrypted_content"):
            yield path, f"{item['id']} was not stored and brings no encrypted content"


def alone(body: Any) -> Broken:
    items = list(_items(body))
    for (path, item, kind), following in zip(items, [*items[1:], None], strict=False):
        if kind != "reasoning" or not item.get("id"):
            continue
        by_caller = following is not None and (
            following[2] in _BY_CALLER
            or (following[2] == "message" and following[1].get("role") in ("user", "system", "developer"))
        )
        if following is None or by_caller:
            yield path, "nothing of the same answer follows it"


def media(body: Any) -> Broken:
    for path, item, _ in _items(body):
        for member in ("content", "output"):
            parts = item.get(member)
            for number, part in enumerate(parts if isinstance(parts, list) else ()):
                if isinstance(part, dict):
                    for message in _medium(part):
                        yield f"{path}.{member}[{number}]", message


def _medium(part: dict[str, Any]) -> Iterator[str]:
    if part.get("type") == "input_image":
        if len([m for m in ("image_url", "file_id") if part.get(m) is not None]) != 1:
            yield "an image has exactly one of image_url and file_id"
        elif part.get("image_url") is not None and not isinstance(part["image_url"], str):
            yield "image_url is no string"
    elif part.get("type") == "input_file":
        given = [m for m in ("file_data", "file_url", "file_id") if part.get(m) is not None]
        if len(given) != 1:
            yield "a file has exactly one of file_data, file_url and file_id"
        elif given == ["file_data"] and not part.get("filename"):
            yield "file_data without a filename"


def names(body: Any) -> Broken:
    for path, tool in _tools(body):
        if tool.get("type") in ("function", "custom"):
            name = tool.get("name")
            if name is None:
                yield f"{path}.name", "it is missing"
            elif not (isinstance(name, str) and _NAME.fullmatch(name)):
                yield f"{path}.name", f"{name!r} is no name"
    for path, item, kind in _items(body):
        if kind in ("function_call", "custom_tool_call"):
            name = item.get("name")
            if not (isinstance(name, str) and _NAME.fullmatch(name)):
                yield f"{path}.name", f"{name!r} is no name"


def reserved(body: Any) -> Broken:
    for path, tool in _tools(body):
        if tool.get("type") in ("function", "custom") and tool.get("name") in tuple(RESERVED_ON_RESPONSES):
            yield f"{path}.name", f"{tool['name']} is a tool of the provider's own"


def same_names(body: Any) -> Broken:
    seen: set[str] = set()
    for path, tool in _tools(body):
        name = tool.get("name")
        if tool.get("type") in ("function", "custom") and isinstance(name, str):
            if name in seen:
                yield f"{path}.name", f"{name!r} is declared twice"
            seen.add(name)


def schemas(body: Any) -> Broken:
    for path, tool in _tools(body):
        schema = tool.get("parameters")
        if tool.get("type") == "function" and isinstance(schema, dict) and schema.get("type") not in (None, "object"):
            yield f"{path}.parameters", f"their type is {schema.get('type')!r}"


def strict_schemas(body: Any) -> Broken:
    for path, tool in _tools(body):
        schema = tool.get("parameters")
        if tool.get("type") == "function" and tool.get("strict") is True and isinstance(schema, dict):
            for lacking in lacking_for_strict(schema):
                yield f"{path}.parameters", lacking


def choice(body: Any) -> Broken:
    choice = body.get("tool_choice") if isinstance(body, dict) else None
    if choice == "required" and not any(_tools(body)):
        yield "tool_choice", "a call is required and no tool declared"
    if isinstance(choice, dict) and choice.get("type") in ("function", "custom"):
        name = choice.get("name")
        if not any(tool.get("name") == name for _, tool in _tools(body)):
            yield "tool_choice", f"no tool is called {name!r}"


def choices(body: Any) -> Broken:
    choice = body.get("tool_choice") if isinstance(body, dict) else None
    if isinstance(choice, str):
        if choice not in _MODES:
            yield "tool_choice", f"{choice!r} is none of {', '.join(sorted(_MODES))}"
    elif choice is not None and not (isinstance(choice, dict) and isinstance(choice.get("type"), str)):
        yield "tool_choice", "it says no type"


def limits(body: Any) -> Broken:
    limit = body.get("max_output_tokens") if isinstance(body, dict) else None
    if isinstance(limit, int) and not isinstance(limit, bool) and limit < SMALLEST_LIMIT:
        yield "max_output_tokens", f"{limit} is below {SMALLEST_LIMIT}"
