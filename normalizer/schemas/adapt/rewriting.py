"""What the rewriting of unions, objects and arrays needs: the provider's rules, definitions, and rewriting of parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import json_codec
from ..keywords import ANNOTATIONS, properties_of
from ..references import Resolver
from ..rules.model import SchemaRules
from .codecs import Codec, JsonText
from .merge import CannotMerge, intersection, intersection_of
from .references import definition_of, definitions_in
from .rewritten import Rewritten, described

#: Maximum characters of a schema that a description quotes.
_QUOTED = 1000

Report = Callable[[str, str, str], None]


class Rewriting:
    """The rewriting of schemas inside one canonical root schema, whose references all name entries of its ``$defs``.

    ``report(code, pointer, detail)``: called for each change.
    """

    def __init__(self, root: dict[str, Any], rules: SchemaRules, report: Report) -> None:
        self.rules = rules
        self.report = report
        #: the adapted recursive definitions, and their codecs; the original definitions
        self.definitions: dict[str, Any] = {}
        self.codecs: dict[str, Codec] = {}
        self.originals: dict[str, Any] = root.get("$defs", {})
        self.resolver = Resolver(root)
        self.inside: list[str] = []  # the recursive definitions around the schema, where references are replaced

    def has(self, shape: str) -> bool:
        """Return whether the provider has the rule for this shape."""
        return shape in self.rules.shapes

    def schema(self, node: Any, pointer: str, *, root: bool = False) -> Rewritten:
        """See `Rewriter.schema`."""
        raise NotImplementedError

    def merged(self, node: dict[str, Any], pointer: str) -> dict[str, Any]:
        """Return a schema with the parts of its allOf merged into it."""
        if "allOf" not in node:
            return node
        result = {key: value for key, value in node.items() if key != "allOf"}
        parts = [self.merged(self.inlined(part, pointer), pointer) for part in node["allOf"]]
        try:
            result = intersection_of([result, *parts])
        except CannotMerge:
            for number, part in enumerate(parts):
                try:
                    result = intersection(result, part)
                except CannotMerge as reason:
                    self.report("unmerged", f"{pointer}/allOf/{number}", str(reason))
        self.report("merged", pointer, "allOf")
        return result

    def inlined(self, node: dict[str, Any], pointer: str) -> dict[str, Any]:
        """Return a schema with the target of its reference instead of the reference.

        Raises CannotMerge if the reference is recursive or its other keywords do not fit.
        """
        while "$ref" in node:
            reference = node["$ref"]
            if self.resolver.is_recursive(reference):
                raise CannotMerge("a recursive reference")
            self.report("reference", pointer, reference)
            others = {key: value for key, value in node.items() if key != "$ref"}
            node = intersection(others, self.originals.get(definition_of(reference), {}))
        return node

    def json_text(self, node: dict[str, Any], pointer: str) -> Rewritten:
        """Return the schema of a text that contains the value as JSON."""
        self.report("json-text", pointer, "")
        plain = {key: value for key, value in node.items() if key not in ANNOTATIONS}
        text = json_codec.text(self.complete(plain))
        about = "JSON text of any value" if not plain else "JSON text of a value"
        if plain and len(text) <= _QUOTED:
            about = f"{about} that fits the schema {text}"
        return Rewritten({"type": "string", "description": described(node, [about])}, JsonText())

    def complete(self, node: dict[str, Any]) -> dict[str, Any]:
        """Return an original schema with the definitions that it refers to."""
        return {**node, "$defs": self.originals} if self.originals and definitions_in(node) else node

    def complete_adapted(self, node: dict[str, Any]) -> dict[str, Any]:
        """Return an adapted schema with its definitions, which may still grow."""
        return {**node, "$defs": self.definitions} if definitions_in(node) else node

    def resolved(self, node: dict[str, Any]) -> dict[str, Any]:
        """Return an adapted schema, or the definition that it refers to, as far as it is known.

        A definition that is being rewritten is represented by its original if that declares properties: these stay.
        """
        if "$ref" not in node:
            return node
        name = definition_of(node["$ref"])
        original = self.originals[name]
        found: dict[str, Any] = self.definitions[name] or (original if properties_of(original) else {})
        return found
