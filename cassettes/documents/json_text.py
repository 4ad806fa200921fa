"""JSON and JSON lines as documents: string values are found with their spans and replaced there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolparity.normalizer import json_codec

from ..errors import UnreadableSource
from ..secrets.layers import PlainText, joined

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)

_Path = tuple[str | int, ...]


class JsonText:
    """A JSON document."""

    comments = ""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        try:
            self.data: Any = _decoded(text)
        except (ValueError, RecursionError) as error:
            raise UnreadableSource(f"invalid JSON: {error}", where=name) from None

    def replaced(self, changes: Mapping[_Path, str | bytes]) -> str:
        """Return the text with other strings at these places."""
        return _replaced(self.text, changes)


class JsonLines:
    """JSON lines. The first step of a path is the index of the line among those that are not empty."""

    comments = ""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self._lines = [f"{line}\n" for line in text.split("\n")]  # other line ends may be inside of strings
        self._lines[-1] = self._lines[-1][:-1]
        self._numbers = [number for number, line in enumerate(self._lines) if line.strip()]
        self.data: Any = []
        for number in self._numbers:
            try:
                self.data.append(_decoded(self._lines[number]))
            except (ValueError, RecursionError) as error:
                raise UnreadableSource(f"invalid JSON: {error}", where=f"{name}:{number + 1}") from None

    def replaced(self, changes: Mapping[_Path, str | bytes]) -> str:
        """Return the text with other strings at these places."""
        lines = list(self._lines)
        of_lines: dict[int, dict[_Path, str | bytes]] = {}
        for path, value in changes.items():
            of_lines.setdefault(self._numbers[int(path[0])], {})[path[1:]] = value
        for number, inner in of_lines.items():
            lines[number] = _replaced(lines[number], inner)
        return "".join(lines)


def _decoded(text: str) -> Any:
    """Return the value of a JSON text. Raises ValueError, also for duplicate members, of which all but one are hidden.

    Python's parser is asked only for the names.
    """
    value = json_codec.decode(text.encode("utf-8", "surrogatepass"))
    json.loads(text, object_pairs_hook=_unique, parse_int=str, parse_float=str, strict=False)
    return value


def _unique(members: list[tuple[str, Any]]) -> None:
    names = {name for name, _ in members}
    if len(names) < len(members):
        raise ValueError("an object has two members of the same name")


def _replaced(text: str, changes: Mapping[_Path, str | bytes]) -> str:
    parts, done = [], 0
    for path, start, end in _strings(text):
        new = changes.get(path)
        if new is None:
            continue
        assert isinstance(new, str)
        parts += [text[done:start], _respelled(text[start:end], new)]
        done = end
    return "".join([*parts, text[done:]])


def _respelled(spelled: str, new: str) -> str:
    """Return ``new`` as the inside of a JSON string, with the escapes of the old spelling where they still fit."""
    source = PlainText(spelled)
    view = joined(source, [(0, len(spelled))])
    if len(view.text) == len(new):
        view.write(0, new)
        if json_codec.decode(f'"{source.text}"'.encode("utf-8", "surrogatepass")) == new:
            return source.text
    return json.dumps(new, ensure_ascii=spelled.isascii())[1:-1]


def _strings(text: str) -> Iterator[tuple[_Path, int, int]]:
    """Yield the path of each string value and its span between the quotes."""
    path: list[str | int] = []
    objects: list[bool] = []
    value_next = False
    for match in _TOKEN.finditer(text):
        token = match.group()
        first = token[0]
        if first == '"':
            if objects and objects[-1] and not value_next:
                path[-1] = json.loads(token, strict=False)
            else:
                yield tuple(path), match.start() + 1, match.end() - 1
        elif first == ":":
            value_next = True
        elif first == ",":
            value_next = False
            if objects and not objects[-1]:
                path[-1] = int(path[-1]) + 1
        elif first in "{[":
            objects.append(first == "{")
            path.append("" if first == "{" else 0)
            value_next = False
        elif first in "}]" and objects:
            objects.pop()
            path.pop()
            value_next = bool(objects) and objects[-1]
