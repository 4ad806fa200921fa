"""xAI's protobuf messages and enums, and what the canonical form does not name in them.

The only module that needs the `xai` extra; everything is read through the generated classes.
"""

from __future__ import annotations

from typing import Any

from ... import jsontext
from ...errors import MalformedBody, MissingExtra
from ...model import StopReason

try:
    from google.protobuf.json_format import MessageToDict, ParseDict
    from google.protobuf.json_format import ParseError as JsonParseError
    from google.protobuf.message import DecodeError
    from google.protobuf.unknown_fields import UnknownFieldSet
    from xai_sdk.proto import chat_pb2
except ImportError as error:  # pragma: no cover - exercised by a subprocess test
    raise MissingExtra(
        "the wire xai.grpc needs xAI's protobuf classes", hint="pip install 'toolparity[xai]'"
    ) from error

#: `xai_api.FinishReason`. A time limit cuts the answer as a token limit does (failure XAI-11).
STOPS: dict[int, StopReason] = {
    1: "max_tokens",  # REASON_MAX_LEN
    2: "context_window",  # REASON_MAX_CONTEXT
    3: "end_turn",  # REASON_STOP
    4: "tool_calls",  # REASON_TOOL_CALLS
    5: "max_tokens",  # REASON_TIME_LIMIT
}
TIME_LIMIT = 5

#: `xai_api.ToolCallType` of the calls that xAI executes, in canonical terms.
SERVER_TOOLS = {
    2: "web_search",
    3: "x_search",
    4: "code_execution",
    5: "collections_search",
    6: "mcp",
    7: "attachment_search",
    10: "image_generation",
}
TYPE_UNSET = 0
TYPE_CLIENT = 1
STATUSES = {0: "in_progress", 1: "completed", 2: "incomplete", 3: "failed"}
INCOMPLETE = 2
FAILED = 3
ROLE_TOOL = 5


def response_from(data: bytes) -> Any:
    """A GetChatCompletionResponse, from its bytes or its protobuf JSON. Raises MalformedBody."""
    return _parse(chat_pb2.GetChatCompletionResponse, data)


def chunk_from(data: bytes) -> Any:
    """A GetChatCompletionChunk, from its bytes or its protobuf JSON. Raises MalformedBody."""
    return _parse(chat_pb2.GetChatCompletionChunk, data)


def _parse(cls: Any, data: bytes) -> Any:
    if data[:1] == b"{":
        try:
            return ParseDict(jsontext.decode(data), cls(), ignore_unknown_fields=True)
        except (JsonParseError, ValueError, RecursionError) as error:
            raise MalformedBody(f"no protobuf JSON of {cls.DESCRIPTOR.name}: {error}", body=data) from None
    try:
        return cls.FromString(data)
    except DecodeError as error:
        raise MalformedBody(f"no {cls.DESCRIPTOR.name}: {error}", body=data) from None


def finish_name(value: int) -> str:
    """The wire's name of a finish reason, also of one that this version does not know."""
    enum = chat_pb2.CompletionOutput.DESCRIPTOR.fields_by_name["finish_reason"].enum_type
    known = enum.values_by_number.get(value)
    return known.name if known is not None else str(value)


def as_dict(message: Any) -> dict[str, Any]:
    """A message as JSON with the proto's own names."""
    plain: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
    return plain


def rest(message: Any, *represented: str) -> dict[str, Any]:
    """The set fields of a message that the canonical form does not represent, as JSON."""
    whole = None
    extra: dict[str, Any] = {}
    for field, _ in message.ListFields():
        if field.name not in represented:
            if whole is None:
                copy = type(message)()
                copy.CopyFrom(message)
                for name in represented:
                    copy.ClearField(name)
                whole = as_dict(copy)
            extra[field.name] = whole.get(field.name)
    return extra


def unknown_fields(message: Any) -> list[dict[str, Any]]:
    """Fields that this version of the SDK does not know: kept by number, bytes as hex (law `unknown`)."""
    found = []
    fields: Any = UnknownFieldSet(message)  # iterable, though its stubs do not say so
    for field in fields:
        data = field.data
        if isinstance(data, UnknownFieldSet):
            data = [inner.field_number for inner in data]  # type: ignore[attr-defined]
        found.append({"field": field.field_number, "data": data.hex() if isinstance(data, bytes) else data})
    return found
