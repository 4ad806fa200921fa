"""Whether the types of a wire's own SDK accept a request body."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import GeneratorType
from typing import Any

from anthropic.types.beta import BetaMessageParam, BetaTextBlockParam, BetaToolChoiceParam, BetaToolUnionParam
from botocore.validate import ParamValidator
from cohere import ChatMessageV2, ToolV2
from google.genai import types as gemini
from google.genai.interactions import CreateModelInteraction
from google.protobuf.message import Message
from ollama._types import ChatRequest, Image, Tool
from ollama._types import Message as OllamaMessage
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ToolChoice as ResponsesToolChoice
from openai.types.responses.response_input_param import ResponseInputItemParam
from openai.types.responses.tool_param import ToolParam
from pydantic import TypeAdapter
from xai_sdk.proto import chat_pb2

from tests.support.sdk_types import bedrock_shape

#: For each wire: a member of the body, or "" for the whole body -> its type.
TYPES: dict[str, dict[str, Any]] = {
    "openai.chat": {"": CompletionCreateParamsNonStreaming},
    "openai.responses": {
        "input": list[ResponseInputItemParam],
        "tools": list[ToolParam],
        "tool_choice": ResponsesToolChoice,
    },
    "google.interactions": {"": CreateModelInteraction},
    "anthropic.messages": {
        "messages": list[BetaMessageParam],
        "system": str | list[BetaTextBlockParam],
        "tools": list[BetaToolUnionParam],
        "tool_choice": BetaToolChoiceParam,
    },
    "google.gemini": {
        "contents": list[gemini.Content],
        "systemInstruction": gemini.Content,
        "tools": list[gemini.Tool],
        "toolConfig": gemini.ToolConfig,
        "generationConfig": gemini.GenerationConfig,
    },
    "cohere.chat": {"messages": list[ChatMessageV2], "tools": list[ToolV2]},
    "ollama.chat": {"": ChatRequest, "messages": list[OllamaMessage], "tools": list[Tool]},
}


@cache
def _adapters(wire: str) -> dict[str, TypeAdapter[Any]]:
    return {member: TypeAdapter(type) for member, type in TYPES[wire].items()}


def assert_sdk_accepts(wire: str, body: Any) -> None:
    """Raise an exception if the types of the wire's own SDK refuse the body."""
    if wire == "xai.grpc":
        assert isinstance(body, Message)
        chat_pb2.GetCompletionsRequest.FromString(body.SerializeToString())
        return
    if wire == "bedrock.converse":
        report = ParamValidator().validate({"modelId": "m", **body}, bedrock_shape("ConverseRequest"))
        assert not report.has_errors(), report.generate_report()
        return
    if wire == "openai.responses" and isinstance(body.get("input"), list):
        body = {**body, "input": [_with_id(item) for item in body["input"]]}
    if wire == "ollama.chat":  # the SDK's client wraps images before it validates the messages
        body = {**body, "messages": [_with_images(message) for message in body["messages"]]}
    for member, adapter in _adapters(wire).items():
        if not member:
            _exhaust(adapter.validate_python({k: v for k, v in body.items() if k not in ("stream", "stream_options")}))
        elif member in body:
            _exhaust(adapter.validate_python(body[member]))


def _with_id(item: Any) -> Any:
    """The SDK's types of an assistant's message in parts and of a thought require an id, which the API does not."""
    if item.get("role") == "assistant" and isinstance(item.get("content"), list):
        return {"id": "msg_1", "status": "completed", **item}
    return {"id": "rs_1", **item} if item.get("type") == "reasoning" else item


def _with_images(message: Any) -> Any:
    images = message.get("images")
    return {**message, "images": [Image(value=image) for image in images]} if images else message


def _exhaust(value: Any) -> None:
    """Pydantic validates what the SDKs call an iterable only while it is iterated."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, GeneratorType, Iterator)):
        for item in value:
            _exhaust(item)
