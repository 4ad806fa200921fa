"""Access to xAI's protobuf messages and enums: parsing, conversion to JSON and unknown fields.

No other module of the wire imports the generated classes of the `xai` extra. Without them the import of this module
raises MissingExtra.
"""

from __future__ import annotations

from typing import Any, Literal

from ... import json_codec
from ...errors import MalformedBody, MissingExtra
from ...model import StopReason
from ..stop_words import reason_of

try:
    from google.protobuf.json_format import ParseDict
    from google.protobuf.json_format import ParseError as JsonParseError
    from google.protobuf.message import DecodeError
    from google.protobuf.unknown_fields import UnknownFieldSet
    from xai_sdk.proto import chat_pb2, image_pb2

    from .json_form import as_dict as as_dict  # noqa: PLC0414 - part of this module's interface
    from .json_form import fields_except as fields_except  # noqa: PLC0414
except ImportError as error:  # pragma: no cover - exercised by a subprocess test
    raise MissingExtra(
        "the wire xai.grpc needs xAI's protobuf classes", hint="pip install 'toolparity[xai]'"
    ) from error

WIRE = "xai.grpc"
_FINISH: Any = chat_pb2.CompletionOutput.DESCRIPTOR.fields_by_name["finish_reason"].enum_type
#: Stop reasons by `xai_api.FinishReason`, including values of newer SDKs, according to their names.
STOPS: dict[int, StopReason] = {value.number: reason_of(value.name) for value in _FINISH.values if value.number}
TIME_LIMIT = 5

#: Canonical tools by `xai_api.ToolCallType`, for the calls that xAI executes.
SERVER_TOOLS = {
    2: "web_search",
    3: "x_search",
    4: "code_execution",
    5: "collections_search",
    6: "mcp",
    7: "attachment_search",
    10: "image_generation",
}
#: The inverse of `SERVER_TOOLS`.
SERVER_TYPES = {tool: number for number, tool in SERVER_TOOLS.items()}
#: Canonical tool choice modes by `xai_api.ToolMode`.
MODES: dict[int, Literal["auto", "none", "required"]] = {1: "auto", 2: "none", 3: "required"}
TYPE_UNSET = 0
TYPE_CLIENT = 1
STATUSES = {0: "in_progress", 1: "completed", 2: "incomplete", 3: "failed"}
COMPLETED = 1
INCOMPLETE = 2
FAILED = 3
ROLE_USER = 1
ROLE_ASSISTANT = 2
ROLE_SYSTEM = 3
ROLE_TOOL = 5
ROLE_DEVELOPER = 6


#: The messages of a request.
GetCompletionsRequest: Any = chat_pb2.GetCompletionsRequest
ProtoMessage: Any = chat_pb2.Message
Content: Any = chat_pb2.Content
FileContent: Any = chat_pb2.FileContent
ImageUrlContent: Any = image_pb2.ImageUrlContent
ToolCall: Any = chat_pb2.ToolCall
FunctionCall: Any = chat_pb2.FunctionCall
Tool: Any = chat_pb2.Tool
Function: Any = chat_pb2.Function


def response_from(data: bytes) -> Any:
    """Parse a GetChatCompletionResponse from its bytes or protobuf JSON. Raises MalformedBody if it is neither."""
    return _parse(chat_pb2.GetChatCompletionResponse, data)


def chunk_from(data: bytes) -> Any:
    """Parse a GetChatCompletionChunk from its bytes or protobuf JSON. Raises MalformedBody if it is neither."""
    return _parse(chat_pb2.GetChatCompletionChunk, data)


def status_from(data: bytes) -> dict[str, Any] | None:
    """Return the status of a failed RPC, the JSON ``{"code", "details"}``, or None for any other bytes."""
    if data[:1] != b"{":
        return None
    try:
        plain = json_codec.decode(data)
    except (ValueError, RecursionError):
        return None
    return plain if isinstance(plain, dict) and plain.keys() == {"code", "details"} else None


def request_from(body: Any) -> Any:
    """Return a GetCompletionsRequest from the message itself, its bytes, or its protobuf JSON (parsed or text).

    Raises MalformedBody for anything else.
    """
    if isinstance(body, GetCompletionsRequest):
        return body
    if isinstance(body, dict):
        return parse_dict(body, GetCompletionsRequest())
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    if not isinstance(body, (bytes, bytearray, memoryview)):
        raise MalformedBody(f"not a GetCompletionsRequest: got {type(body).__name__}", body=body)
    return _parse(GetCompletionsRequest, bytes(body))


def parse_dict(plain: dict[str, Any], message: Any) -> Any:
    """Fill ``message`` from parsed protobuf JSON, and return it. Unknown fields are ignored.

    Raises MalformedBody if a value does not fit its field.
    """
    try:
        return ParseDict(plain, message, ignore_unknown_fields=True)
    except (JsonParseError, ValueError, TypeError, OverflowError, RecursionError, SystemError) as error:
        raise MalformedBody(f"not the protobuf JSON of {message.DESCRIPTOR.name}: {error}", body=plain) from None


def _parse(cls: Any, data: bytes) -> Any:
    if data[:1] == b"{":
        try:
            plain = json_codec.decode(data)
        except (ValueError, RecursionError) as error:
            raise MalformedBody(f"not the protobuf JSON of {cls.DESCRIPTOR.name}: {error}", body=data) from None
        return parse_dict(plain, cls())
    try:
        return cls.FromString(data)
    except DecodeError as error:
        raise MalformedBody(f"not a serialized {cls.DESCRIPTOR.name}: {error}", body=data) from None


def finish_name(value: int) -> str:
    """Return the wire's name of a finish reason, or its number as text if the SDK does not know it."""
    known = _FINISH.values_by_number.get(value)
    return known.name if known is not None else str(value)


def detail_name(value: int) -> str | None:
    """Return the wire's name of an image detail level, or None if it is unset or unknown."""
    return str(image_pb2.ImageDetail.Name(value)) if value in image_pb2.ImageDetail.values() and value else None


def is_plain(content: Any) -> bool:
    """Report whether the content is a single text, as the SDK creates it from a plain string."""
    return len(content) == 1 and content[0].WhichOneof("content") == "text"


def has_unknown_fields(message: Any) -> bool:
    """Report whether `unknown_fields` returns any, in less time."""
    return len(UnknownFieldSet(message)) > 0


def unknown_fields(message: Any) -> list[dict[str, Any]]:
    """Return the fields that the installed SDK does not know, by number, with bytes as hex (law `unknown`)."""
    unknown = []
    fields: Any = UnknownFieldSet(message)  # iterable, though its stubs do not say so
    for field in fields:
        data = field.data
        if isinstance(data, UnknownFieldSet):
            data = [inner.field_number for inner in data]  # type: ignore[attr-defined]
        unknown.append({"field": field.field_number, "data": data.hex() if isinstance(data, bytes) else data})
    return unknown
