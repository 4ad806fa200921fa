"""Removal of empty copies on all wires: a second call with the id and name of another one, but without arguments.

Hosts send the head of a call again as a call (microsoft/agent-framework 7485), and clients add one to their histories
(NousResearch/hermes-agent 94961). The copy would run beside the call, or instead of it if it comes first.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ..findings import Finding
from ..model import Choice, ToolCall
from .calls import NO_ARGUMENTS, is_synthetic


def drop_empty_copies(choices: list[Choice], findings: list[Finding], find: Callable[..., None]) -> None:
    """Remove the empty copies from the choices. The call is where the first of the two was.

    Removes their findings as well, and the others follow their blocks. ``find``: adds a finding (`Context.find`).
    """
    for choice in choices:
        blocks = choice.blocks
        places = {call.id: place for place, call in enumerate(blocks) if type(call) is ToolCall}
        empty: set[int] = set()
        gone: dict[int, int] = {}  # removed block -> place of its call
        for index, call in enumerate(blocks):
            if (
                type(call) is not ToolCall
                or not is_synthetic(call.id)
                or not isinstance(id := call.extra.get("id"), str)
            ):
                continue
            if id not in places:
                continue
            first = blocks[place := places[id]]
            assert type(first) is ToolCall
            if (first.name and call.name and first.name != call.name) or _is_empty(first) == _is_empty(call):
                continue
            gone[index] = place
            empty.add(place if _is_empty(first) else index)
            if _is_empty(first):
                extra = {name: value for name, value in call.extra.items() if name != "id"}
                blocks[place] = replace(call, id=id, extra=extra)
        kept = [index for index in range(len(blocks)) if index not in gone]
        moved = {old: new for new, old in enumerate(kept)}
        kept_findings = []
        for each in findings:
            if each.choice != choice.index or (block := each.block) is None:
                kept_findings.append(each)
            elif not (block in empty or (block in gone and each.code == "id-duplicate")):
                block = gone.get(block, block)
                kept_findings.append(replace(each, block=moved.get(block, block)))
        findings[:] = kept_findings
        for place in gone.values():
            call = blocks[place]
            assert type(call) is ToolCall
            message = f"{call.name} ({call.id}) is repeated without arguments"
            find("duplicate-call", message, choice.index, moved[place])
        blocks[:] = [blocks[index] for index in kept]


def _is_empty(call: ToolCall) -> bool:
    return call.arguments == {} or call.arguments_text.strip() in NO_ARGUMENTS
