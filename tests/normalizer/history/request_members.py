"""Every member that an SDK's request type declares, set to every kind of value: pairs of requests that differ in it.

Walks typed dictionaries, pydantic models, protobuf descriptors and botocore's shapes, without the normalizer.
"""

from __future__ import annotations

import enum
import os
import types
import typing
from collections.abc import Iterator
from copy import deepcopy
from typing import IO, Any, NamedTuple, NotRequired, Required

from botocore.model import ListShape, MapShape, Shape, StructureShape
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from ollama import Image
from pydantic import BaseModel
from typing_extensions import TypeAliasType, is_typeddict

#: Types contain themselves.
_DEEPEST = 9
#: Values of members that have a form, or refer to another member.
_SAMPLES: dict[str, Any] = {
    "arguments": '{"x":1}',
    **dict.fromkeys(("call_id", "tool_call_id", "tool_use_id", "toolUseId"), "call_1"),
    "url": "https://example.invalid/a",
    "file_url": "https://example.invalid/a.pdf",
    **dict.fromkeys(("image_url", "fileUri", "uri"), "https://example.invalid/a.png"),
    "data": "AAAA",
    "file_data": "data:application/pdf;base64,AAAA",
    "name": "f",
}
for _name in ("parameters", "input_schema", "schema", "parametersJsonSchema"):
    _SAMPLES[_name] = {"type": "object", "properties": {"x": {"type": "integer"}}}
#: Types that the SDKs write as base64, and those that they read from files, which no request has.
_BASE64 = (bytes, Image)
_LOCAL = (IO, os.PathLike)
_SCALARS: dict[int, Any] = {
    FieldDescriptor.CPPTYPE_BOOL: bool,
    FieldDescriptor.CPPTYPE_STRING: str,
    FieldDescriptor.CPPTYPE_FLOAT: float,
    FieldDescriptor.CPPTYPE_DOUBLE: float,
}
_WELL_KNOWN = {"google.protobuf.Timestamp": "2026-01-02T03:04:05Z"}
_SHAPES: dict[str, Any] = {"boolean": bool, "string": str, "float": float, "double": float, "blob": str}


class _Only(NamedTuple):
    """An alternative of a botocore union: an object with this member alone."""

    name: str
    kind: Any


class Change(NamedTuple):
    """Two values of the walked type that differ in one member. ``path``: the member, and its value in ``after``."""

    path: str
    before: Any
    after: Any


def minimal(kind: Any, name: str = "") -> Any:
    """Return a value of a type with nothing that the type does not require."""
    return next(_values(kind, name, 0))


def changes(kind: Any, name: str = "", seen: tuple[Any, ...] = ()) -> Iterator[Change]:
    """Yield a change for each optional member, added with each kind of value, and for each other value of a member."""
    kind = _plain(kind)
    if _is_object(kind):
        if kind in seen:
            return
        base = minimal(kind, name)
        for key, (inner, required) in _members(kind).items():
            for value in _values(inner, key, 0):
                if value not in ({}, [{}]) and not (required and value == base[key]):  # an empty object states nothing
                    yield Change(f".{key}={_label(value)}", base, {**base, key: value})
            for change in changes(inner, key, (*seen, kind)):
                yield Change(f".{key}{change.path}", {**base, key: change.before}, {**base, key: change.after})
    elif (inner := _item(kind)) is not None:
        for change in changes(inner, name, seen):
            yield Change(f"[]{change.path}", [change.before], [change.after])
    elif _is_union(kind):
        for alternative in _alternatives(kind):
            for change in changes(alternative, name, seen):
                yield Change(f"({_type_name(alternative)}){change.path}", change.before, change.after)


def alternatives(union: Any) -> list[Any]:
    """Return a minimal value of each alternative of a union."""
    return [minimal(kind) for kind in _alternatives(_plain(union))]


def _values(kind: Any, name: str, depth: int) -> Iterator[Any]:
    """Yield a minimal value of each alternative of a type."""
    kind = _plain(kind)
    if depth > _DEEPEST:
        raise RecursionError(f"{name}: a type that requires itself")
    if _is_object(kind):
        members = _members(kind).items()
        yield {key: next(_values(inner, key, depth + 1)) for key, (inner, required) in members if required}
    elif typing.get_origin(kind) is typing.Literal:
        yield from typing.get_args(kind)
    elif _is_union(kind):
        for alternative in _alternatives(kind):
            yield from _values(alternative, name, depth)
    elif (inner := _item(kind)) is not None:
        yield from ([value] for value in _values(inner, name, depth + 1))
    elif kind is bool:
        yield from (True, False)
    elif kind is int:
        yield 70
    elif kind is float:
        yield 0.25
    elif kind in _BASE64:
        yield "AAAA"
    elif _is_enum(kind):
        yield from (each.value for each in kind if not each.value.endswith("_UNSPECIFIED"))
    else:
        sample, is_text = _SAMPLES.get(name), isinstance(kind, type) and issubclass(kind, str)
        fitting = isinstance(sample, str if is_text else dict)
        yield deepcopy(sample) if fitting else f"a {name}" if is_text else {"key": f"a {name}"}


def _is_object(kind: Any) -> bool:
    """Return whether a type is an object with named members."""
    model = isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in _BASE64
    structure = isinstance(kind, StructureShape) and not _is_tagged_union(kind)
    return is_typeddict(kind) or model or structure or isinstance(kind, (Descriptor, _Only))


def _is_tagged_union(kind: Any) -> bool:
    """Return whether a botocore shape is an object of which only one member may be set."""
    return isinstance(kind, StructureShape) and bool(getattr(kind, "is_tagged_union", False))


def _members(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Return the members of an object by their names on the wire: their types, and whether they are required."""
    if isinstance(kind, Descriptor):
        return {field.name: (_of_field(field), False) for field in kind.fields}
    if isinstance(kind, _Only):
        return {kind.name: (kind.kind, True)}
    if isinstance(kind, StructureShape):
        return {key: (_of_shape(shape), key in kind.required_members) for key, shape in kind.members.items()}
    if is_typeddict(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        return {key: (hint, _is_required(hint, key in kind.__required_keys__)) for key, hint in hints.items()}
    fields = kind.model_fields.items()
    return {
        field.alias or key: (field.annotation, field.is_required() or _is_tag(field.annotation))
        for key, field in fields
    }


def _is_tag(annotation: Any) -> bool:
    """Return whether a member has only one value, which the SDKs always write."""
    return typing.get_origin(annotation) is typing.Literal and len(typing.get_args(annotation)) == 1


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


def _is_required(hint: Any, otherwise: bool) -> bool:
    """Return whether a member is required. Postponed annotations hide `Required` from ``__required_keys__``."""
    while (origin := typing.get_origin(hint)) in (typing.Annotated, Required, NotRequired):
        if origin is not typing.Annotated:
            return origin is Required
        hint = typing.get_args(hint)[0]
    return otherwise


def _of_field(field: FieldDescriptor) -> Any:
    """Return the type of a protobuf field."""
    kind: Any = _SCALARS.get(field.cpp_type, int)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return dict
    if kind is bool and not field.has_presence:
        kind = typing.Literal[True]  # false is the same as no value
    if field.message_type is not None:
        kind = (
            typing.Literal[sample] if (sample := _WELL_KNOWN.get(field.message_type.full_name)) else field.message_type
        )
    elif field.enum_type is not None:
        kind = typing.Literal[tuple(value.name for value in field.enum_type.values if value.number)]
    return types.GenericAlias(list, (kind,)) if field.is_repeated else kind


def _of_shape(shape: Shape) -> Any:
    """Return the type of a botocore shape."""
    if isinstance(shape, StructureShape):
        return shape
    if isinstance(shape, ListShape):
        return types.GenericAlias(list, (_of_shape(shape.member),))
    if isinstance(shape, MapShape) or getattr(shape, "is_document_type", False):
        return dict
    choices = getattr(shape, "enum", None)
    return typing.Literal[tuple(choices)] if choices else _SHAPES.get(shape.type_name, int)


def _plain(kind: Any) -> Any:
    while isinstance(kind, TypeAliasType) or typing.get_origin(kind) in (typing.Annotated, Required, NotRequired):
        kind = kind.__value__ if isinstance(kind, TypeAliasType) else typing.get_args(kind)[0]
    return kind


def _is_union(kind: Any) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType) or _is_tagged_union(kind)


def _alternatives(union: Any) -> list[Any]:
    if isinstance(union, StructureShape):
        return [_Only(key, _of_shape(shape)) for key, shape in union.members.items()]
    kinds = [kind for kind in typing.get_args(union) if kind not in (type(None), Any)]
    return [kind for kind in kinds if (typing.get_origin(kind) or kind) not in _LOCAL]


def _item(kind: Any) -> Any:
    """Return the type of the items of a list, or None."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    is_list = isinstance(origin, type) and not issubclass(origin, dict)
    return arguments[0] if is_list and len(arguments) == 1 else None


def _type_name(kind: Any) -> str:
    plain = _plain(kind)
    return plain.name if isinstance(plain, _Only) else str(getattr(plain, "__name__", kind))


def _label(value: Any) -> str:
    if isinstance(value, dict) and len(value) == 1 and isinstance(next(iter(value.values())), dict):
        return next(iter(value))  # the alternative of a union
    return str(value) if isinstance(value, (str, int, float)) else type(value).__name__
