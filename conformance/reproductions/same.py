"""Compares calls as text: those that a script printed with those of a report, which shortens long ones."""

from __future__ import annotations

import json


def same_calls(calls: list[str], stated: list[str]) -> bool:
    """Return whether both lists have the same calls, in any order."""
    left = list(calls)
    for text in stated:
        same = next((call for call in left if _same_call(call, text)), None)
        if same is None:
            return False
        left.remove(same)
    return not left


def _same_call(call: str, stated: str) -> bool:
    if stated.endswith("...)"):
        return "".join(call.split()).startswith("".join(stated.removesuffix("...)").split()))
    return plain(call) == plain(stated)


def plain(text: str) -> str:
    """Return a call without white space and escapes that differ between JSON texts."""
    name, _, arguments = text.partition("(")
    try:
        return f"{name}({json.dumps(json.loads(arguments.removesuffix(')')), sort_keys=True)})"
    except ValueError:
        return "".join(text.split())
