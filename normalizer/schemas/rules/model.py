"""The form of the rules for tool definitions. The rules themselves are data, in one module per provider.

A rule states what the provider does, not what JSON Schema allows: a keyword is accepted, ignored or refused. `SHAPES`
and `CAPS` describe rules that concern more than one keyword; `normalizer/schemas/check.py` has a check for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

Effect = Literal["accepted", "ignored", "refused"]

#: Rules about the form of a schema: the key in `SchemaRules.shapes` -> what a schema must be.
SHAPES: dict[str, str] = {
    "root-object": "the root schema must have the type object",
    "root-properties": "the root schema must have properties, even if they are empty",
    "root-members": "properties of the root schema must be an object, and required a list",
    "typed": "a schema must have type, anyOf, enum, const or $ref",
    "single-type": "type must be one word",
    "closed": "an object must set additionalProperties to false",
    "closed-by-default": "an object without additionalProperties accepts only the declared properties",
    "all-required": "an object must require all its properties",
    "some-required": "an object with properties must require at least one",
    "required-defined": "a required property must be declared in properties",
    "items": "an array must have items",
    "items-schema": "items must be one schema; prefixItems describes a tuple",
    "object-properties": "an object inside the parameters must declare properties",
    "string-enum": "the values of an enum must be text, and its type string",
    "enum-not-empty": "the values of an enum must not be empty",
    "matching-type": "a keyword must fit the type of its schema",
    "acyclic": "a schema must not refer to itself",
    "resolvable": "a reference must lead to a schema in the same document",
    "no-boolean": "the schema of a property must be an object, not a boolean",
    "variants": "enum and anyOf must not be empty",
    "ref-alone": "a schema with $ref must not have other keywords",
    "property-names": "the name of a property must match the provider's pattern",
}
#: Rules about sizes: the key in `SchemaRules.caps` -> what is counted.
CAPS: dict[str, str] = {
    "depth": "levels of nested objects and arrays",
    "properties": "properties in the schema of one tool",
    "enum-values": "values of all enums in the schema of one tool",
    "text-length": "characters of the names of properties and definitions, and of enum and const values, of one tool",
    "optional": "optional properties of all strict tools",
    "unions": "properties with anyOf or several types of all strict tools",
    "fields": "properties of all strict tools",
    "tools": "tools of a request",
    "strict-tools": "strict tools of a request",
}


class Keyword(Struct, frozen=True):
    """What a provider does with a keyword. ``values``: these are accepted, and ``effect`` concerns all others."""

    effect: Effect
    source: str
    values: tuple[Any, ...] | None = None


class Cap(Struct, frozen=True):
    """The maximum of a rule about sizes. ``limit``: accepted up to it. ``source``: where the provider says so."""

    limit: int
    source: str


class SchemaRules(Struct, frozen=True, kw_only=True):
    """The rules for the schemas of one kind of tool, strict or not.

    ``keywords``: at any position. ``root``: for the root schema, before ``keywords``. ``others``: for every keyword
    that neither lists. ``shapes``: key of `SHAPES` -> source. ``caps``: key of `CAPS` -> maximum.
    ``property_names``: the pattern of the shape ``property-names``.
    """

    keywords: Mapping[str, Keyword] = {}
    root: Mapping[str, Keyword] = {}
    others: Keyword
    shapes: Mapping[str, str] = {}
    caps: Mapping[str, Cap] = {}
    property_names: str = ""

    def of(self, keyword: str, *, root: bool = False) -> Keyword:
        """Return the rule for a keyword."""
        if root and keyword in self.root:
            return self.root[keyword]
        return self.keywords.get(keyword, self.others)

    def accepts(self, keyword: str, value: Any, *, root: bool = False) -> bool:
        """Return whether the provider accepts and reads a keyword with this value."""
        return effect_of(self.of(keyword, root=root), value) == "accepted"


class ToolRules(Struct, frozen=True, kw_only=True):
    """The rules of one target: a wire, in one dialect.

    ``dialect``: "" for the provider that owns the wire, else a provider or a member of the request. ``name``: the
    pattern of tool names. ``unique_source``: where the provider refuses a second tool of one name; "" if it does not.
    ``description_source``: the same for an empty description, ``schema_source`` for a function without parameters.
    ``strict_scope``: where strict mode is set: for each "tool", for a whole "request", "always",
    or "never". ``plain`` and ``strict``: the rules for schemas; ``strict`` is None without a
    separate strict mode. ``caps``: maxima for the list of tools.
    """

    wire: str
    dialect: str = ""
    name: str
    name_source: str
    name_length: int = 64
    unique_source: str = ""
    description_source: str = ""
    schema_source: str = ""
    strict_scope: Literal["tool", "request", "always", "never"] = "never"
    plain: SchemaRules
    strict: SchemaRules | None = None
    caps: Mapping[str, Cap] = {}

    @property
    def target(self) -> str:
        """The name of the target: the wire, with the dialect after a slash if there is one."""
        return f"{self.wire}/{self.dialect}" if self.dialect else self.wire


def effect_of(rule: Keyword, value: Any) -> Effect:
    """Return the effect of a keyword with this value."""
    if rule.values is not None and any(
        value is known or (type(value) is type(known) and value == known) for known in rule.values
    ):
        return "accepted"
    return rule.effect


def refused(source: str, *keywords: str) -> dict[str, Keyword]:
    """Return a rule that refuses each of these keywords."""
    return dict.fromkeys(keywords, Keyword("refused", source))


def ignored(source: str, *keywords: str) -> dict[str, Keyword]:
    """Return a rule for each of these keywords, which the provider reads but does not enforce, or drops."""
    return dict.fromkeys(keywords, Keyword("ignored", source))


def accepted(source: str, *keywords: str) -> dict[str, Keyword]:
    """Return a rule that accepts each of these keywords."""
    return dict.fromkeys(keywords, Keyword("accepted", source))
