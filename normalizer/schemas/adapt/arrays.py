"""Rewriting of array schemas: items and tuples."""

from __future__ import annotations

from typing import Any

from .codecs import SAME, Codec, Items
from .rewriting import Rewriting


def rewrite(rewriting: Rewriting, node: dict[str, Any], written: dict[str, Any], pointer: str) -> Codec:
    """Add the keywords of arrays to ``written`` and return the codec."""
    if "prefixItems" in node and not rewriting.rules.accepts("prefixItems", node["prefixItems"]):
        node = _as_items(rewriting, node, pointer)
    prefix: list[Codec] = []
    if "prefixItems" in node:
        parts = [rewriting.schema(part, f"{pointer}/prefixItems/{n}") for n, part in enumerate(node["prefixItems"])]
        written["prefixItems"] = [part.schema for part in parts]
        prefix = [part.codec for part in parts]
    inner: Codec = SAME
    if isinstance(node.get("items"), bool) and not rewriting.has("typed"):
        written["items"] = node["items"]
    elif "items" in node:
        written["items"], inner = rewriting.schema(node["items"], f"{pointer}/items")
    elif "type" in node and (rewriting.has("items") or rewriting.has("typed")):
        rewriting.report("items", pointer, "")
        written["items"], inner = rewriting.schema({}, f"{pointer}/items")
    return SAME if inner is SAME and all(codec is SAME for codec in prefix) else Items(inner, tuple(prefix))


def _as_items(rewriting: Rewriting, node: dict[str, Any], pointer: str) -> dict[str, Any]:
    """Return an array schema whose items have any of the types of a tuple."""
    rewriting.report("tuple", pointer, "")
    parts = list(node["prefixItems"])
    rest = node.get("items", True)
    most = node.get("maxItems")
    if rest is not False and not (isinstance(most, int) and most <= len(parts)):
        parts.append(rest if isinstance(rest, dict) else {})
    variants = [part for number, part in enumerate(parts) if part not in parts[:number]]
    items: Any = {} if {} in variants or not variants else variants[0] if len(variants) == 1 else {"anyOf": variants}
    return {**{key: value for key, value in node.items() if key != "prefixItems"}, "items": items}
