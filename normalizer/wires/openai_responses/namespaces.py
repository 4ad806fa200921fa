"""Tools in namespaces and in the history, for other wires and providers, which have a flat list of tools.

Codex declares its MCP tools in namespaces, and tools that it adds later in items ``additional_tools`` of the input.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...conversation import Assistant, Loss, Message, RawItem, Request, ToolDefinition
from ...model import ToolCall
from ..traverse import items, member, text
from .tools import additions, read_tool

#: Flat name -> namespace and name.
Namespaces = dict[str, tuple[str, str]]


def flatten(request: Request) -> tuple[Request, Namespaces, list[Loss]]:
    """Return the request with a flat list of all tools, the names that changed, and the losses.

    Calls of the history have the flat names, too. Items that only add tools are emptied, so that the other messages
    keep their indexes. Returns the request itself if it has no such tools.
    """
    added = [tool for message in request.messages for raw in additions(message) for tool in items(raw, "tools")]
    if not added and not any(_is_namespace(tool.raw) for tool in request.tools):
        return request, {}, []
    declared = [*request.tools, *map(read_tool, added)]
    tools: list[ToolDefinition] = []
    taken: set[str] = set()
    for tool in declared:
        if not (_is_namespace(tool.raw) or (tool.kind != "hosted" and tool.name in taken)):
            tools.append(tool)
            taken.add(tool.name)
    flat_names: dict[tuple[str, str], str] = {}
    losses: list[Loss] = []
    for space in [tool.raw for tool in declared if _is_namespace(tool.raw)]:
        for tool in map(read_tool, items(space, "tools")):
            if (origin := (space["name"], tool.name)) not in flat_names:
                flat_names[origin] = flat = _flat(*origin, taken)
                tools.append(replace(tool, name=flat))
                taken.add(flat)
        if text(member(space, "description")):
            losses.append(Loss("namespace", f"the description of {space['name']} was left out"))
    choice = request.tool_choice
    if choice is not None and choice.mode == "named" and choice.name not in taken:
        flat = next((flat for (_, name), flat in flat_names.items() if name == choice.name), choice.name or "")
        choice = replace(choice, name=flat, raw=None)
    messages = [_flattened(message, flat_names) for message in request.messages]
    names = {flat: origin for origin, flat in flat_names.items()}
    return replace(request, tools=tools, tool_choice=choice, messages=messages), names, losses


def _is_namespace(raw: Any) -> bool:
    return member(raw, "type") == "namespace" and isinstance(member(raw, "name"), str)


def _flat(space: str, name: str, taken: set[str]) -> str:
    flat = f"{space}{name}" if space.endswith("__") or name.startswith("__") else f"{space}__{name}"
    while flat in taken:
        flat += "_"
    return flat


def _flattened(message: Message, flat_names: dict[tuple[str, str], str]) -> Message:
    if type(message) is RawItem and any(True for _ in additions(message)):
        return RawItem("", None)
    if type(message) is not Assistant:
        return message
    response = message.response
    choices = [
        replace(choice, blocks=[_renamed(block, flat_names) for block in choice.blocks]) for choice in response.choices
    ]
    if choices == response.choices:
        return message
    return replace(message, response=replace(response, choices=choices).with_findings(list(response.findings)))


def _renamed(block: Any, flat_names: dict[tuple[str, str], str]) -> Any:
    if type(block) is ToolCall and (flat := flat_names.get((block.namespace or "", block.name))) is not None:
        return replace(block, name=flat, namespace=None)
    return block
