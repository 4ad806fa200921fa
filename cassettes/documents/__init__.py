"""Text documents whose values can be read as plain data and replaced in place: YAML, JSON and JSON lines.

    document = load(data, "cassettes/chat.yaml")
    text = document.replaced({("interactions", 0, "request", "body"): "…"})    # everything else stays as it was

A replacement changes the characters of one value. Comments, the order of members, quotes, line breaks and escapes of
the rest are those of the original, so that a diff shows the changed values and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from ..errors import UnreadableSource
from . import json_text, yaml_text

#: The members and indexes that lead to a value.
Path = tuple[str | int, ...]
Value = str | bytes


class Document(Protocol):
    """A text with its values. ``comments``: what it contains besides, or ""."""

    text: str
    data: Any

    @property
    def comments(self) -> str: ...

    def replaced(self, changes: Mapping[Path, Value]) -> str:
        """Return the text with other strings at these places."""


#: File suffix -> reader.
_READERS: dict[str, Callable[[str, str], Document]] = {
    ".yaml": yaml_text.YamlText,
    ".yml": yaml_text.YamlText,
    ".json": json_text.JsonText,
    ".har": json_text.JsonText,
    ".jsonl": json_text.JsonLines,
    ".ndjson": json_text.JsonLines,
}
SUFFIXES = tuple(_READERS)


def load(data: bytes, name: str) -> Document:
    """Read a document by the suffix of its name. Raises UnreadableSource."""
    read = next((how for suffix, how in _READERS.items() if name.lower().endswith(suffix)), None)
    if read is None:
        raise UnreadableSource("not a cassette: unknown suffix", where=name, hint=f"expected {', '.join(SUFFIXES)}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableSource(f"the file is not UTF-8: byte {error.start:,}", where=name) from None
    return read(text, name)


def changes(old: Any, new: Any, path: Path = ()) -> Iterator[tuple[Path, Value]]:
    """Yield the place and the new value of each string that differs. Both trees must have the same shape.

    Raises ValueError if they differ in anything but strings.
    """
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        for name, value in old.items():
            yield from changes(value, new[name], (*path, name))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, value in enumerate(old):
            yield from changes(value, new[index], (*path, index))
    elif type(old) is type(new) and isinstance(new, str | bytes):
        if old != new:
            yield path, new
    elif old is not new and old != new:
        raise ValueError(f"the shape changed at {'.'.join(map(str, path)) or 'the top'}")


__all__ = ["SUFFIXES", "Document", "Path", "Value", "changes", "load"]
