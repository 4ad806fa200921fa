"""Tools in namespaces and in the history, for other wires and providers, which have a flat list of tools.

Codex declares its MCP tools in namespaces, and tools that it adds later in items ``additional_tools`` of the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ...conversation import Assistant, Loss, Message, RawItem, Request, ToolChoice, ToolDefinition
from ...digests import digest
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
    tools: list[ToolDefinition] = []
    flat_names: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    losses: list[Loss] = []
    for space, tool in _each_tool([*request.tools, *map(read_tool, added)], losses):
        if tool.kind == "hosted":
            tools.append(tool)
        elif (origin := (space, tool.name)) not in flat_names:
            flat_names[origin] = flat = _flat(*origin, taken)
            tools.append(tool if flat == tool.name else replace(tool, name=flat))
            taken.add(flat)
    names = {flat: origin for origin, flat in flat_names.items() if flat != origin[1]}
    choice = _flat_choice(request.tool_choice, flat_names, losses)
    messages = [_flattened(message, flat_names) for message in request.messages]
    return replace(request, tools=tools, tool_choice=choice, messages=messages), names, losses


def _each_tool(declared: list[ToolDefinition], losses: list[Loss]) -> Iterator[tuple[str, ToolDefinition]]:
    """Yield each tool with its namespace, or with "" if it is in none."""
    for tool in declared:
        if not _is_namespace(tool.raw):
            yield "", tool
            continue
        if text(member(tool.raw, "description")):
            losses.append(Loss("namespace", f"the description of {tool.raw['name']} was left out"))
        yield from ((tool.raw["name"], read_tool(inner)) for inner in items(tool.raw, "tools"))


def _is_namespace(raw: Any) -> bool:
    return member(raw, "type") == "namespace" and isinstance(member(raw, "name"), str)


def _flat(space: str, name: str, taken: set[str]) -> str:
    """Return the flat name of a tool. It never depends on later tools: those of the history keep their names."""
    joint = "" if not space or space.endswith("__") or name.startswith("__") else "__"
    flat = f"{space}{joint}{name}"
    while flat in taken:
        flat = f"{flat}_{digest(f'{space}/{name}', 8)}"
    return flat


def _flat_choice(
    choice: ToolChoice | None, flat_names: dict[tuple[str, str], str], losses: list[Loss]
) -> ToolChoice | None:
    """Return the choice with a flat name: of the tool without a namespace, else of the only one with that name."""
    if choice is None or choice.mode != "named":
        return choice
    spaces = [space for space, name in flat_names if name == choice.name]
    if len(spaces) > 1 and "" not in spaces:
        where = ", ".join(spaces)
        losses.append(
            Loss("tool-choice", f"{choice.name} is in the namespaces {where}; the choice was replaced by auto")
        )
        return ToolChoice("auto")
    flat = flat_names[min(spaces), choice.name or ""] if spaces else choice.name
    return choice if flat == choice.name else replace(choice, name=flat, raw=None)


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
