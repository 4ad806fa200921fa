"""Rewriting of the parameters of one tool: the root, which must be an object, and the schemas in it."""

from __future__ import annotations

from typing import Any

from ..keywords import COMPOSITION, types_of
from ..rules.model import SchemaRules
from .canonical import canonical
from .codecs import Codec, Wrapped
from .merge import CannotMerge
from .references import with_definitions
from .rewriter import Rewriter
from .rewriting import Report
from .rewritten import Rewritten, described, quoted

#: The property that holds the arguments if the root cannot describe them.
_WRAPPER = "arguments"


def rewrite_parameters(parameters: Any, rules: SchemaRules, report: Report) -> tuple[dict[str, Any], Codec]:
    """Return parameters that a provider accepts, and the codec of the arguments.

    ``report(code, pointer, detail)``: called for each change, with its place in the tool definition.
    """

    def unresolved(pointer: str, reference: str) -> None:
        report("unresolved", f"/parameters{pointer}", reference)

    root = with_definitions(canonical(parameters), unresolved)
    rewriter = Rewriter(root, rules, report)
    node = {key: value for key, value in root.items() if key != "$defs"}
    rewritten = _root(rewriter, node)
    schema = rewritten.schema
    if types_of(schema) != ["object"] or any(keyword in schema for keyword in (*COMPOSITION, "enum", "const", "$ref")):
        rewritten = _wrapped(rewriter, rewritten)
    written = rewritten.schema
    return ({**written, "$defs": rewriter.definitions} if rewriter.definitions else written), rewritten.codec


def _root(rewriter: Rewriter, node: dict[str, Any]) -> Rewritten:
    pointer = "/parameters"
    try:
        node = rewriter.merged(rewriter.inlined(node, pointer), pointer)
    except CannotMerge:
        return rewriter.schema(node, pointer)
    for keyword in ("anyOf", "oneOf"):
        if keyword in node and _only_constrains(node[keyword]):
            rewriter.report("constraint", f"{pointer}/{keyword}", keyword)
            node = _with_note(node, keyword)
    kinds = types_of(node)
    if not kinds or (len(kinds) > 1 and "object" in kinds):
        # arguments are always an object
        rewriter.report("root-type", pointer, "")
        node = {**node, "type": "object"}
    return rewriter.schema(node, pointer, root=True)


def _only_constrains(variants: Any) -> bool:
    """Return whether the variants of a root union describe no property, such as "one of these is required"."""
    describes = ("properties", "$ref", "type", "anyOf", "oneOf", "allOf", "additionalProperties", "enum", "const")
    return isinstance(variants, list) and all(
        isinstance(variant, dict) and not any(keyword in variant for keyword in describes) for variant in variants
    )


def _with_note(node: dict[str, Any], keyword: str) -> dict[str, Any]:
    """Return a root schema without a union, whose variants the description states."""
    rest = {key: value for key, value in node.items() if key != keyword}
    return {**rest, "description": described(node, [quoted(keyword, node[keyword])])}


def _wrapped(rewriter: Rewriter, inner: Rewritten) -> Rewritten:
    rewriter.report("wrapped", "/parameters", _WRAPPER)
    schema: dict[str, Any] = {"type": "object", "properties": {_WRAPPER: inner.schema}, "required": [_WRAPPER]}
    if rewriter.has("closed"):
        schema["additionalProperties"] = False
    return Rewritten(schema, Wrapped(_WRAPPER, inner.codec))
