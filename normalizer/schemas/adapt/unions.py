"""Rewriting of unions: anyOf, oneOf, and several types."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from ..keywords import ANNOTATIONS
from .codecs import SAME, Codec, Union, Variant
from .merge import CannotMerge, NothingFits, exclusive, intersection
from .rewritten import Rewritten

if TYPE_CHECKING:
    from .rewriter import Rewriter

_NULL = {"type": "null"}


def rewrite(rewriter: Rewriter, node: dict[str, Any], pointer: str, *, root: bool = False) -> Rewritten:
    """Return the schema of a union."""
    keyword = "anyOf" if "anyOf" in node else "oneOf"
    variants = _distributed(rewriter, node, keyword, pointer)
    about = {key: value for key, value in node.items() if key == "description"}
    if variants is None:
        return rewriter.schema({key: value for key, value in node.items() if key != keyword}, pointer, root=root)
    if keyword == "oneOf" and len(variants) > 1:
        overlap = not all(exclusive(one, other) for one, other in combinations(variants, 2))
        rewriter.report("overlapping-one-of" if overlap else "one-of", pointer, "")
    others = [variant for variant in variants if not _is_null(variant)]
    by_keyword = rewriter.has("single-type") and rewriter.rules.keywords.get("nullable") is not None
    if len(others) < len(variants) and by_keyword and others:
        rewriter.report("null-spelling", pointer, "nullable")
        found = rewrite(rewriter, {"anyOf": others, **about}, pointer) if len(others) > 1 else None
        found = found or rewriter.schema({**others[0], **about}, pointer)
        return Rewritten({**found.schema, "nullable": True}, found.codec)
    if len(variants) == 1:
        return rewriter.schema({**variants[0], **about}, pointer, root=root)
    if not rewriter.rules.accepts("anyOf", variants):
        return rewriter.json_text({keyword: variants, **about}, pointer)
    rewritten = [rewriter.schema(variant, f"{pointer}/{keyword}/{n}") for n, variant in enumerate(variants)]
    codec = _codec(rewriter, variants, rewritten, pointer)
    return Rewritten({"anyOf": [found.schema for found in rewritten], **about}, codec)


def _is_null(variant: dict[str, Any]) -> bool:
    return {key: value for key, value in variant.items() if key not in ANNOTATIONS} == _NULL


def _distributed(rewriter: Rewriter, node: dict[str, Any], keyword: str, pointer: str) -> list[dict[str, Any]] | None:
    """Return the variants with the keywords beside the union in each; None if the union is left out."""
    variants = node[keyword] if isinstance(node[keyword], list) else []
    base = {key: value for key, value in node.items() if key != keyword and key not in ANNOTATIONS}
    if base:
        merged = []
        for number, variant in enumerate(variants):
            at = f"{pointer}/{keyword}/{number}"
            try:
                inlined = rewriter.merged(rewriter.inlined(variant, at), at)
                merged.append(intersection(inlined, base))
            except NothingFits:
                continue
            except CannotMerge as reason:
                rewriter.report("unmerged", at, str(reason))
                return None
        rewriter.report("distributed", pointer, keyword)
        variants = merged
    if not variants:
        rewriter.report("unmerged", pointer, f"{keyword} without a possible variant")
        return None
    return variants


def _codec(rewriter: Rewriter, variants: list[dict[str, Any]], rewritten: list[Rewritten], pointer: str) -> Codec:
    if all(found.codec is SAME for found in rewritten):
        return SAME
    shapes = [rewriter.resolved(found.schema) for found in rewritten]
    if not all(exclusive(one, other) for one, other in combinations(shapes, 2)):
        rewriter.report("ambiguous", pointer, "")
    return Union(
        tuple(
            Variant(rewriter.complete(variant), rewriter.complete_adapted(found.schema), found.codec)
            for variant, found in zip(variants, rewritten, strict=True)
        )
    )
