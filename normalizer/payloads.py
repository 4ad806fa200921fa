"""Conversion of caller input (bytes, text, parsed JSON or SDK objects) into the bytes of a wire."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from msgspec import Struct

from . import json_codec
from .errors import MalformedBody
from .wires.registry import WireSpec, spec_of_object
from .wires.sdk_objects import model_json


class Payload(Struct, frozen=True):
    """The bytes of a body or event.

    ``wire``: the spec of the wire, if the object's class determines it. ``respelled``: the bytes were encoded here and
    can differ from those on the wire.
    """

    data: bytes
    wire: WireSpec | None = None
    respelled: bool = False


def payload_of(source: Any, wire: str | None = None, *, event: bool = False) -> Payload:
    """Return the bytes of a body or, with ``event``, of one stream event.

    ``wire``: the wire that the caller passed, whose SDK is tried first. Raises MalformedBody for an unsupported type,
    or a value that is not JSON-serializable.
    """
    if isinstance(source, bytes):
        return Payload(source)
    if isinstance(source, (bytearray, memoryview)):
        return Payload(bytes(source))
    if isinstance(source, str):
        return Payload(source.encode("utf-8", "surrogatepass"))
    if isinstance(source, (dict, list)):
        return Payload(json_codec.bytes_of(source), None, True)
    spec = spec_of_object(source, wire)
    try:
        if spec is None or spec.sdk_bytes is None:
            return Payload(model_json(source), None, True)
        return Payload(spec.sdk_bytes(source, event), spec, spec.framing == "bytes")
    except AttributeError:
        raise MalformedBody(
            f"unsupported type: {type(source).__name__}",
            body=source,
            hint="await it first"
            if isinstance(source, Awaitable)
            else "pass bytes, text, parsed JSON, or a response object of the provider's SDK",
        ) from None
