"""Wire schemas: msgspec structs for the JSON objects of a wire, and readers that parse bytes into them.

A struct declares every member that its wire documents and those that known dialects add. msgspec decodes well-formed
traffic in one pass. If anything does not fit (an unknown member or tag, a value of the wrong type), the reader parses
the same bytes again, member by member. It keeps the members that fit, and moves the others to ``extra_`` with a note.
The code of a wire therefore only handles well-typed structs, and no data is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, Union, cast

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import fields as struct_fields

from .. import json_codec
from ..errors import MalformedBody

EXTRA_NAME = "extra of toolparity"
S = TypeVar("S", bound="Wire")
T = TypeVar("T", bound=Struct)
#: The exceptions of the fast path when something does not fit.
UNFIT = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


def constant(value: str) -> Any:
    """Return a field that has this value in every struct, because no JSON contains it."""
    return field(default=value, name="constant of toolparity")


class Wire(Struct, forbid_unknown_fields=True, gc=False):
    """Base of all wire structs. ``extra_``: members without a field, and members that did not fit their field."""

    extra_: dict[str, Any] | None = field(default=None, name=EXTRA_NAME)


class Keyed(Wire):
    """Base of unions without a type member: such an object has one member, whose name is its type."""


class Unknown(Wire, tag_field="type", tag="unknown of toolparity"):
    """Placeholder for an object whose tag is not in its union. ``wire_type``: the tag; ``raw``: the whole object."""

    wire_type: str = ""
    raw: Any = None


class Note(Struct, frozen=True, gc=False):
    """A deviation from the schema. ``kind``: its finding code (`unknown-member`, `wrong-type`, `unknown-block`)."""

    kind: str
    path: str


def carrier(cls: type[Struct], *represented: str) -> Callable[[Any], dict[str, Any]]:
    """Generate a function that returns the members of a ``cls`` which are not None and have no canonical field.

    ``represented``: the members to skip, because a canonical field holds them or they are padding. The source of the
    function is generated, as in dataclasses. It runs for every object of a stream, and plain attribute tests take a
    tenth of the time of a loop.
    """
    lines = ["def carry(member):", " extra = {}"]
    for f in struct_fields(cls):
        if f.name != "extra_" and f.name not in represented:
            lines += [f" if (value := member.{f.name}) is not None:", f"  extra[{f.encode_name!r}] = value"]
    lines += [" if member.extra_ is not None:", "  extra.update(member.extra_)"] if issubclass(cls, Wire) else []
    lines += [" return extra"]
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), namespace)
    carry: Callable[[Any], dict[str, Any]] = namespace["carry"]
    return carry


class Reader(Generic[S]):
    """Parser from JSON to one struct type: strict and fast first, then lenient if the input does not fit."""

    def __init__(self, cls: type[S]) -> None:
        self._cls = cls
        self.strict: Callable[[bytes], S] = json_codec.decoder(cls)
        self.lenient = False

    def read(self, data: bytes, notes: list[Note]) -> S:
        """Parse ``data``, and append deviations to ``notes``. Raises MalformedBody if it is not a JSON object."""
        if not self.lenient:
            try:
                return self.strict(data)
            except UNFIT:
                pass
        return self.read_leniently(data, notes)

    def read_leniently(self, data: bytes, notes: list[Note]) -> S:
        """Parse like `read`, without trying the fast path first."""
        source: Any = Raw(data)
        try:
            msgspec.json.decode(data)
        except UNFIT:
            # JSON that only the standard library accepts: lone surrogates, NaN, invalid UTF-8.
            try:
                source = json_codec.decode(data)
            except (ValueError, RecursionError) as error:
                raise MalformedBody(f"the body is not JSON: {error}", body=data) from None
        fitted = _fit_struct(source, self._cls, "$", notes)
        if fitted is None:
            found = type(json_codec.decode(data)).__name__
            raise MalformedBody(f"the body must be a JSON object, got {found}", body=data)
        return fitted


def event_decoder(*kinds: type[Struct]) -> Callable[[bytes], Any]:
    """Return a function that parses the payload of an event into the struct among ``kinds`` that has its type.

    It raises an exception of `UNFIT` if the payload fits none of them.
    """
    one_of: Any = Union[kinds]  # noqa: UP007 - of a tuple
    return json_codec.decoder(one_of)


def tagged(base: type[T], kind: str, field: str = "type") -> type[T]:
    """Return a subclass of ``base`` whose tag, and attribute, ``field`` is the event type ``kind``."""
    options: dict[str, Any] = {"tag_field": field, "tag": kind, "namespace": {field: kind}}
    return cast(type[T], msgspec.defstruct(base.__name__, (), bases=(base,), gc=False, **options))


# The lenient path. A value is either `Raw` (its exact text is known) or a parsed Python object.


def _members(value: Any) -> dict[str, Any] | None:
    if isinstance(value, Raw):
        try:
            return msgspec.json.decode(value, type=dict[str, Raw])
        except UNFIT:
            return None
    return value if isinstance(value, dict) else None


def _items(value: Any) -> Sequence[Any] | None:
    if isinstance(value, Raw):
        try:
            return msgspec.json.decode(value, type=list[Raw])
        except UNFIT:
            return None
    return value if isinstance(value, list) else None


def plain(value: Any) -> Any:
    """Return the parsed value of a `Raw`, or its exact text if it cannot be parsed; return other values unchanged."""
    if not isinstance(value, Raw):
        return value
    try:
        return json_codec.decode(bytes(value))
    except (ValueError, RecursionError):
        return exact_text(value)  # such as a number of 5,000 digits, in a member that the fast path did not parse


def exact_text(value: Any) -> str:
    """Return the exact JSON text of a `Raw`, and compact JSON for any other value."""
    return str(value, "utf-8", "replace") if isinstance(value, Raw) else json_codec.text(value)


class _Field(Struct, frozen=True):
    name: str
    kind: str  # "struct" | "structs" | "tagged" | "many" (list of tagged) | "raw" | "value"
    structs: tuple[type[Wire], ...]
    type: Any


_layouts: dict[type[Wire], dict[str, _Field]] = {}


def _layout(cls: type[Wire]) -> dict[str, _Field]:
    """Return how to fit each member of a struct, by its wire name. Cached for each class."""
    known = _layouts.get(cls)
    if known is None:
        known = {}
        for f in struct_fields(cls):
            if f.name != "extra_":
                known[f.encode_name] = _classify(f.name, f.type)
        _layouts[cls] = known
    return known


def _classify(name: str, annotation: Any) -> _Field:
    parts = _flatten(annotation)
    structs = tuple(p for p in parts if isinstance(p, type) and issubclass(p, Wire))
    if structs:
        tagged = structs[0].__struct_config__.tag is not None
        return _Field(name, "tagged" if tagged else "struct", structs, annotation)
    for part in parts:
        if getattr(part, "__origin__", None) is list:
            inner = tuple(p for p in _flatten(part.__args__[0]) if isinstance(p, type) and issubclass(p, Wire))
            if inner:
                tagged = inner[0].__struct_config__.tag is not None
                return _Field(name, "many" if tagged else "structs", inner, annotation)
    return _Field(name, "raw" if Raw in parts else "value", (), annotation)


def _flatten(annotation: Any) -> list[Any]:
    arguments = getattr(annotation, "__args__", None)
    if arguments and getattr(annotation, "__origin__", None) is not list and not _is_mapping(annotation):
        return [part for argument in arguments for part in _flatten(argument)]
    return [annotation]


def _is_mapping(annotation: Any) -> bool:
    return getattr(annotation, "__origin__", None) is dict


def _fit_struct(value: Any, cls: type[S], path: str, notes: list[Note]) -> S | None:
    members = _members(value)
    if members is None:
        return None
    layout = _layout(cls)
    config = cls.__struct_config__
    fitted: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, member in members.items():
        spec = layout.get(name)
        if spec is None:
            if name != config.tag_field:
                extra[name] = plain(member)
                if issubclass(cls, Keyed) and len(members) == 1:
                    notes.append(Note("unknown-block", f"type {name!r}"))
                else:
                    notes.append(Note("unknown-member", f"{path}.{name}"))
            continue
        ok, result = _fit(member, spec, f"{path}.{name}", notes)
        if ok:
            fitted[spec.name] = result
        else:
            extra[name] = plain(member)
            notes.append(Note("wrong-type", f"{path}.{name}"))
            if (number := _number(extra[name], spec.type)) is not None:
                fitted[spec.name] = number
    return cls(**fitted, extra_=extra or None)


def _fit(value: Any, spec: _Field, path: str, notes: list[Note]) -> tuple[bool, Any]:
    if _is_null(value):
        return (spec.kind != "raw", None) if _nullable(spec.type) else (False, None)
    if spec.kind == "struct":
        fitted = _fit_struct(value, spec.structs[0], path, notes)
        return (True, fitted) if fitted is not None else _fit_leaf(value, spec.type)
    if spec.kind == "tagged":
        fitted = _fit_tagged(value, spec.structs, path, notes)
        return fitted is not None, fitted
    if spec.kind in ("structs", "many"):
        items = _items(value)
        if items is None:
            return _fit_leaf(value, spec.type)
        return True, _fit_items(items, spec, path, notes)
    if spec.kind == "raw":
        return True, value if isinstance(value, Raw) else Raw(json_codec.encode(value))
    return _fit_leaf(value, spec.type)


def _fit_items(items: Sequence[Any], spec: _Field, path: str, notes: list[Note]) -> list[Any]:
    fitted = []
    for number, item in enumerate(items):
        item_path = f"{path}[{number}]"
        if spec.kind == "many":
            result: Wire | None = _fit_tagged(item, spec.structs, item_path, notes)
        else:
            result = _fit_struct(item, spec.structs[0], item_path, notes)
        if result is None:
            notes.append(Note("wrong-type", item_path))
            if not _is_null(item):
                fitted.append(
                    Unknown(wire_type="", raw=plain(item))
                    if spec.kind == "many"
                    else spec.structs[0](extra_={"": plain(item)})
                )
            continue
        fitted.append(result)
    return fitted


def _fit_tagged(value: Any, structs: tuple[type[Wire], ...], path: str, notes: list[Note]) -> Wire | None:
    members = _members(value)
    if members is None:
        return None
    tag_field = structs[0].__struct_config__.tag_field or "type"
    tag = plain(members.get(tag_field))
    for cls in structs:
        if cls.__struct_config__.tag == tag:
            return _fit_struct(value, cls, path, notes)
    notes.append(Note("unknown-block", f"type {tag!r}"))  # no path, so that each type gives one finding
    return Unknown(wire_type=tag if isinstance(tag, str) else "", raw=plain(value))


def _fit_leaf(value: Any, annotation: Any) -> tuple[bool, Any]:
    if annotation is Any:
        return True, plain(value)
    if isinstance(value, Raw):
        try:
            return True, msgspec.json.decode(value, type=annotation)
        except UNFIT:
            return False, None
    try:
        return True, msgspec.convert(value, annotation)
    except (msgspec.ValidationError, UnicodeEncodeError):
        return False, None


def _number(text: Any, annotation: Any) -> int | None:
    """Return the number in a text where an int belongs, as in ``"index": "1"``. The text stays in ``extra_``."""
    spelled = isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) < 10
    return int(text) if spelled and int in _flatten(annotation) else None


def _is_null(value: Any) -> bool:
    return bytes(value) == b"null" if isinstance(value, Raw) else value is None


def _nullable(annotation: Any) -> bool:
    return annotation is Any or type(None) in _flatten(annotation)


def raw_object(member: Wire) -> dict[str, Any]:
    """Rebuild the JSON object of a struct: its tag, the members that are not None, and the members in ``extra_``."""
    cls = type(member)
    members = _members_of.get(cls)
    if members is None:
        members = _members_of[cls] = carrier(cls)
    config = cls.__struct_config__
    raw: dict[str, Any] = {config.tag_field: config.tag} if config.tag_field else {}
    for name, value in members(member).items():
        if not isinstance(value, Raw):
            raw[name] = value
        elif memoryview(value):
            raw[name] = plain(value)
    return raw


#: The carrier of all members of each class, because msgspec looks up the fields of a class slowly.
_members_of: dict[type[Wire], Callable[[Any], dict[str, Any]]] = {}
