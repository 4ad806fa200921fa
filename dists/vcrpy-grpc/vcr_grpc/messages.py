"""Cassette form of one protobuf message: readable JSON beside the exact bytes.

    {"message": {…protobuf JSON, the proto's own names…}, "serialized": "<base64>", "unknown_fields": true}

``serialized`` is authoritative, and is what is played. ``message`` is absent if the type is unknown or has no JSON
form. ``unknown_fields`` is present if the bytes contain fields that the recording side's type did not define; these are
only in the bytes. If the type is known when reading, both forms are compared.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.json_format import ParseError as JsonParseError
from google.protobuf.message import DecodeError, Message

from .errors import Disagreement, UnreadableInteraction

MessageType = type[Message]
Deserializer = Callable[[bytes], Any] | None


def type_of(deserializer: Deserializer, sample: bytes | None = None, name: str | None = None) -> MessageType | None:
    """Return the message class behind a stub's deserializer, or None if unknown.

    Generated stubs pass ``SomeMessage.FromString``, which is bound to its class. Any other deserializer is tried on
    ``sample``. Otherwise ``name`` is looked up among the types that this process has imported.
    """
    owner = getattr(deserializer, "__self__", None)
    if isinstance(owner, type) and issubclass(owner, Message):
        return owner
    if deserializer is not None and sample is not None:
        try:
            parsed = deserializer(sample)
        except Exception:  # the stub's own code, which the client will see fail as well
            return None
        if isinstance(parsed, Message):
            return type(parsed)
    if name:
        try:
            found: MessageType = message_factory.GetMessageClass(descriptor_pool.Default().FindMessageTypeByName(name))
        except KeyError:
            return None
        return found
    return None


def name_of(type: MessageType | None) -> str | None:
    """Return the full name of the type, "package.Message"."""
    return None if type is None else str(type.DESCRIPTOR.full_name)


def written(serialized: bytes, type: MessageType | None) -> dict[str, Any]:
    """Return the message in cassette form."""
    exact = {"serialized": base64.b64encode(serialized).decode("ascii")}
    if type is None:
        return exact
    try:
        parsed = type.FromString(serialized)
        entry: dict[str, Any] = {"message": _readable(parsed), **exact}
    except (DecodeError, TypeError, ValueError, RecursionError):
        return exact  # not a message of this type, or without JSON form (an Any of an unknown type)
    if _holds_unknown_fields(parsed):
        entry["unknown_fields"] = True
    return entry


def read(entry: Any, type: MessageType | None, where: str) -> bytes:
    """Return the serialized message. Raises UnreadableInteraction; Disagreement if the readable form differs."""
    if not isinstance(entry, dict) or not isinstance(entry.get("serialized"), str):
        raise UnreadableInteraction("the message has no serialized bytes", where=where)
    try:
        serialized = base64.b64decode(entry["serialized"], validate=True)
    except (binascii.Error, ValueError) as error:
        raise UnreadableInteraction(f"the serialized message is not base64: {error}", where=where) from None
    if type is not None and "message" in entry:
        _compare(entry, serialized, type, where)
    return serialized


def differences(recorded: Any, now: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """Return where two JSON values differ: path, recorded value, current value. `ABSENT` marks a missing value."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        return [
            found
            for key in sorted({*recorded, *now})
            for found in differences(
                recorded.get(key, ABSENT), now.get(key, ABSENT), f"{path}.{key}" if path else str(key)
            )
        ]
    if isinstance(recorded, list) and isinstance(now, list):
        return [
            found
            for n in range(max(len(recorded), len(now)))
            for found in differences(
                recorded[n] if n < len(recorded) else ABSENT, now[n] if n < len(now) else ABSENT, f"{path}[{n}]"
            )
        ]
    return [] if recorded == now and type(recorded) is type(now) else [(path, recorded, now)]


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


def _readable(message: Message) -> Any:
    """Return protobuf JSON: an object, except for some well-known types (a StringValue becomes text)."""
    return MessageToDict(message, preserving_proto_field_name=True)


def _holds_unknown_fields(message: Message) -> bool:
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    return known.ByteSize() != message.ByteSize()


def _compare(entry: dict[str, Any], serialized: bytes, type: MessageType, where: str) -> None:
    try:
        exact = type.FromString(serialized)
    except DecodeError as error:
        raise Disagreement(
            f"its bytes are not a {name_of(type)}, but it has a readable form: {error}", where=where
        ) from None
    unknown_now = _holds_unknown_fields(exact)
    try:
        # A type older than the recording's does not define every member of the readable form either.
        from_readable = ParseDict(entry["message"], type(), ignore_unknown_fields=unknown_now)
        readable, derived = _readable(from_readable), _readable(exact)
    except (JsonParseError, TypeError, ValueError, RecursionError) as error:
        raise Disagreement(f"its readable form is not a {name_of(type)}: {error}", where=where) from None
    # A type newer than the recording's reads fields that were unknown at recording time.
    differing = [
        difference
        for difference in differences(readable, derived)
        if not (difference[1] is ABSENT and entry.get("unknown_fields") is True)
    ]
    if differing:
        path, readable_value, exact_value = differing[0]
        raise Disagreement(
            f"the readable form and the serialized bytes disagree at {path}: "
            f"readable {readable_value!r}, bytes {exact_value!r}",
            where=where,
        )
