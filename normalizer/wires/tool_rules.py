"""Schemas in requests, judged by the providers' rules for tool definitions (`normalizer/schemas/rules/`)."""

from __future__ import annotations

from ..conversation import ToolDefinition
from ..errors import MissingExtra
from ..schemas.check import check_schema, check_tools
from ..schemas.rules import rules_of
from ..schemas.rules.model import SchemaRules
from .rule import Violations
from .write_context import WriteContext

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


def keeps_strict(name: str, schema: object, context: WriteContext) -> bool:
    """Return whether strict mode of the target accepts the schema of the tool ``name``; report a loss if not."""
    rules = rules_of(context.wire).strict
    if rules is None or not any(refused_schema(schema, "", rules)):
        return True
    context.lose("param", f"strict: the schema of {name} does not fit strict mode; strict was set to false")
    return False


def refused_schema(schema: object, path: str, rules: SchemaRules) -> Violations:
    """Yield path and message of each place for which a provider refuses a schema."""
    try:
        violations = [*check_schema(schema, rules)] if isinstance(schema, dict) else []
    except MissingExtra:
        return
    yield from (
        (path + _dotted(pointer), message) for pointer, _, effect, message, _ in violations if effect == "refused"
    )


def _dotted(pointer: str) -> str:
    return pointer.replace("/", ".")
