"""Damage to traffic, as hypothesis strategies: what proxies, gateways, bugs and malice do to a body."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

#: Values of every type, and some that break naive readers. 10**400 is beyond every float.
STRANGE: list[Any] = [None, True, False, 0, -1, 3, 2**63, 10**400, 1.5, "", "x", "{}", "\ud800", "\ufffd"]
STRANGE += [[], [None], [[]], {}, {"type": "unheard_of"}, {"": None}]
#: Bytes that end an event, a character, a string or a number in the wrong place.
INSERTED = [b"\n\n", b"data: ", b"\x00", b"\xff", b"{", b"]", b'"', b"\\u"]
INSERTED += [b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f", b"\\ud800", b"1e999", b"NaN", b"9" * 25, b"\xef\xbb\xbf"]
Path = tuple[Any, ...]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of every member and every element."""
    members: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in members:
        yield (*path, key)
        yield from places(inner, (*path, key))


def strings(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def subtrees(value: Any) -> Iterator[Any]:
    """A value and every value inside it."""
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from subtrees(inner)


def _holder(tree: Any, path: Path) -> Any:
    for key in path[:-1]:
        tree = tree[key]
    return tree


@st.composite
def hurt(draw: st.DrawFn, tree: Any, values: Sequence[Any] = STRANGE) -> Any:
    """A copy in which one to four members were dropped or given a value of another type: nothing is added."""
    tree = copy.deepcopy(tree)
    for _ in range(draw(st.integers(1, 4))):
        found = list(places(tree))
        if not found:
            break
        path = draw(st.sampled_from(found))
        holder = _holder(tree, path)
        if draw(st.booleans()):
            del holder[path[-1]]
        else:
            old = holder[path[-1]]
            other = draw(st.sampled_from([value for value in values if type(value) is not type(old)]))
            holder[path[-1]] = copy.deepcopy(other)
    return tree


@st.composite
def grown(draw: st.DrawFn, tree: Any) -> Any:
    """A copy in which something was added: nested in itself, repeated, or put where nothing was."""
    tree = copy.deepcopy(tree)
    path = draw(st.sampled_from(list(places(tree))))
    holder, key = _holder(tree, path), path[-1]
    how = draw(st.sampled_from(["nested", "listed", "repeated", "added", "copied"]))
    if how == "nested":
        holder[key] = {"type": holder[key], "value": holder[key]}
    elif how == "listed":
        holder[key] = [holder[key], holder[key]]
    elif how == "repeated" and isinstance(holder, list):
        holder.insert(draw(st.integers(0, len(holder))), copy.deepcopy(holder[key]))
    elif how == "copied":
        other = draw(st.sampled_from(list(places(tree))))
        holder[key] = copy.deepcopy(_holder(tree, other)[other[-1]])
    elif isinstance(holder, dict):
        name = draw(st.sampled_from(["type", "id", "error", "tool_calls", "content", "\ud800", "new"]))
        holder[name] = copy.deepcopy(draw(st.sampled_from(STRANGE)))
    return tree


def written(tree: Any, *, doubled: bool = False) -> bytes:
    """The bytes of a tree; ``doubled``: with every member there twice, null first."""
    text = json.dumps(tree)
    if doubled and isinstance(tree, dict):
        first = "".join(f"{json.dumps(key)}:null," for key in tree)
        text = "{" + first + text[1:]
    return text.encode("utf-8", "surrogatepass")


@st.composite
def garbled(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes with some of them flipped, lost, repeated, or put in; or only their beginning."""
    damaged = bytearray(data)
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(damaged)))
        length = draw(st.integers(1, 12))
        how = draw(st.sampled_from(["flip", "lose", "repeat", "insert", "cut"]))
        if how == "flip" and at < len(damaged):
            damaged[at] ^= draw(st.integers(1, 255))
        elif how == "lose":
            del damaged[at : at + length]
        elif how == "repeat":
            damaged[at:at] = damaged[at : at + length * 8]
        elif how == "insert":
            damaged[at:at] = draw(st.sampled_from(INSERTED))
        elif how == "cut":
            del damaged[at:]
    return bytes(damaged)
