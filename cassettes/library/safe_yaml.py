"""Fast and safe YAML parser for the cassettes of a library: plain data only.

libyaml splits the text into events, and values are built directly from them: no nodes, no tags that create objects, no
recursion. This is faster than yaml.CSafeLoader. A hostile file (code execution, deep nesting, alias expansion, merge
keys) raises UnreadableCassette with the line.

Files of other projects may use more of YAML; `cassettes.sources.yamlfile` reads those during import.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import IO, Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from ..errors import UnreadableCassette

if yaml.__with_libyaml__:
    from yaml.cyaml import CParser as _CParser  # type: ignore[attr-defined]

    _Parser: Any = _CParser
else:  # pure Python fallback

    class _SlowParser(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser):
        def __init__(self, stream: Any) -> None:
            yaml.reader.Reader.__init__(self, stream)
            yaml.scanner.Scanner.__init__(self)
            yaml.parser.Parser.__init__(self)

    _Parser = _SlowParser

#: Bytes. The longest exchange seen in real recordings is a hundredth of it, and a cassette holds a handful.
MAX_BYTES = 64 * 1024 * 1024
#: Nesting levels. A cassette needs about ten; JSON bodies are text and do not count.
MAX_DEPTH = 200
#: Values in one cassette. Values that an alias repeats count each time.
MAX_VALUES = 2_000_000

_TAG = "tag:yaml.org,2002:"
_COLLECTIONS = frozenset(_TAG + name for name in ("seq", "map"))
#: Tags read as text. Python 2 tagged every text; a merge key is text here, and `_key` refuses it.
_TEXT = frozenset(_TAG + name for name in ("str", "merge", "python/str", "python/unicode"))
_constructor = SafeConstructor()
_resolver = Resolver()
_TYPED: dict[str, Callable[[Any, Any], Any]] = {
    _TAG + name: SafeConstructor.yaml_constructors[_TAG + name]
    for name in ("int", "float", "bool", "null", "binary", "timestamp")
}
#: Only plain scalars that begin like this need the resolver; all others are text.
_PERHAPS_TYPED = re.compile(r"[-+0-9.~nNtTfFyYoO<=]|\Z")


def load(data: bytes, where: str, builder: Callable[[Any, str], Builder] | None = None) -> Any:
    """Return the value of the only document. Raises UnreadableCassette, with ``where`` as its location.

    ``builder``: makes a subclass of `Builder` for the parser and the location.
    """
    if len(data) > MAX_BYTES:
        raise too_large(len(data), where)
    return _guarded(data, where, lambda parser: _document(parser, where, (builder or Builder)(parser, where)))


def head(stream: IO[bytes], key: str, where: str) -> Any:
    """Return the value of one top-level member, or None, reading no further than its end.

    Raises UnreadableCassette if the part read so far is not valid.
    """
    return _guarded(_Nameless(stream), where, lambda parser: _member(parser, key, where))


def too_large(size: int, where: str) -> UnreadableCassette:
    """Return the error for a file or text of ``size`` bytes."""
    return UnreadableCassette(
        f"larger than the limit of {MAX_BYTES:,} bytes: {size:,}",
        where=where,
        hint="split the recording into several cassettes",
    )


def _guarded(source: Any, where: str, read: Callable[[Any], Any]) -> Any:
    parser = None
    try:
        parser = _Parser(source)
        return read(parser)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = where if mark is None else f"{where}:{mark.line + 1}"
        raise UnreadableCassette(f"invalid YAML: {error.problem or error.context}", where=place) from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise UnreadableCassette(f"invalid YAML: {' '.join(str(error).split())}", where=where) from None
    finally:
        if parser is not None and hasattr(parser, "dispose"):
            parser.dispose()


def _document(parser: Any, where: str, builder: Builder) -> Any:
    parser.get_event()  # stream start
    if not isinstance(parser.get_event(), yaml.DocumentStartEvent):
        raise UnreadableCassette("the file is empty", where=where)
    value = builder.value(parser.get_event())
    parser.get_event()  # document end
    if not isinstance(parser.get_event(), yaml.StreamEndEvent):
        raise UnreadableCassette("more than one YAML document", where=where)
    return value


def _member(parser: Any, key: str, where: str) -> Any:
    parser.get_event()
    if not isinstance(parser.get_event(), yaml.DocumentStartEvent):
        raise UnreadableCassette("the file is empty", where=where)
    if not isinstance(parser.get_event(), yaml.MappingStartEvent):
        raise UnreadableCassette("not a cassette: its top level is not a mapping", where=where)
    builder = Builder(parser, where)
    while not isinstance(event := parser.get_event(), yaml.MappingEndEvent):
        name = builder.value(event)
        value = builder.value(parser.get_event())
        if name == key:
            return value
    return None


class Builder:
    """Builds values from parser events. One builder serves a whole document: anchors and the value count span it."""

    def __init__(self, parser: Any, where: str) -> None:
        self._next = parser.get_event
        self._where = where
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._values = 0

    def value(self, event: Any) -> Any:
        """Return the value that begins with this event. Uses an explicit stack, so depth costs no recursion."""
        next_event, scalar_event = self._next, yaml.ScalarEvent
        stack: list[tuple[Any, str | None, int]] = []  # open collections: value, anchor, value count before it
        keys: list[Any] = []  # per open mapping: the key whose value comes next, or _NONE
        while True:
            kind = event.__class__
            if kind is scalar_event:
                self._values += 1
                value = self.scalar(event)
                if event.anchor is not None:
                    self._anchors[event.anchor] = (value, 1)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._open(event, len(stack))
                stack.append(({} if kind is yaml.MappingStartEvent else [], event.anchor, self._values))
                keys.append(_NONE)
                self._values += 1
                event = next_event()
                continue
            elif kind is yaml.AliasEvent:
                value = self.alias(event)
            else:  # end of a collection
                value, anchor, before = stack.pop()
                keys.pop()
                if anchor is not None:
                    self._anchors[anchor] = (value, self._values - before)
            if self._values > MAX_VALUES:
                raise self.bad(f"more than {MAX_VALUES:,} values, counting repeated aliases", event)
            if not stack:
                return value
            into = stack[-1][0]
            if into.__class__ is list:
                into.append(value)
            elif keys[-1] is _NONE:
                keys[-1] = self._key(value, into, event)
            else:
                into[keys[-1]] = value
                keys[-1] = _NONE
            event = next_event()

    def _open(self, event: Any, depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise self.bad(f"nested deeper than {MAX_DEPTH} levels", event)
        if event.tag is not None and event.tag not in _COLLECTIONS:
            raise self.bad(f"not plain data: the tag {event.tag!r}", event)

    def alias(self, event: Any) -> Any:
        """Return the value that an alias refers to."""
        if event.anchor not in self._anchors:
            raise self.bad(f"the alias *{event.anchor} refers to no complete value", event)
        value, count = self._anchors[event.anchor]
        self._values += count
        return value

    def _key(self, value: Any, into: dict[Any, Any], event: Any) -> Any:
        if value == "<<":
            raise self.bad("merge keys (<<) are not allowed", event)
        if not isinstance(value, str):
            raise self.bad(f"a member's name must be text, got {type(value).__name__}", event)
        if value in into:
            raise self.bad(f"duplicate member: {value!r}", event)
        return value

    def scalar(self, event: Any) -> Any:
        """Return the value of a scalar."""
        tag, text = event.tag, event.value
        if tag is None or tag == "!":
            # implicit[0]: written without quotes, so it may be a number, a date or None
            if not event.implicit[0] or _PERHAPS_TYPED.match(text) is None:
                return text
            tag = _implied(text)
        if tag in _TEXT:
            return text
        construct = _TYPED.get(tag)
        if construct is None:
            raise self.bad(f"not plain data: the tag {tag!r}", event)
        try:
            return construct(_constructor, yaml.ScalarNode(tag, text))
        except (yaml.YAMLError, ValueError, KeyError, TypeError, OverflowError) as error:
            reason = getattr(error, "problem", None) or error
            raise self.bad(f"{text[:40]!r} cannot be read as {tag.removeprefix(_TAG)}: {reason}", event) from None

    def bad(self, what: str, event: Any) -> UnreadableCassette:
        mark = event.start_mark
        return UnreadableCassette(what, where=self._where if mark is None else f"{self._where}:{mark.line + 1}")


_NONE = object()


@lru_cache(maxsize=1024)
def _implied(text: str) -> str:
    tag: str = _resolver.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return tag


class _Nameless:
    """A stream without ``name``, because the parser would prefix every message with it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(size)
