"""Request rules for schemas, from the providers' rules for tool definitions (`normalizer/schemas/rules/`)."""

from __future__ import annotations

from ..conversation import ToolDefinition
from ..errors import MissingExtra
from ..schemas.check import check_schema, check_tools
from ..schemas.rules.model import SchemaRules
from .rule import Violations

#: Rules for tools that most wires have as request rules, under other ids.
_OF_THE_WIRE = frozenset(("name", "unique", "tools"))


def refused_tools(
    declared: list[tuple[str, ToolDefinition]], target: str, *, schema: str = "parameters", names: bool = False
) -> Violations:
    """Yield path and message of each place for which a provider refuses a tool definition.

    ``declared``: path and definition of each tool. ``target``: a key of `schemas.TARGETS`. ``schema``: the wire's name
    of the member with the schema. ``names``: report names and the number of tools as well.
    """
    try:
        violations = check_tools([definition for _, definition in declared], target)
    except MissingExtra:  # a schema has references; only their targets remain unchecked
        return
    for violation in violations:
        if violation.effect == "refused" and (names or violation.rule not in _OF_THE_WIRE):
            pointer = violation.pointer.replace("/parameters", f".{schema}", 1)
            yield declared[violation.tool][0] + _dotted(pointer), violation.message


def refused_output(output: object, path: str, rules: SchemaRules) -> Violations:
    """Yield path and message of each place for which a provider refuses the schema of a structured output."""
    try:
        violations = [*check_schema(output, rules)] if isinstance(output, dict) else []
    except MissingExtra:
        return
    yield from (
        (path + _dotted(pointer), message) for pointer, _, effect, message, _ in violations if effect == "refused"
    )


def _dotted(pointer: str) -> str:
    return pointer.replace("/", ".")
