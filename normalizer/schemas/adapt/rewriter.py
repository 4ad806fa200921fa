"""Rewriting of one schema for a provider: one pass that returns the adapted schema and the codec of its values."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from ... import json_codec
from ..keywords import (
    ANNOTATIONS,
    LISTS,
    MAPS,
    OF_TYPE,
    SINGLE,
    STRUCTURE,
    foreign_keywords,
    typed_keywords,
    types_of,
)
from . import arrays, objects, unions
from .codecs import SAME, ByType, Codec, EnumText, Reference
from .merge import CannotMerge
from .references import definition_of, definitions_in
from .rewriting import Rewriting
from .rewritten import Rewritten, TooLarge, described, quoted
from .validation import fits

#: Annotations whose value is worth a place in the description.
_DESCRIBED = ("default", "example", "examples")
#: Maximum number of schemas in one tool. References that are replaced by their targets multiply them.
_LARGEST = 20_000


class Rewriter(Rewriting):
    """Rewrites one schema after the other. See `Rewriting` for the arguments."""

    _count = 0

    def schema(self, node: Any, pointer: str, *, root: bool = False) -> Rewritten:
        """Return a schema as the provider accepts it. The root must be an object schema without a union.

        Raises TooLarge after `_LARGEST` schemas.
        """
        self._count += 1
        if self._count > _LARGEST:
            raise TooLarge
        if not isinstance(node, dict):
            node = {} if node else {"not": {}}
        if "$ref" in node:
            return self._reference(node, pointer)
        node = self.merged(node, pointer)
        if "enum" in node or "const" in node:
            return self._enum(node, pointer, root=root)
        if "anyOf" in node or "oneOf" in node:
            return unions.rewrite(self, node, pointer, root=root)
        kinds = types_of(node)
        if not kinds and self.has("typed"):
            return self._untyped(node, pointer)
        if len(kinds) > 1 and self.has("single-type"):
            return unions.rewrite(
                self, {"anyOf": [_of_type(node, kind) for kind in kinds], **_annotations(node)}, pointer
            )
        return self._typed(node, pointer, root=root)

    def _reference(self, node: dict[str, Any], pointer: str) -> Rewritten:
        reference = node["$ref"]
        name = definition_of(reference)
        if not self.resolver.is_recursive(reference):
            try:
                return self.schema(self.inlined(node, pointer), pointer)
            except CannotMerge as reason:
                self.report("unmerged", pointer, str(reason))
                return self.schema({"$ref": reference}, pointer)
        if len(node) > 1:
            lost = [key for key in node if key != "$ref" and key not in ANNOTATIONS]
            self.report("unmerged" if lost else "annotation", pointer, ", ".join(key for key in node if key != "$ref"))
        if self.has("acyclic") or not self.rules.accepts("$ref", reference):
            if name in self.inside:
                return self.json_text({"$ref": reference}, pointer)
            self.inside.append(name)
            self.report("reference", pointer, reference)
            rewritten = self.schema(self.originals[name], pointer)
            self.inside.pop()
            return rewritten
        if name not in self.definitions:
            self.definitions[name] = {}
            schema, self.codecs[name] = self.schema(self.originals[name], pointer)
            self.definitions[name].update(schema)
        return Rewritten({"$ref": reference}, Reference(name, self.codecs))

    def _enum(self, node: dict[str, Any], pointer: str, *, root: bool) -> Rewritten:
        rest = {key: value for key, value in node.items() if key not in ("enum", "const")}
        values = [node["const"]] if "const" in node else node["enum"]
        others = {**rest, "enum": node["enum"]} if "const" in node and "enum" in node else rest
        values = [value for value in (values if isinstance(values, list) else []) if fits(self.complete(others), value)]
        if not values:
            self.report("constraint", pointer, "an enum without a possible value")
            return self.schema(rest, pointer, root=root)
        scalar = not any(isinstance(value, (dict, list)) for value in values)
        kinds = {type(value) for value in values}
        texts = (self.has("string-enum") and kinds != {str}) or (self.has("enum-not-empty") and "" in values)
        if texts or (not scalar and self.has("typed")) or (len(kinds) > 1 and self.has("single-type")):
            self.report("enum-text", pointer, "")
            named = {value if isinstance(value, str) else json_codec.text(value): value for value in values}
            if "" in named and self.has("enum-not-empty"):
                named = {name or _unused("empty", named): value for name, value in named.items()}
            if len(named) == len(values):
                schema = {"type": "string", "enum": list(named), **_annotations(node, "description")}
                return Rewritten(schema, EnumText(named))
            return self.json_text(node, pointer)
        written: dict[str, Any] = {"type": "string"} if kinds == {str} else {}
        if "const" in node and self.rules.accepts("const", node["const"]):
            written["const"] = node["const"]
        else:
            if "const" in node:
                self.report("const", pointer, "")
            written["enum"] = values
        others = {key: value for key, value in node.items() if key in ANNOTATIONS}
        return Rewritten(self._finished(written, others, pointer, codec=SAME, root=False))

    def _untyped(self, node: dict[str, Any], pointer: str) -> Rewritten:
        kinds = [*dict.fromkeys(typed_keywords(node).values())]
        if len(kinds) != 1:
            return self.json_text(node, pointer)
        self.report("typed", pointer, kinds[0])
        return self.schema({"type": kinds[0], **node}, pointer)

    def _typed(self, node: dict[str, Any], pointer: str, *, root: bool) -> Rewritten:
        """Return a schema of certain types, or without a type where the provider takes that."""
        written: dict[str, Any] = {"type": node["type"]} if "type" in node else {}
        kinds = types_of(node)
        members = items = SAME
        if not kinds or "object" in kinds:
            of_object = objects.rewrite(self, node, written, pointer, root=root)
            if isinstance(of_object, Rewritten):
                return of_object
            members = of_object
        if not kinds or "array" in kinds:
            items = arrays.rewrite(self, node, written, pointer)
        codec = SAME if members is SAME and items is SAME else ByType(members, items)
        handled = STRUCTURE if not self.has("matching-type") or not kinds else STRUCTURE | foreign_keywords(node, kinds)
        others = {key: value for key, value in node.items() if key not in handled}
        return Rewritten(self._finished(written, others, pointer, codec=codec, root=root), codec)

    def _finished(
        self, written: dict[str, Any], others: dict[str, Any], pointer: str, *, codec: Codec, root: bool
    ) -> dict[str, Any]:
        """Return a schema with the other keywords that the provider accepts; the description names the rest."""
        notes = written.pop("notes", [])
        for keyword, value in others.items():
            applies = codec is SAME or keyword not in _OF_STRUCTURE
            applies = applies and not (keyword in _WITH_SCHEMAS and definitions_in({keyword: value}))
            if keyword == "description" or (applies and self.rules.accepts(keyword, value, root=root)):
                written[keyword] = value
            elif keyword not in ANNOTATIONS:
                self.report("constraint", f"{pointer}/{keyword}", keyword)
                notes.append(quoted(keyword, value))
            elif self.rules.of(keyword, root=root).effect == "refused":
                self.report("annotation", f"{pointer}/{keyword}", keyword)
                notes += [quoted(keyword, value)] if keyword in _DESCRIBED else []
            else:
                written[keyword] = value  # the provider drops it
        if notes:
            written["description"] = described(others, notes)
        return written


_WITH_SCHEMAS = frozenset((*MAPS, *LISTS, *SINGLE))
#: Keywords about members and items, which do not fit any more after these were changed.
_OF_STRUCTURE = frozenset((*OF_TYPE["object"], *OF_TYPE["array"], "not", "if", "then", "else")) - {
    "minItems",
    "maxItems",
    "uniqueItems",
    "propertyOrdering",
}


def _unused(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _of_type(node: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the part of a schema that concerns one of its types."""
    drop = foreign_keywords(node, [kind]) | ANNOTATIONS | {"type"}
    return {"type": kind, **{key: value for key, value in node.items() if key not in drop}}


def _annotations(node: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key in (names or ANNOTATIONS)}
