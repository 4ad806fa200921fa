"""Check of tool definitions against the rules of a provider.

for violation in check_tools(tools, "anthropic.messages"):
    print(violation.tool, violation.pointer, violation.message)
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct

from ..conversation import ToolDefinition
from .keywords import ANNOTATIONS, escaped
from .rules import rules_of
from .rules.model import CAPS, SHAPES, Effect, SchemaRules, ToolRules, effect_of
from .shapes import CHECKS, Schema, schema_of
from .sizes import sizes

#: The schema of a tool without parameters, on every wire.
NO_PARAMETERS = {"type": "object", "properties": {}}


class ToolViolation(Struct, frozen=True):
    """One rule of a provider that a tool definition breaks.

    ``tool``: index of the tool in the list. ``name``: its name. ``pointer``: JSON pointer in the `ToolDefinition`, such
    as ``/parameters/properties/size/minimum``. ``rule``: a key of `SHAPES` or `CAPS`, ``keyword``, ``name``,
    ``unique`` or ``description``.
    ``effect``: "refused" if the provider refuses the request, "ignored" if it drops the keyword or does not enforce it.
    ``source``: where the provider states it.
    """

    tool: int
    name: str
    pointer: str
    rule: str
    effect: Literal["refused", "ignored"]
    message: str
    source: str


def check_tools(tools: Sequence[ToolDefinition], wire: str, dialect: str = "") -> list[ToolViolation]:
    """Return the violations of a list of tools, in the order of the tools.

    ``wire``, ``dialect``: see `rules_of`. Tools of a kind other than function are not checked. Raises UnknownWire for a
    wire without rules, and MissingExtra if a schema has references and `referencing` is not installed.
    """
    rules = rules_of(wire, dialect)
    functions = [(number, tool) for number, tool in enumerate(tools) if tool.kind == "function"]
    all_strict = rules.strict_scope == "request" and any(tool.strict for _, tool in functions)
    modes = [(number, tool, all_strict or bool(tool.strict)) for number, tool in functions]
    found = [
        violation for number, tool, strict in modes for violation in _check_tool(number, tool, rules, strict=strict)
    ]
    return found + list(_check_list(modes, rules))


def schema_rules(rules: ToolRules, *, strict: bool) -> SchemaRules:
    """Return the rules for the schema of a strict or plain tool."""
    return rules.strict if strict and rules.strict is not None else rules.plain


def _check_tool(number: int, tool: ToolDefinition, rules: ToolRules, *, strict: bool) -> Iterator[ToolViolation]:
    if not re.fullmatch(rules.name, tool.name):
        message = f"{tool.name!r} does not match {rules.name}"
        yield ToolViolation(number, tool.name, "/name", "name", "refused", message, rules.name_source)
    if rules.description_source and tool.description == "":
        message = "the description is empty"
        yield ToolViolation(
            number, tool.name, "/description", "description", "refused", message, rules.description_source
        )
    of_schema = schema_rules(rules, strict=strict)
    parameters = NO_PARAMETERS if tool.parameters is None else tool.parameters
    for pointer, rule, effect, message, source in check_schema(parameters, of_schema):
        if effect != "accepted":
            yield ToolViolation(number, tool.name, f"/parameters{pointer}", rule, effect, message, source)


def check_schema(root: Any, rules: SchemaRules) -> Iterator[tuple[str, str, Effect, str, str]]:
    """Yield pointer, rule, effect, message and source of each violation in one schema; see `ToolViolation`."""
    schema = schema_of(root, rules)
    for shape, source in schema.rules.shapes.items():
        for pointer, message in CHECKS[shape](schema):
            yield pointer, shape, "refused", f"{SHAPES[shape]}: {message}", source
    yield from _keywords(schema)
    counted = sizes(schema.root) if schema.rules.caps else {}
    for name, cap in schema.rules.caps.items():
        if name not in _SUMMED and counted[name] > cap.limit:
            yield "", name, "refused", f"{counted[name]} {CAPS[name]}, at most {cap.limit} are allowed", cap.source


def _keywords(schema: Schema) -> Iterator[tuple[str, str, Effect, str, str]]:
    for node in schema.nodes:
        if not isinstance(node.schema, dict):
            continue
        for keyword, value in node.schema.items():
            rule = schema.rules.of(keyword, root=not node.pointer)
            effect = effect_of(rule, value)
            if effect == "accepted" or (effect == "ignored" and keyword in ANNOTATIONS):
                continue
            shown = "" if rule.values is None else f" {reprlib.repr(value):.60}"
            yield f"{node.pointer}/{escaped(keyword)}", "keyword", effect, f"{keyword}{shown} is {effect}", rule.source


#: Caps that concern the sum over all strict tools.
_SUMMED = ("optional", "unions", "fields")


class Totals:
    """The sizes of a list of tools, which grows, for the maxima that concern all of them."""

    def __init__(self, rules: ToolRules) -> None:
        caps = {**rules.caps, **(rules.strict.caps if rules.strict is not None else {})}
        self.caps = {name: cap for name, cap in caps.items() if name in ("tools", "strict-tools", *_SUMMED)}
        self._counted = dict.fromkeys(self.caps, 0)

    def over(self, tool: ToolDefinition, *, strict: bool) -> list[str]:
        """Return the maxima that the list exceeds with one more tool."""
        return [name for name, size in self._with(tool, strict).items() if size > self.caps[name].limit]

    def add(self, tool: ToolDefinition, *, strict: bool) -> None:
        """Add a tool to the list."""
        self._counted = self._with(tool, strict)

    def _with(self, tool: ToolDefinition, strict: bool) -> dict[str, int]:
        added = {"tools": 1, "strict-tools": int(strict)}
        if strict and tool.parameters is not None and self._counted.keys() - added.keys():
            added = {**sizes(tool.parameters), **added}
        return {name: size + added.get(name, 0) for name, size in self._counted.items()}


def _check_list(modes: list[tuple[int, ToolDefinition, bool]], rules: ToolRules) -> Iterator[ToolViolation]:
    totals = Totals(rules)
    reported = set[str]()
    names = set[str]()
    for number, tool, strict in modes:
        if rules.unique_source and tool.name in names:
            message = f"{tool.name!r} is declared twice"
            yield ToolViolation(number, tool.name, "/name", "unique", "refused", message, rules.unique_source)
        names.add(tool.name)
        for name in totals.over(tool, strict=strict):
            if name not in reported:
                reported.add(name)
                cap = totals.caps[name]
                message = f"more than {cap.limit} {CAPS[name]}"
                yield ToolViolation(number, tool.name, "", name, "refused", message, cap.source)
        totals.add(tool, strict=strict)
