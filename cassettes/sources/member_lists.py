"""The interactions of a YAML or JSON file: the items of a list at its top, one at a time, plain data only.

libyaml splits YAML into events. The nodes are composed here, because libyaml's composer builds whole documents and
recurses on the machine stack without a limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import msgspec
import yaml
from yaml.composer import Composer
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.resolver import Resolver

from toolparity.normalizer import json_codec

from ..errors import UnreadableSource

#: Members of one mapping. Merge keys (``<<``) that expand it beyond this are an attack, not a cassette.
_MAX_MEMBERS = 10_000
_MAPPING = "tag:yaml.org,2002:map"


class _Constructor(SafeConstructor):
    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        if len(node.value) > _MAX_MEMBERS:
            raise ConstructorError(None, None, "merge keys expand without end", node.start_mark)

    def construct_content(self, suffix: str, node: yaml.Node) -> Any:
        """Return the content of a node with a tag of Python as plain data. A call is its arguments, or its only one."""
        content: Any = None
        if isinstance(node, yaml.MappingNode):
            members = self.construct_mapping(node, deep=True)
            content = members.get("args", members)
        elif isinstance(node, yaml.SequenceNode):
            content = self.construct_sequence(node, deep=True)
        else:
            content = self.construct_yaml_str(node)
        is_call = suffix.startswith("object/") and isinstance(content, list) and len(content) == 1
        return content[0] if is_call else content


# Ruby writes a short tag for binary; Python 2 tagged every text.
_Constructor.add_constructor("!binary", _Constructor.construct_yaml_binary)  # type: ignore[type-var]
for _tag in ("python/unicode", "python/str"):
    _Constructor.add_constructor(f"tag:yaml.org,2002:{_tag}", _Constructor.construct_yaml_str)  # type: ignore[type-var]
_Constructor.add_multi_constructor("tag:yaml.org,2002:python/", _Constructor.construct_content)

if yaml.__with_libyaml__:
    from yaml.cyaml import CParser  # type: ignore[attr-defined]

    class _Loader(Composer, CParser, _Constructor, Resolver):
        def __init__(self, stream: Any) -> None:
            CParser.__init__(self, stream)
            Composer.__init__(self)
            _Constructor.__init__(self)
            Resolver.__init__(self)

else:  # pure Python fallback

    class _Loader(_Constructor, yaml.SafeLoader):  # type: ignore[no-redef]
        pass


def yaml_items(stream: IO[bytes], keys: tuple[str, ...]) -> Iterator[tuple[str, int, Any]]:
    """Yield (key, line, value) for each element of the top-level sequences under ``keys``.

    A value that cannot be constructed (a tag that is not plain data, an invalid date) is yielded as an
    UnreadableSource, and reading continues. Raises UnreadableSource if the text is not valid YAML.
    """
    loader = _Loader(_Nameless(stream))
    try:
        yield from _top(loader, keys)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = str(mark.line + 1) if mark is not None else ""
        raise UnreadableSource(f"invalid YAML: {error.problem}", where=where) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UnreadableSource(f"invalid YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise UnreadableSource("nested too deeply") from None
    finally:
        loader.dispose()


def _top(loader: Any, keys: tuple[str, ...]) -> Iterator[tuple[str, int, Any]]:
    loader.get_event()  # stream start
    if not loader.check_event(yaml.DocumentStartEvent):
        raise UnreadableSource("the file is empty")
    while not loader.check_event(yaml.StreamEndEvent):
        loader.get_event()  # document start
        yield from _document(loader, keys)
        loader.get_event()  # document end
        loader.anchors = {}


def _document(loader: Any, keys: tuple[str, ...]) -> Iterator[tuple[str, int, Any]]:
    if not loader.check_event(yaml.MappingStartEvent):
        raise UnreadableSource("not a cassette: its top level is not a mapping")
    start = loader.get_event().start_mark
    members: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    while not loader.check_event(yaml.MappingEndEvent):
        key = loader.compose_node(None, None)
        name = key.value if isinstance(key, yaml.ScalarNode) else ""
        if name not in keys or not loader.check_event(yaml.SequenceStartEvent):
            members[name] = key, loader.compose_node(None, None)
            continue
        loader.get_event()
        while not loader.check_event(yaml.SequenceEndEvent):
            node = loader.compose_node(None, None)
            yield name, node.start_mark.line + 1, _construct(loader, node)
        loader.get_event()
    end = loader.get_event().end_mark
    if {"request", "response"} <= members.keys():  # the document is an entry
        yield "", start.line + 1, _construct(loader, yaml.MappingNode(_MAPPING, [*members.values()], start, end))


def _construct(loader: Any, node: yaml.Node) -> Any:
    try:
        return loader.construct_document(node)
    except ConstructorError as error:
        where = error.problem_mark
        return UnreadableSource(f"not plain data: {error.problem}", where=str(where.line + 1) if where else "")
    except (ValueError, TypeError, OverflowError) as error:
        return UnreadableSource(f"unreadable value: {error}")
    except RecursionError:
        return UnreadableSource("nested too deeply")


class _Nameless:
    """A stream without ``name``: the parser would prefix every message with it, and so does the caller."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(size)


_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_elements = msgspec.json.Decoder(list[msgspec.Raw])


def json_items(data: bytes, keys: tuple[str, ...]) -> Iterator[tuple[str, Any]] | None:
    """Yield each element of the list under one of ``keys`` ("log.entries" is a path); None if no key is present.

    An element that cannot be parsed is yielded as an UnreadableSource.
    """
    for key in keys:
        raw = _at(data, key.split("."))
        if raw is not None:
            return ((key, _parsed(element)) for element in raw)
    return _lenient_items(data, keys)


def _lenient_items(data: bytes, keys: tuple[str, ...]) -> Iterator[tuple[str, Any]] | None:
    """Read a document with NaN or half surrogate pairs, which msgspec refuses, as a whole."""
    if not any(b'"%b"' % key.rpartition(".")[2].encode() in data for key in keys):
        return None
    try:
        document = json_codec.decode(data)
    except (ValueError, RecursionError):
        return None
    for key in keys:
        found = document
        for name in key.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, list):
            return ((key, element) for element in found)
    return None


def _at(data: bytes, path: list[str]) -> list[msgspec.Raw] | None:
    try:
        found: Any = data
        for name in path:
            found = _members.decode(found).get(name)
            if found is None:
                return None
        return _elements.decode(found)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _parsed(raw: msgspec.Raw) -> Any:
    try:
        return json_codec.decode(bytes(raw))
    except (ValueError, RecursionError) as error:
        return UnreadableSource(f"invalid JSON: {error}")
