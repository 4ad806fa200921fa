"""The codes of the changes that adapting a tool definition makes, each with its effect on the arguments."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

#: "exact": every value is mapped there and back. "widens": the adapted definition accepts values that the original
#: rejects. "narrows": it cannot express some value that the original accepts. "describes": only a description changed.
Change = Literal["exact", "widens", "narrows", "describes"]

#: Code -> its effect and its meaning.
TOOL_LOSSES: dict[str, tuple[Change, str]] = {
    "tool-name": ("exact", "The name of the tool was replaced by one that the target accepts."),
    "property-name": ("exact", "The name of a property was replaced by one that the target accepts."),
    "reference": ("exact", "A reference was replaced by the schema that it names."),
    "merged": ("exact", "The parts of allOf were merged into one schema."),
    "distributed": ("exact", "Keywords beside a union were moved into its variants."),
    "one-of": ("exact", "oneOf was replaced by anyOf; its variants exclude each other."),
    "root-type": ("exact", "The type object was added to the root schema."),
    "wrapped": ("exact", "The arguments were moved into one property, because the root must be a plain object."),
    "nullable": ("exact", "An optional property is required and takes null for absent."),
    "null-spelling": ("exact", "Null is allowed by another keyword."),
    "pairs": ("exact", "Properties with arbitrary names became a list of names and values."),
    "enum-text": ("exact", "The values of an enum became texts."),
    "const": ("exact", "A constant became an enum of one value."),
    "added-member": ("exact", "A required property was added, because the target refuses an object without one."),
    "items": ("exact", "Items of any type were added to an array."),
    "empty-properties": ("exact", "Empty properties were added to the root schema."),
    "declared": ("exact", "A required property was declared."),
    "json-text": ("widens", "A value that the target cannot describe became JSON text."),
    "constraint": ("widens", "A constraint that the target does not accept or enforce was moved to the description."),
    "overlapping-one-of": ("widens", "oneOf was replaced by anyOf; a value that fits two variants is accepted."),
    "unmerged": ("widens", "A part of allOf or of a union that cannot be merged was left out."),
    "opened": ("widens", "The target cannot exclude undeclared properties."),
    "tuple": ("widens", "The positions of a tuple became items of any of its types."),
    "unresolved": ("widens", "A reference that leads nowhere was left out."),
    "strict-off": ("widens", "The tool is not strict, because the target does not take its schema as strict."),
    "closed": ("narrows", "Undeclared properties are excluded."),
    "absent-or-null": ("narrows", "An optional property that accepts null is absent after a null."),
    "ambiguous": (
        "narrows",
        "The variants of a union overlap after the changes in them; a value may be mapped to another.",
    ),
    "typed": ("narrows", "A schema without a type got the type of its keywords."),
    "tool-dropped": ("narrows", "The tool was left out, because the request has more tools than the target accepts."),
    "duplicate": ("narrows", "The tool was left out, because a call cannot refer to the second tool of one name."),
    "annotation": ("describes", "A keyword that only describes was left out or moved to the description."),
}


class ToolLoss(Struct, frozen=True):
    """One change of a tool definition.

    ``tool``: index of the original tool. ``name``: its name. ``pointer``: JSON pointer in the original definition, near
    the change. ``code``: a key of `TOOL_LOSSES`. ``detail``: what was changed.
    """

    tool: int
    name: str
    pointer: str
    code: str
    detail: str = ""

    @property
    def effect(self) -> Change:
        """The effect of the change on the values of the arguments."""
        return TOOL_LOSSES[self.code][0]

    @property
    def message(self) -> str:
        """The meaning of the code, with the detail."""
        meaning = TOOL_LOSSES[self.code][1]
        return f"{meaning} ({self.detail})" if self.detail else meaning
