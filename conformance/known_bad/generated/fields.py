"""The members of the canonical form, found by introspection of its structs, and the objects that hold them.

A member is named by its owner and its field: ``usage.input_tokens``, ``tool_call.name``, ``dropped.reason``.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from msgspec import UNSET, Struct
from msgspec.structs import fields as struct_fields

from toolparity.normalizer import model
from toolparity.normalizer.policies import Ref, Selection

from ..mutate import CanonicalForm

#: Owner -> struct. Each block type is an owner with the name of its tag.
_SINGLE: dict[str, type[Struct]] = {
    "response": model.Response,
    "choice": model.Choice,
    "stop": model.Stop,
    "usage": model.Usage,
    "error": model.Error,
    "selection": Selection,
    "kept": Ref,
    "dropped": Ref,
    "rejected": Ref,
}
BLOCKS: dict[str, type[Struct]] = {str(kind.__struct_config__.tag): kind for kind in get_args(model.Block)}
OWNERS: dict[str, type[Struct]] = {**_SINGLE, **BLOCKS}
GROUPS = ("kept", "dropped", "rejected")
#: Members whose value is an object or a list of objects with an owner: the objects are mutated, and removed as a whole.
_LISTS = {("response", "choices"), ("choice", "blocks"), *(("selection", group) for group in GROUPS)}


class Field(NamedTuple):
    """A member. ``kind``: the type of a value: str, int, bool, list, dict. ``values``: the words of a Literal.

    ``neighbour``: the next member of the same type in the struct, "" if there is none.
    """

    owner: str
    name: str
    kind: type
    optional: bool
    values: tuple[str, ...] = ()
    neighbour: str = ""

    @property
    def path(self) -> str:
        return f"{self.owner}.{self.name}"

    @property
    def empty(self) -> Any:
        """The value that a subject returns if it does not know the member."""
        if self.optional:
            return None
        return self.values[-1] if self.values else self.kind()


def fields() -> list[Field]:
    """Return all members, in the order of the structs, but those that no reading sets: their default is UNSET."""
    found = []
    for owner, struct in OWNERS.items():
        hints = get_type_hints(struct)
        members = [member for member in struct_fields(struct) if member.default is not UNSET]
        names = [member.name for member in members if (owner, member.name) not in _LISTS]
        own = [_field(owner, name, hints[name]) for name in names]
        found += [field._replace(neighbour=_next(own[index + 1 :], field)) for index, field in enumerate(own)]
    return found


def _next(later: list[Field], field: Field) -> str:
    same = (other.name for other in later if (other.kind, other.values) == (field.kind, field.values))
    return next(same, "")


def _field(owner: str, name: str, annotation: Any) -> Field:
    parts = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    chosen = next(part for part in parts if part is not type(None))
    optional = type(None) in parts or chosen is Any
    if get_origin(chosen) is Literal:
        return Field(owner, name, str, optional, get_args(chosen))
    kind = get_origin(chosen) or chosen
    if kind is Any or (isinstance(kind, type) and issubclass(kind, Struct)):
        kind = dict
    return Field(owner, name, kind, optional)


def objects(form: CanonicalForm, owner: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of an owner in a canonical form, in order."""
    response, selection = form["response"], form["selection"]
    if owner == "response":
        yield response
    elif owner == "selection":
        yield selection
    elif owner in ("usage", "error"):
        if response[owner] is not None:
            yield response[owner]
    elif owner in GROUPS:
        yield from selection[owner]
    for choice in response["choices"]:
        if owner == "choice":
            yield choice
        elif owner == "stop":
            yield choice["stop"]
        else:
            yield from (block for block in choice["blocks"] if block["type"] == owner)
