"""Known-bad subjects that change the reference's answer: every member, by every operator that suits its type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from ...subjects import SubjectExchange
from ..mutate import CanonicalForm
from .fields import BLOCKS, GROUPS, OWNERS, Field, fields, objects
from .lists import (
    REORDERINGS,
    change_type,
    reorder_blocks,
    reorder_choices,
    reorder_references,
    reorder_texts,
)
from .operators import OPERATORS, Operator

#: The form of a response to which a mutant is restricted, by the suffix of its name.
AXES: dict[str, bool | None] = {"": None, "@plain": False, "@stream": True}
#: The operators whose mutants exist for one form of a response, too.
_ON_AXES = frozenset(("drop", "alter", "lose-first", "repeat-last", "reverse"))


class AnswerMutant(NamedTuple):
    """``field``: the member that is changed. ``needs``: an answer is changed only if it has one of these traits.

    ``stream``: None for both forms of a response. ``change(form)`` changes a form in place, and returns whether it did.
    ``brief``: the subject returns the brief form of the changed answer.
    """

    name: str
    field: str
    needs: frozenset[str]
    stream: bool | None
    change: Callable[[CanonicalForm], bool]
    brief: bool = False

    def applies(self, exchange: SubjectExchange) -> bool:
        return self.stream is None or self.stream == exchange.stream


def answer_mutants() -> Iterator[AnswerMutant]:
    """Yield all mutants of answers in the canonical form."""
    for suffix, stream in AXES.items():
        for field in fields():
            for name, (operator, kinds) in OPERATORS.items():
                if field.kind in kinds and (not suffix or name in _ON_AXES) and suits(name, field):
                    change = partial(_change_member, field, operator)
                    trait = _TRAITS[name]
                    needs = frozenset((field.owner if trait == "any" else f"{trait}:{field.path}",))
                    yield AnswerMutant(f"{name}:{field.path}{suffix}", field.path, needs, stream, change)
        for name, path, owner, listed_change in _of_lists():
            if not suffix or (name in _ON_AXES):
                needs = frozenset((owner,)) if owner else frozenset()
                yield AnswerMutant(f"{name}:{path}{suffix}", path, needs, stream, listed_change)


#: A response has one of each: no neighbour has another value.
_SINGLE = frozenset(("response", "usage", "error", "selection"))
#: Members that every object has on every wire, so that nothing can be invented.
_NEVER_EMPTY = frozenset(("response.provider", "choice.stop", "usage.input_tokens", "usage.output_tokens", "usage.raw"))
_NEVER_EMPTY |= {"error.status", "error.raw", "dropped.reason", "rejected.reason"}
_NEVER_EMPTY |= {"server_tool_result.raw", "opaque.raw"}
#: A reference to a kept call has no reason: there is nothing to change but to invent one.
_ALWAYS_EMPTY = frozenset(("kept.reason",))
#: The index of the selected choice is 0, which is also the value that a subject returns if it does not know it.
_FIRST_CHOICE = frozenset(("selection.choice", "kept.choice", "rejected.choice"))
#: Members with one value in all objects of a response: the calls of a selection are those of one choice, and reasons
#: are sentences.
_SAME_IN_ALL = frozenset(
    f"{group}.{name}" for group in ("kept", "dropped", "rejected") for name in ("choice", "reason")
)


def suits(operator: str, field: Field) -> bool:
    """Return whether an operator can change a member of this kind at all."""
    if operator in ("swap", "move"):
        return field.owner not in _SINGLE and field.path not in _SAME_IN_ALL
    if operator in ("invent", "zero"):
        return (field.optional or field.kind in (list, dict)) and field.path not in _NEVER_EMPTY
    if operator == "confuse":
        return bool(field.neighbour)
    if operator == "drop" and field.path in _FIRST_CHOICE:
        return False
    return field.path not in _ALWAYS_EMPTY


#: Operator -> the trait that an answer needs to be changed (see `traits`).
_TRAITS = {"confuse": "any", "invent": "absent", "zero": "absent", "swap": "several", "move": "several"}
_TRAITS |= {name: "present" for name in OPERATORS if name not in _TRAITS}


def traits(form: CanonicalForm) -> frozenset[str]:
    """Return the owners in a form, and which members are present, absent, or differ between two objects."""
    found: set[str] = set()
    for owner in OWNERS:
        held = list(objects(form, owner))
        if not held:
            continue
        found.add(owner)
        for name in held[0]:
            values = [each[name] for each in held]
            blank = [value in (None, "", [], {}) for value in values]
            if not all(blank):
                found.add(f"present:{owner}.{name}")
            if any(blank):
                found.add(f"absent:{owner}.{name}")
            if any(value != values[0] for value in values):
                found.add(f"several:{owner}.{name}")
    return frozenset(found)


def _of_lists() -> Iterator[tuple[str, str, str, Callable[[CanonicalForm], bool]]]:
    for name, reorder in REORDERINGS.items():
        yield name, "response.choices", "choice", partial(reorder_choices, reorder=reorder)
        yield name, "choice.blocks", "choice", partial(reorder_blocks, kind=None, reorder=reorder)
        for kind in BLOCKS:
            yield name, f"blocks.{kind}", kind, partial(reorder_blocks, kind=kind, reorder=reorder)
        for group in GROUPS:
            yield name, f"selection.{group}", group, partial(reorder_references, group=group, reorder=reorder)
        if name not in ("reverse", "exchange"):  # neither has an order, and a response has one warning
            for member in ("findings", "log"):
                yield name, member, "", partial(reorder_texts, member=member, reorder=reorder)
    for kind in BLOCKS:
        for to in BLOCKS:
            if to != kind:
                yield f"as-{to}", f"blocks.{kind}", kind, partial(change_type, kind=kind, to=to)


def _change_member(field: Field, operator: Operator, form: CanonicalForm) -> bool:
    changed = operator(field, list(objects(form, field.owner)))
    if changed and field.owner == "tool_call":
        _rename_references(form)
    if changed and field.path == "choice.index":
        _move_references(form)
    return changed


def _rename_references(form: CanonicalForm) -> None:
    """Give the references the ids and names of their calls, as a subject that selects after the defect does."""
    blocks = {
        (choice["index"], index): block
        for choice in form["response"]["choices"]
        for index, block in enumerate(choice["blocks"])
    }
    for group in GROUPS:
        for reference in form["selection"][group]:
            call = blocks[reference["choice"], reference["block"]]
            reference["id"], reference["name"] = call["id"], call["name"]


def _move_references(form: CanonicalForm) -> None:
    """Keep the references to choices whose index changed, if there is one choice."""
    choices = form["response"]["choices"]
    if len(choices) == 1:
        form["selection"]["choice"] = choices[0]["index"]
        for group in GROUPS:
            for reference in form["selection"][group]:
                reference["choice"] = choices[0]["index"]
