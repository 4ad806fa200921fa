"""Conversion of protobuf messages to JSON with the field names of the proto file.

The result is that of protobuf's `MessageToDict`, which builds a printer for each message and takes ten times as long.
Messages with fields whose JSON follows special rules (maps, extensions) are left to it, and single floats and bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import Error as JsonError
from google.protobuf.json_format import MessageToDict
from google.protobuf.wrappers_pb2 import BytesValue, DoubleValue, FloatValue

_UNREPRESENTABLE = (JsonError, ValueError, OverflowError, OSError)
_Convert = Callable[[Any], Any]
#: The conversion of each field; None for a field that only `MessageToDict` converts.
_conversions: dict[Any, _Convert | None] = {}


def as_dict(message: Any) -> Any:
    """Convert a message to JSON with the field names of the proto file.

    A value that protobuf's JSON cannot represent, such as a timestamp after the year 9999, becomes an object of its
    fields.
    """
    return fields_except(message)


def fields_except(message: Any, *represented: str) -> dict[str, Any]:
    """Return the set fields of a message as JSON, except those in ``represented``."""
    fields: dict[str, Any] = {}
    for field, value in message.ListFields():
        name = field.name
        if name not in represented:
            try:
                convert = _conversions[field]
            except KeyError:
                convert = _conversions[field] = _conversion(field)
            if convert is _unchanged:  # as most are: a call takes longer than the rest of the turn
                fields[name] = value
            else:
                fields[name] = _by_printer(message)[name] if convert is None else convert(value)
    return fields


def _conversion(field: Any) -> _Convert | None:
    """Return the conversion of a field of this type."""
    if field.is_extension or (field.message_type is not None and field.message_type.GetOptions().map_entry):
        return None
    convert = _of_message(field.message_type) if field.message_type is not None else _of_scalar(field)
    if convert is None or not field.is_repeated:
        return convert
    return lambda values: [convert(value) for value in values]


def _of_scalar(field: Any) -> _Convert:
    kind = field.cpp_type
    if kind in (FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64):
        return str
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        return lambda number: names.get(number, number)
    if kind in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_BOOL):
        return _unchanged
    if field.type == FieldDescriptor.TYPE_STRING:
        return _unchanged
    kinds = {FieldDescriptor.TYPE_FLOAT: FloatValue, FieldDescriptor.TYPE_DOUBLE: DoubleValue}
    return partial(_wrapped, kinds.get(field.type, BytesValue))


def _of_message(kind: Any) -> _Convert:
    if kind.full_name == "google.protobuf.Timestamp":
        return _timestamp
    if kind.full_name == "google.protobuf.Duration":
        return _time
    return _by_printer if kind.full_name.startswith("google.protobuf.") else as_dict


def _wrapped(kind: Any, value: Any) -> Any:
    """Convert a float or bytes. ``kind``: the message of protobuf that has such a value alone."""
    return _known(kind, value) if value else MessageToDict(kind(value=value))  # 0.0 equals -0.0


@lru_cache(256)
def _known(kind: Any, value: Any) -> Any:
    return MessageToDict(kind(value=value))  # settings have the same few numbers


def _unchanged(value: Any) -> Any:
    return value


def _timestamp(value: Any) -> Any:
    nanos = value.nanos
    if 0 <= nanos < 10**9:
        try:
            text = datetime.fromtimestamp(value.seconds, UTC).isoformat()[:19]
        except _UNREPRESENTABLE:
            pass  # before the year 1 or after 9999
        else:
            digits = 0 if not nanos else 3 if nanos % 10**6 == 0 else 6 if nanos % 1000 == 0 else 9
            return f"{text}.{nanos:09}"[: 20 + digits] + "Z" if digits else text + "Z"
    return _time(value)


def _time(value: Any) -> Any:
    try:
        return value.ToJsonString()
    except _UNREPRESENTABLE:
        return _by_field(value)


def _by_printer(message: Any) -> Any:
    try:
        return MessageToDict(message, preserving_proto_field_name=True)
    except _UNREPRESENTABLE:
        return _by_field(message)


def _by_field(message: Any) -> dict[str, Any]:
    """Convert each field that is a message separately, because one of them has no JSON."""
    others, inner = type(message)(), {}
    others.CopyFrom(message)
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            inner[field.name] = list(map(_by_printer, value)) if field.is_repeated else _by_printer(value)
            others.ClearField(field.name)
    if inner:
        return {**_by_printer(others), **inner}
    return {field.name: value for field, value in message.ListFields()}
