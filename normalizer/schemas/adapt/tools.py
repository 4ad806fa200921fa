"""Adaptation of a list of tools: names, strict mode and maxima, and the parameters of each tool."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ... import json_codec
from ...conversation import ToolDefinition
from ...digests import digest
from ...errors import MalformedBody
from ..check import NO_PARAMETERS, Totals, check_tools, schema_rules
from ..keywords import is_object, nodes, properties_of
from ..rules import rules_of
from ..rules.model import SchemaRules, ToolRules
from .codecs import SAME, Codec, JsonText, Wrapped
from .losses import ToolLoss
from .parameters import rewrite_parameters
from .rewritten import TooLarge


class Adapted(Struct, frozen=True):
    """Tool definitions that a provider accepts.

    ``tools``: in the order of the originals; hosted and custom tools are unchanged. ``losses``: every change.
    ``names``: name on the wire -> original name, for all functions. ``codecs``: by the original name.
    """

    tools: list[ToolDefinition]
    losses: list[ToolLoss]
    names: Mapping[str, str]
    codecs: Mapping[str, Codec]

    def restore(self, name: str, arguments: Any) -> tuple[str, Any]:
        """Return the original name and arguments of a call that the model made.

        Arguments that are nested too deep to be mapped are returned unchanged.
        """
        original = self.names.get(name, name)
        try:
            return original, self.codecs.get(original, SAME).from_wire(arguments)
        except RecursionError:
            return original, arguments

    def express(self, name: str, arguments: Any) -> tuple[str, Any]:
        """Return the name and arguments of a call as the adapted definitions describe them, for a history.

        Arguments that are nested too deep to be mapped are returned unchanged.
        """
        on_wire = next((wire for wire, original in self.names.items() if original == name), name)
        try:
            return on_wire, self.codecs.get(name, SAME).to_wire(arguments)
        except RecursionError:
            return on_wire, arguments


class _Candidate(Struct, frozen=True):
    """One tool, adapted in one mode."""

    tool: ToolDefinition
    codec: Codec
    losses: list[ToolLoss]
    strict: bool


def adapt_tools(tools: Sequence[ToolDefinition], wire: str, dialect: str = "") -> Adapted:
    """Return definitions of the same tools that a provider accepts, with every change that this takes.

    ``wire``, ``dialect``: see `rules_of`. A tool that the provider accepts stays as it is. Raises UnknownWire for a
    wire without rules, and MissingExtra if jsonschema or `referencing` is not installed.
    """
    rules = rules_of(wire, dialect)
    declared = {number: tool for number, tool in enumerate(tools) if tool.kind == "function"}
    first = {tool.name: number for number, tool in reversed(declared.items())}
    functions = {number: tool for number, tool in declared.items() if first[tool.name] == number}
    names = _wire_names(functions, rules)
    strict = rules.strict_scope == "tool" or (
        rules.strict_scope == "request" and any(tool.strict for tool in functions.values())
    )
    found = _adapted(functions, names, rules, strict=strict)
    if rules.strict_scope == "request" and strict and not _accepted(found, rules):
        found = _adapted(functions, names, rules, strict=False)
    kept = {number: candidate for number, candidate in found.items() if candidate is not None}
    losses = [loss for candidate in found.values() if candidate is not None for loss in candidate.losses]
    losses += [
        ToolLoss(number, tool.name, "", "tool-dropped" if number in functions else "duplicate")
        for number, tool in declared.items()
        if number not in kept
    ]
    return Adapted(
        [kept[n].tool if n in kept else tool for n, tool in enumerate(tools) if n in kept or n not in declared],
        sorted(losses, key=lambda loss: loss.tool),
        {names[number]: functions[number].name for number in kept},
        {functions[number].name: candidate.codec for number, candidate in kept.items()},
    )


def _adapted(
    functions: Mapping[int, ToolDefinition], names: Mapping[int, str], rules: ToolRules, *, strict: bool
) -> dict[int, _Candidate | None]:
    """Return each tool adapted: strict where it fits the maxima for strict tools, None beyond the number of tools."""
    found: dict[int, _Candidate | None] = {}
    totals = Totals(rules)
    limit = rules.caps["tools"].limit if "tools" in rules.caps else len(functions)
    for number, tool in functions.items():
        if len(found) >= limit:
            found[number] = None
            continue
        asked = strict and (bool(tool.strict) or rules.strict_scope == "request")
        for mode in (True, False) if asked else (False,):
            candidate = _candidate(number, tool, names[number], rules, strict=mode)
            if not mode or not (
                check_tools([replace(candidate.tool, strict=True)], rules.target)
                or totals.over(candidate.tool, strict=True)
            ):
                break
        totals.add(candidate.tool, strict=candidate.strict)
        found[number] = candidate
    return found


def _accepted(found: Mapping[int, _Candidate | None], rules: ToolRules) -> bool:
    tools = [replace(c.tool, strict=c.strict) for c in found.values() if c is not None]
    return not check_tools(tools, rules.target)


def _candidate(number: int, tool: ToolDefinition, name: str, rules: ToolRules, *, strict: bool) -> _Candidate:
    """Return one tool in one mode. Parameters that the provider refuses in every form become JSON text."""
    losses: list[ToolLoss] = []

    def report(code: str, pointer: str, detail: str) -> None:
        losses.append(ToolLoss(number, tool.name, pointer, code, detail))

    if name != tool.name:
        report("tool-name", "/name", name)
    if tool.strict and not strict and rules.strict_scope != "always":
        report("strict-off", "", "")
    flag = strict or (None if tool.strict is None or rules.strict_scope == "never" else False)
    if rules.strict_scope == "always":
        flag = tool.strict
    plain = replace(tool, name=name, strict=flag)
    if rules.description_source and tool.description == "":
        report("annotation", "/description", "description")
        plain = replace(plain, description=None)
    if rules.schema_source and tool.parameters is None:
        plain = replace(plain, parameters=NO_PARAMETERS)
    of_schema = schema_rules(rules, strict=strict)
    if _is_accepted(plain, rules, of_schema):
        return _Candidate(plain, SAME, losses, strict)
    before = len(losses)
    root = NO_PARAMETERS if tool.parameters is None else tool.parameters
    try:
        schema, codec = rewrite_parameters(root, of_schema, report)
        adapted = replace(plain, parameters=schema)
        if strict or not check_tools([adapted], rules.target):
            return _Candidate(adapted, codec, losses, strict)
    except (RecursionError, TooLarge):  # nested too deep, or multiplied by its references
        pass
    del losses[before:]
    report("json-text", "/parameters", "the whole parameters")
    return _Candidate(replace(plain, parameters=_one_text(root)), Wrapped("arguments", JsonText()), losses, strict)


def _is_accepted(tool: ToolDefinition, rules: ToolRules, of_schema: SchemaRules) -> bool:
    """Return whether the provider accepts a definition and reads it as it is meant."""
    if check_tools([tool], rules.target):
        return False
    if "closed-by-default" not in of_schema.shapes or tool.parameters is None:
        return True
    objects = [node.schema for node in nodes(tool.parameters) if is_object(node.schema)]
    return all("additionalProperties" in schema for schema in objects if properties_of(schema) or schema)


def _one_text(schema: Any) -> dict[str, Any]:
    about = "The arguments as JSON text."
    with suppress(MalformedBody):  # nested too deep to be quoted
        about += f" Their schema: {json_codec.text(schema)[:2000]}"
    arguments = {"arguments": {"type": "string", "description": about}}
    return {"type": "object", "properties": arguments, "required": ["arguments"]}


def _wire_names(functions: Mapping[int, ToolDefinition], rules: ToolRules) -> dict[int, str]:
    """Return the name of each tool on the wire: unchanged if the provider accepts it."""
    taken = {tool.name for tool in functions.values()}
    names: dict[int, str] = {}
    for number, tool in functions.items():
        name = tool.name
        if not re.fullmatch(rules.name, name):
            readable = re.sub("[^a-zA-Z0-9_]", "_", name)[: min(rules.name_length, 64) - 9]
            name = f"{readable if re.match('[a-zA-Z_]', readable) else f't_{readable}'[:55]}_{digest(tool.name, 8)}"
            while name in taken:
                name = f"t_{digest(name, 12)}"
            taken.add(name)
        names[number] = name
    return names
