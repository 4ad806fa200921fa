"""Reading of entries one by one: an entry that cannot be read becomes a problem and does not hide the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from toolparity.normalizer import json_codec

from ..errors import UnreadableSource
from .call_count import calls_in
from .json_text import object_of
from .model import Exchange, Problem, ReadItem

Item = TypeVar("Item")

_LONGEST = 300
#: More than is shown, so that a secret is whole where it is searched for.
_EXCERPT = 1_000


def readable(format: str, source: str, line: int | None, items: Iterator[ReadItem]) -> Iterator[ReadItem]:
    """Yield what an importer yields for an entry, and a problem at the end if the importer fails.

    Importers rely on the types of members. A value of another type makes an entry unreadable, whatever they raise.
    Where an importer keeps the response as it is, its calls are counted here.
    """
    try:
        for item in items:
            if isinstance(item, Exchange) and item.calls is None and item.body is not None:
                item.calls = calls_in(json_codec.decode(item.body))
            yield item
    except Exception as error:  # one entry must not hide the others
        yield problem_of(error, f"an entry of {format}", source, line)


def by(step: str, items: Iterable[Item]) -> Iterator[Item]:
    """Yield items, and note in each exchange by which step it was found."""
    for item in items:
        if isinstance(item, Exchange):
            item.steps = (step, *item.steps)
        yield item


def skipped(source: str, what: str, line: int | None) -> Problem:
    """Return an entry that is not traffic."""
    return Problem(source, what, line=line, fault=False, skipped=True)


def with_excerpt(entry: bytes | dict[str, Any], item: Item) -> Item:
    """Return an item; a problem with the members of the entry that it concerns, or else the beginning of its text."""
    if not isinstance(item, Problem) or item.excerpt:
        return item
    value = object_of(entry) if isinstance(entry, bytes) else entry
    if value is not None:
        return replace(item, excerpt=f"members: {', '.join(map(str, value))}"[:_EXCERPT])
    return replace(
        item, excerpt=entry[:_EXCERPT].decode("utf-8", "replace").strip() if isinstance(entry, bytes) else ""
    )


def problem_of(error: Exception, expected: str, source: str, line: int | None) -> Problem:
    """Return the problem of an entry that was not what the importer expected, as ``error`` shows."""
    if isinstance(error, UnreadableSource):
        return Problem(source, error.what, error.hint, line)
    return Problem(source, f"not {expected}: {_reason(error)}"[:_LONGEST], line=line)


def listed(value: Any, name: str) -> list[Any]:
    """Return the elements of a member that may be absent. Raises UnreadableSource if it is not a list."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise UnreadableSource(f"{name} is not a list")
    return value


def mappings(value: Any, name: str) -> list[dict[str, Any]]:
    """Return the objects of a member that may be absent. Raises UnreadableSource if it is not a list of objects."""
    return [mapping(element, f"an element of {name}") for element in listed(value, name)]


def mapping(value: Any, name: str) -> dict[str, Any]:
    """Return a member that must be an object. Raises UnreadableSource."""
    if not isinstance(value, dict):
        raise UnreadableSource(f"{name} is not an object")
    return value


def word(value: Any, name: str) -> str:
    """Return a member that must be text, as one that says what an entry is. Raises UnreadableSource."""
    if not isinstance(value, str):
        raise UnreadableSource(f"{name} is not text")
    return value


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"no member {error}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, (AttributeError, TypeError)):
        return f"a member has an unexpected type ({error})"
    if isinstance(error, UnicodeError):
        return "half a surrogate pair where text is not expected"
    return str(error) or type(error).__name__
