"""Operators that remove, repeat or reorder whole objects of the canonical form, and keep the references consistent."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ..mutate import CanonicalForm
from .fields import BLOCKS, GROUPS

#: An operator over a list. It returns the positions of the elements in the new list.
Reorder = Callable[[list[Any]], list[int]]


def _all_but_first(items: list[Any]) -> list[int]:
    return list(range(1, len(items)))


def _all_but_last(items: list[Any]) -> list[int]:
    return list(range(len(items) - 1))


def _first_twice(items: list[Any]) -> list[int]:
    return [0, *range(len(items))] if items else []


def _last_twice(items: list[Any]) -> list[int]:
    return [*range(len(items)), len(items) - 1] if items else []


def _backwards(items: list[Any]) -> list[int]:
    return list(range(len(items)))[::-1]


def _exchanged(items: list[Any]) -> list[int]:
    """Exchange the first element with its neighbour."""
    return [1, 0, *range(2, len(items))] if len(items) > 1 else list(range(len(items)))


REORDERINGS: dict[str, Reorder] = {
    "lose-first": _all_but_first,
    "lose-last": _all_but_last,
    "repeat-first": _first_twice,
    "repeat-last": _last_twice,
    "reverse": _backwards,
    "exchange": _exchanged,
}


def reorder_blocks(form: CanonicalForm, kind: str | None, reorder: Reorder) -> bool:
    """Reorder the blocks of one type in every choice; None: all blocks."""
    changed = False
    for choice in form["response"]["choices"]:
        blocks = choice["blocks"]
        chosen = [index for index, block in enumerate(blocks) if kind in (None, block["type"])]
        order = [chosen[position] for position in reorder([blocks[index] for index in chosen])]
        if [blocks[index] for index in order] == [blocks[index] for index in chosen]:
            continue
        rest = [index for index in range(len(blocks)) if index not in chosen]
        changed = True
        if len(order) == len(chosen):
            places = list(range(len(blocks)))
            for place, index in zip(chosen, order, strict=True):
                places[place] = index
        else:
            places = sorted([*order, *rest])
        _rearrange(form, choice, places)
    return changed


def _rearrange(form: CanonicalForm, choice: dict[str, Any], places: list[int]) -> None:
    """Give a choice these of its blocks, and its references their new positions."""
    choice["blocks"] = [copy.deepcopy(choice["blocks"][place]) for place in places]
    for group in GROUPS:
        kept = []
        for reference in form["selection"][group]:
            if reference["choice"] != choice["index"]:
                kept.append(reference)
            else:
                new = [index for index, place in enumerate(places) if place == reference["block"]]
                kept += [{**reference, "block": index} for index in new]
        form["selection"][group] = sorted(kept, key=lambda reference: (reference["choice"], reference["block"]))


def reorder_choices(form: CanonicalForm, reorder: Reorder) -> bool:
    """Reorder the choices."""
    choices = form["response"]["choices"]
    order = reorder(choices)
    if [choices[index] for index in order] == choices:
        return False
    form["response"]["choices"] = [copy.deepcopy(choices[index]) for index in order]
    indexes = {choice["index"] for choice in form["response"]["choices"]}
    for group in GROUPS:
        form["selection"][group] = [ref for ref in form["selection"][group] if ref["choice"] in indexes]
    return True


def reorder_references(form: CanonicalForm, group: str, reorder: Reorder) -> bool:
    """Reorder one list of the selection."""
    references = form["selection"][group]
    order = reorder(references)
    changed = [references[index] for index in order]
    form["selection"][group] = changed
    return bool(changed != references)


def reorder_texts(form: CanonicalForm, member: str, reorder: Reorder) -> bool:
    """Reorder the findings or the log lines."""
    lines = form[member]
    form[member] = [lines[index] for index in reorder(lines)]
    return bool(form[member] != lines)


def change_type(form: CanonicalForm, kind: str, to: str) -> bool:
    """Report every block of one type as a block of another type, with the members that both have."""
    changed = False
    for choice in form["response"]["choices"]:
        for index, block in enumerate(choice["blocks"]):
            if block["type"] == kind:
                choice["blocks"][index] = _converted(block, to)
                changed = True
        gone = {index for index, block in enumerate(choice["blocks"]) if block["type"] != "tool_call"}
        for group in GROUPS:
            references = form["selection"][group]
            form["selection"][group] = [
                ref for ref in references if ref["choice"] != choice["index"] or ref["block"] not in gone
            ]
    return changed


def _converted(block: dict[str, Any], to: str) -> dict[str, Any]:
    text = next((block[name] for name in ("text", "arguments_text") if block.get(name)), "")
    made: dict[str, Any] = {"type": to}
    for name in BLOCKS[to].__struct_fields__:
        made[name] = block[name] if name in block else _plain(name, text)
    return made


def _plain(name: str, text: str) -> Any:
    plain: dict[str, Any] = {
        "text": text,
        "arguments_text": text,
        "arguments": {},
        "extra": {},
        "annotations": [],
        "status": "complete",
    }
    plain |= {"kind": "function", "redacted": False, "is_error": False, "raw": None, "signature": None}
    plain |= dict.fromkeys(("encrypted", "wire_id", "namespace", "caller"))
    return plain.get(name, "")
