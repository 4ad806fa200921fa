"""YAML as a document: plain data with the place of every scalar, so that one can be replaced where it is.

Anchors and aliases keep their meaning: a value behind an alias is replaced where the anchor is.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from ..library import safe_yaml
from . import yaml_scalars

_Path = tuple[str | int, ...]
_RUBY_BINARY = "!binary"


class YamlText:
    """A YAML document of plain data. Raises UnreadableCassette for any other."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self._tokens: list[Any] = []
        bare = text.removeprefix("\ufeff")
        self._offset = len(text) - len(bare)
        self.data: Any = safe_yaml.load(bare.encode(), name, self._builder)

    def _builder(self, parser: Any, where: str) -> safe_yaml.Builder:
        return _Recording(parser, where, self._tokens)

    @property
    def comments(self) -> str:
        """The comments, one per line."""
        outside, done = [], 0
        for event in self._tokens:
            start, end = event.start_mark.index + self._offset, event.end_mark.index + self._offset
            if getattr(event, "style", None) in ("|", ">"):  # a comment may follow the indicator of a block
                start = self.text.find("\n", start, end) + 1 or end
            outside.append(self.text[done:start])
            done = end
        lines = "".join([*outside, self.text[done:]]).splitlines()
        return "\n".join(line[line.index("#") :] for line in lines if "#" in line)

    def replaced(self, changes: Mapping[_Path, str | bytes]) -> str:
        """Return the text with other strings at these places."""
        if not changes:
            return self.text
        places = _Places(self._tokens)
        places.walk(self.data, ())
        edits: dict[tuple[int, int], str] = {}
        for path, new in changes.items():
            event = places.event_at(path)
            start, end = event.start_mark.index + self._offset, event.end_mark.index + self._offset
            edits[start, end] = yaml_scalars.respelled(self.text[start:end], event, new)
        parts, done = [], 0
        for (start, end), spelled in sorted(edits.items()):
            parts += [self.text[done:start], spelled]
            done = end
        return "".join([*parts, self.text[done:]])


class _Recording(safe_yaml.Builder):
    """Builds values, and records the events of scalars and aliases in their order."""

    def __init__(self, parser: Any, where: str, tokens: list[Any]) -> None:
        super().__init__(parser, where)
        self._tokens = tokens

    def scalar(self, event: Any) -> Any:
        self._tokens.append(event)
        if event.tag != _RUBY_BINARY:
            return super().scalar(event)
        try:
            return base64.b64decode(event.value)
        except binascii.Error as error:
            raise self.bad(f"not base64: {error}", event) from None

    def alias(self, event: Any) -> Any:
        self._tokens.append(event)
        return super().alias(event)


class _Places:
    """The event of each scalar by its path."""

    def __init__(self, tokens: list[Any]) -> None:
        self._tokens: Iterator[Any] = iter(tokens)
        self._events: dict[_Path, Any] = {}
        self._anchors: dict[str, _Path] = {}
        self._collections: dict[int, _Path] = {}
        self._aliases: dict[_Path, _Path] = {}
        self._next = next(self._tokens, None)

    def walk(self, value: Any, path: _Path) -> None:
        """Assign the recorded events to the values, in the order of the text."""
        event = self._next
        if id(value) in self._collections and isinstance(value, dict | list) and value:
            self._aliases[path] = self._collections[id(value)]
            self._take()
        elif isinstance(value, dict):
            self._collections[id(value)] = path
            for name, member in value.items():
                self._take()
                self.walk(member, (*path, name))
        elif isinstance(value, list):
            self._collections[id(value)] = path
            for index, item in enumerate(value):
                self.walk(item, (*path, index))
        elif event is not None and not hasattr(event, "value"):  # an alias of a scalar
            self._aliases[path] = self._anchors[event.anchor]
            self._take()
        elif event is not None:
            self._events[path] = event
            if event.anchor is not None:
                self._anchors[event.anchor] = path
            self._take()

    def _take(self) -> None:
        self._next = next(self._tokens, None)

    def event_at(self, path: _Path) -> Any:
        """Return the event of the scalar at a path, also behind aliases."""
        while path not in self._events:
            prefix = next(path[:end] for end in range(len(path), 0, -1) if path[:end] in self._aliases)
            path = self._aliases[prefix] + path[len(prefix) :]
        return self._events[path]
