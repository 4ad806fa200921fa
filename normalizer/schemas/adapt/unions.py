"""Rewriting of unions: anyOf, oneOf, and several types."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from ..keywords import ANNOTATIONS
from .codecs import SAME, Codec, Union, Variant
from .merge import CannotMerge, NothingFits, exclusive, intersection
from .rewriting import Rewriting
from .rewritten import Rewritten

_NULL = {"type": "null"}


def rewrite(rewriting: Rewriting, node: dict[str, Any], pointer: str, *, root: bool = False) -> Rewritten:
    """Return the schema of a union."""
    keyword = "anyOf" if "anyOf" in node else "oneOf"
    variants = _distributed(rewriting, node, keyword, pointer)
    about = {key: value for key, value in node.items() if key == "description"}
    if variants is None:
        return rewriting.schema({key: value for key, value in node.items() if key != keyword}, pointer, root=root)
    if keyword == "oneOf" and len(variants) > 1:
        overlap = not all(exclusive(one, other) for one, other in combinations(variants, 2))
        rewriting.report("overlapping-one-of" if overlap else "one-of", pointer, "")
    others = [variant for variant in variants if not _is_null(variant)]
    by_keyword = rewriting.has("single-type") and rewriting.rules.keywords.get("nullable") is not None
    if len(others) < len(variants) and by_keyword and others:
        rewriting.report("null-spelling", pointer, "nullable")
        found = rewrite(rewriting, {"anyOf": others, **about}, pointer) if len(others) > 1 else None
        found = found or rewriting.schema({**others[0], **about}, pointer)
        return Rewritten({**found.schema, "nullable": True}, found.codec)
    if len(variants) == 1:
        return rewriting.schema({**variants[0], **about}, pointer, root=root)
    if not rewriting.rules.accepts("anyOf", variants):
        return rewriting.json_text({keyword: variants, **about}, pointer)
    rewritten = [rewriting.schema(variant, f"{pointer}/{keyword}/{n}") for n, variant in enumerate(variants)]
    codec = _codec(rewriting, variants, rewritten, pointer)
    return Rewritten({"anyOf": [found.schema for found in rewritten], **about}, codec)


def _is_null(variant: dict[str, Any]) -> bool:
    return {key: value for key, value in variant.items() if key not in ANNOTATIONS} == _NULL


def _distributed(rewriting: Rewriting, node: dict[str, Any], keyword: str, pointer: str) -> list[dict[str, Any]] | None:
    """Return the variants with the keywords beside the union in each; None if the union is left out."""
    variants = node[keyword] if isinstance(node[keyword], list) else []
    base = {key: value for key, value in node.items() if key != keyword and key not in ANNOTATIONS}
    if base:
        merged = []
        for number, variant in enumerate(variants):
            at = f"{pointer}/{keyword}/{number}"
            try:
                inlined = rewriting.merged(rewriting.inlined(variant, at), at)
                merged.append(intersection(inlined, base))
            except NothingFits:
                continue
            except CannotMerge as reason:
                rewriting.report("unmerged", at, str(reason))
                return None
        rewriting.report("distributed", pointer, keyword)
        variants = merged
    if not variants:
        rewriting.report("unmerged", pointer, f"{keyword} without a possible variant")
        return None
    return variants


def _codec(rewriting: Rewriting, variants: list[dict[str, Any]], rewritten: list[Rewritten], pointer: str) -> Codec:
    if all(found.codec is SAME for found in rewritten):
        return SAME
    shapes = [rewriting.resolved(found.schema) for found in rewritten]
    if not all(exclusive(one, other) for one, other in combinations(shapes, 2)):
        rewriting.report("ambiguous", pointer, "")
    return Union(
        tuple(
            Variant(rewriting.complete(variant), rewriting.complete_adapted(found.schema), found.codec)
            for variant, found in zip(variants, rewritten, strict=True)
        )
    )
