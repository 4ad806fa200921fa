"""Codecs: how the values of an original schema are written for the adapted one, and read back.

`to_wire` maps a value that the original accepts, `from_wire` maps what a model sent. Neither raises: a value of another
form stays as it is, so that the validation against the original schema reports it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ... import json_codec
from .validation import fits, same

#: The members of an entry of `Pairs`.
NAME, VALUE = "name", "value"


class Codec(Struct, frozen=True):
    """The codec of a schema whose values do not change."""

    def to_wire(self, value: Any) -> Any:
        """Return a value of the original schema as one of the adapted schema."""
        return value

    def from_wire(self, value: Any) -> Any:
        """Return a value of the adapted schema as one of the original schema."""
        return value


SAME = Codec()


class JsonText(Codec, frozen=True):
    """A value as JSON text."""

    def to_wire(self, value: Any) -> Any:
        return json_codec.text(value)

    def from_wire(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return json_codec.decode(value)
        except ValueError:
            return value


class EnumText(Codec, frozen=True):
    """One of some values as text. ``values``: text -> value."""

    values: Mapping[str, Any]

    def to_wire(self, value: Any) -> Any:
        return next((text for text, known in self.values.items() if same(known, value)), value)

    def from_wire(self, value: Any) -> Any:
        return self.values.get(value, value) if isinstance(value, str) else value


class Wrapped(Codec, frozen=True):
    """A value as the only member of an object."""

    member: str
    inner: Codec

    def to_wire(self, value: Any) -> Any:
        return {self.member: self.inner.to_wire(value)}

    def from_wire(self, value: Any) -> Any:
        if isinstance(value, dict) and self.member in value:
            return self.inner.from_wire(value[self.member])
        return value


class Member(Struct, frozen=True):
    """A property of an object. ``name``: on the wire. ``optional``: null on the wire means absent."""

    name: str
    codec: Codec = SAME
    optional: bool = False


class Members(Codec, frozen=True):
    """An object. ``members``: by the original name. ``rest``: codec of other properties. ``pairs``: the member of the
    wire that holds other properties as a list of entries, or "". ``added``: members that exist on the wire only. An
    undeclared property with the name of one has underscores after its name on the wire.
    """

    members: Mapping[str, Member]
    rest: Codec = SAME
    pairs: str = ""
    added: Mapping[str, Any] = {}

    def to_wire(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        written: dict[str, Any] = dict(self.added)
        entries = []
        for name, inner in value.items():
            member = self.members.get(name)
            if member is not None:
                written[member.name] = member.codec.to_wire(inner)
            elif self.pairs:
                entries.append({NAME: name, VALUE: self.rest.to_wire(inner)})
            else:
                written[name + "_" if self._is_added(name) else name] = self.rest.to_wire(inner)
        written |= {member.name: None for name, member in self.members.items() if member.optional and name not in value}
        return {**written, self.pairs: entries} if self.pairs else written

    def from_wire(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        by_name = {member.name: (name, member) for name, member in self.members.items()}
        read: dict[str, Any] = {}
        if self.pairs:
            others = from_entries(value.get(self.pairs), self.rest)
            read = {name: inner for name, inner in others.items() if name not in self.members}
        for wire_name, inner in value.items():
            if (self.pairs and wire_name == self.pairs) or wire_name in self.added:
                continue
            other = wire_name[:-1] if self._is_added(wire_name) else wire_name
            name, member = by_name.get(wire_name, (other, Member(other, self.rest)))
            if not (member.optional and inner is None):
                read[name] = member.codec.from_wire(inner)
        return read

    def _is_added(self, name: str) -> bool:
        """Return whether a name is that of an added member, with or without underscores after it."""
        return any(name.startswith(added) and not name[len(added) :].strip("_") for added in self.added)


class Pairs(Codec, frozen=True):
    """An object with arbitrary names as a list of entries with a name and a value."""

    inner: Codec

    def to_wire(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return [{NAME: name, VALUE: self.inner.to_wire(inner)} for name, inner in value.items()]

    def from_wire(self, value: Any) -> Any:
        return from_entries(value, self.inner) if isinstance(value, list) else value


def from_entries(entries: Any, codec: Codec) -> dict[str, Any]:
    """Return the entries of a list as an object; entries of another form are left out."""
    found = [entry for entry in entries or () if isinstance(entry, dict)] if isinstance(entries, list) else []
    return {entry[NAME]: codec.from_wire(entry.get(VALUE)) for entry in found if isinstance(entry.get(NAME), str)}


class Items(Codec, frozen=True):
    """An array. ``prefix``: the codecs of its first items, ``inner`` that of the others."""

    inner: Codec
    prefix: tuple[Codec, ...] = ()

    def to_wire(self, value: Any) -> Any:
        return [self._of(n).to_wire(item) for n, item in enumerate(value)] if isinstance(value, list) else value

    def from_wire(self, value: Any) -> Any:
        return [self._of(n).from_wire(item) for n, item in enumerate(value)] if isinstance(value, list) else value

    def _of(self, number: int) -> Codec:
        return self.prefix[number] if number < len(self.prefix) else self.inner


class ByType(Codec, frozen=True):
    """A value of several types: ``members`` for objects, ``items`` for arrays."""

    members: Codec
    items: Codec

    def to_wire(self, value: Any) -> Any:
        return (self.members if isinstance(value, dict) else self.items).to_wire(value)

    def from_wire(self, value: Any) -> Any:
        return (self.members if isinstance(value, dict) else self.items).from_wire(value)


class Variant(Struct, frozen=True):
    """One variant of a union. ``original`` and ``adapted``: its schemas, complete with their definitions."""

    original: Any
    adapted: Any
    codec: Codec


class Union(Codec, frozen=True):
    """A value of one of several variants. Validation chooses the variant."""

    variants: tuple[Variant, ...]

    def to_wire(self, value: Any) -> Any:
        fitting = [variant for variant in self.variants if fits(variant.original, value)]
        for variant in fitting:
            written = variant.codec.to_wire(value)
            if fits(variant.adapted, written) and same(self.from_wire(written), value):
                return written
        return fitting[0].codec.to_wire(value) if fitting else value

    def from_wire(self, value: Any) -> Any:
        fitting = [variant for variant in self.variants if fits(variant.adapted, value)]
        for variant in fitting:
            read = variant.codec.from_wire(value)
            if fits(variant.original, read):
                return read
        return fitting[0].codec.from_wire(value) if fitting else value


class Reference(Codec, frozen=True):
    """A value of a recursive definition. ``codecs``: of all definitions, complete when the schema is."""

    name: str
    codecs: Mapping[str, Codec]

    def to_wire(self, value: Any) -> Any:
        return self.codecs.get(self.name, SAME).to_wire(value)

    def from_wire(self, value: Any) -> Any:
        return self.codecs.get(self.name, SAME).from_wire(value)
