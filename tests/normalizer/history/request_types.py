"""The types of requests in the SDKs, and what a value of each needs to be a conversation."""

from __future__ import annotations

import typing
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NotRequired, Required

from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming as AnthropicRequest
from cohere.v2.client import V2Client
from google.genai import types
from google.genai.interactions import CreateModelInteractionParam
from ollama._types import ChatRequest as OllamaRequest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as ChatRequest
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming as ResponsesRequest
from openai.types.responses.response_input_param import ResponseInputItemParam
from typing_extensions import TypedDict
from xai_sdk.proto import chat_pb2

from tests.normalizer.history.request_members import alternatives
from tests.support.sdk_types import bedrock_shape
from toolparity.normalizer.wires.google_gemini.schema import DATA


class GeminiRequest(TypedDict, total=False):
    """The body of generateContent, which the SDK builds without a type (`google.genai.models`)."""

    model: Required[str]
    contents: Required[list[types.Content]]
    systemInstruction: types.Content
    tools: list[types.Tool]
    toolConfig: types.ToolConfig
    generationConfig: types.GenerationConfig
    safetySettings: list[types.SafetySetting]
    cachedContent: str
    labels: dict[str, str]
    modelArmorConfig: types.ModelArmorConfig
    serviceTier: types.ServiceTier
    continuationToken: str
    store: bool


def _cohere_request() -> Any:
    """Return the type of a body, which the SDK has only as the parameters of a method."""
    hints = typing.get_type_hints(V2Client.chat)
    members = {name: hint for name, hint in hints.items() if name not in ("request_options", "return")}
    required = {name: Required[hint] for name, hint in members.items() if name in ("model", "messages")}
    return TypedDict("CohereRequest", {**{name: NotRequired[hint] for name, hint in members.items()}, **required})  # type: ignore[operator]


#: The type of the requests of each wire's SDK.
REQUESTS: dict[str, Any] = {
    "openai.chat": ChatRequest,
    "openai.responses": ResponsesRequest,
    "anthropic.messages": AnthropicRequest,
    "xai.grpc": chat_pb2.GetCompletionsRequest.DESCRIPTOR,
    "google.gemini": GeminiRequest,
    "bedrock.converse": bedrock_shape("ConverseRequest"),
    "google.interactions": CreateModelInteractionParam,
    "ollama.chat": OllamaRequest,
    "cohere.chat": _cohere_request(),
}
_FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
#: The members of Gemini's parts that hold their data, and those of which only the model makes parts.
_GEMINI_DATA = frozenset(DATA)
_GEMINI_MODEL = frozenset(
    ("functionCall", "executableCode", "codeExecutionResult", "toolCall", "toolResponse", "thought", "thoughtSignature")
)
#: The types of contents of Interactions that are media, and a MIME type of each.
_MEDIA = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4", "document": "application/pdf"}
_CALLS = {each["type"]: each for each in alternatives(ResponseInputItemParam) if "call_id" in each and "type" in each}


def of_chat(body: dict[str, Any]) -> dict[str, Any]:
    """Add the calls to which results refer, and the tools to which a choice refers."""
    function = {"name": "f", "arguments": "{}"}
    call = {"id": "call_1", "type": "function", "function": function}
    needed: dict[str, Any] = {
        "tool": [{"role": "assistant", "content": None, "tool_calls": [call]}],
        "function": [{"role": "assistant", "content": None, "function_call": function}],
    }
    body["messages"] = [
        {"role": "user", "content": "hi"},
        *(each for message in body["messages"] for each in (*needed.get(message["role"], ()), message)),
    ]
    if "function_call" in body:
        body.setdefault("functions", [{"name": "f", "parameters": {}}])
    elif "tool_choice" in body or "parallel_tool_calls" in body:
        body.setdefault("tools", [{"type": "function", "function": {"name": "f", "parameters": {}}}])
    return body


def of_responses(body: dict[str, Any]) -> dict[str, Any]:
    if isinstance(body.get("input"), list):
        user = {"role": "user", "content": "hi"}
        body["input"] = [user, *(each for item in body["input"] for each in (*_call_of(item), item))]
        for item in body["input"]:
            if item.get("type") == "function_call_output":
                item.setdefault("call_id", "call_1")
    if "tool_choice" in body or "parallel_tool_calls" in body:
        body.setdefault("tools", [{**_FUNCTION, "strict": False}])
    return body


def _call_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the call whose result an item is."""
    kind = item.get("type") or ""
    call = _CALLS.get(kind.removesuffix("_output")) if kind.endswith("_output") else None
    return [deepcopy(call)] if call else []


def of_anthropic(body: dict[str, Any]) -> dict[str, Any]:
    messages: list[Any] = [{"role": "user", "content": "hi"}]
    for message in body["messages"]:
        content = message.get("content")
        kind = content[0].get("type", "") if isinstance(content, list) else ""
        if kind == "tool_result":
            use = {"type": "tool_use", "id": "call_1", "name": "f", "input": {}}
            messages.append({"role": "assistant", "content": [use]})
        elif kind.endswith(("tool_use", "thinking", "tool_result")):
            message["role"] = "assistant"
        if kind.endswith("_tool_result"):
            name = kind.removesuffix("_tool_result")
            content.insert(0, {"type": "server_tool_use", "id": "call_1", "name": name, "input": {}})
        messages.append(message)
    body["messages"] = messages
    if "tool_choice" in body:
        body.setdefault("tools", [{"name": "f", "input_schema": {"type": "object", "properties": {}}}])
    return body


def of_xai(body: dict[str, Any]) -> dict[str, Any]:
    body.setdefault("model", "grok-4-fast")
    if "tool_choice" in body or "parallel_tool_calls" in body:
        body.setdefault("tools", [{"function": {"name": "f", "parameters": "{}"}}])
    return body


def of_gemini(body: dict[str, Any]) -> dict[str, Any]:
    contents: list[Any] = [{"role": "user", "parts": [{"text": "hi"}]}]
    for content in body["contents"]:
        parts = [_gemini_part(part) for part in content.get("parts", [{}])]
        for part in parts:
            if "functionResponse" in part:
                call = {key: value for key, value in part["functionResponse"].items() if key in ("id", "name")}
                contents.append({"role": "model", "parts": [{"functionCall": call}]})
        role = "model" if any(_GEMINI_MODEL & part.keys() for part in parts) else "user"
        contents.append({"role": role, **content, "parts": parts})
    body["contents"] = contents
    if "systemInstruction" in body:
        parts = body["systemInstruction"].get("parts", [{}])
        body["systemInstruction"]["parts"] = [_gemini_part(part) for part in parts]
    for tool in body.get("tools", ()):
        for declaration in tool.get("functionDeclarations", ()):
            declaration.setdefault("name", "f")
    if "toolConfig" in body:
        body.setdefault("tools", [{"functionDeclarations": [{"name": "f"}]}])
    return body


def _gemini_part(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part with data, which each part needs, and with what a call, its result and media need."""
    for member in ("functionCall", "functionResponse"):
        if member in part:
            part[member].setdefault("name", "f")
    for inner in (part, *part.get("functionResponse", {}).get("parts", ())):
        if "inlineData" in inner:
            inner["inlineData"] = {"mimeType": "image/png", "data": "AAAA", **inner["inlineData"]}
        if "fileData" in inner:
            inner["fileData"] = {"mimeType": "image/png", "fileUri": "https://e.invalid/a.png"} | inner["fileData"]
    return part if _GEMINI_DATA & part.keys() else {"text": "a text", **part}


def of_converse(body: dict[str, Any]) -> dict[str, Any]:
    messages: list[Any] = [{"role": "user", "content": [{"text": "hi"}]}]
    for message in body.get("messages", ()):
        kinds = {kind for block in message["content"] for kind in block}
        if "toolResult" in kinds:
            use = {"toolUseId": "call_1", "name": "f", "input": {}}
            messages.append({"role": "assistant", "content": [{"toolUse": use}]})
        elif kinds & {"toolUse", "reasoningContent", "citationsContent"}:
            message["role"] = "assistant"
        messages.append(message)
    body["messages"] = messages
    if "toolConfig" in body:
        tool = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
        body["toolConfig"].setdefault("tools", [tool])
    return body


def of_interactions(body: dict[str, Any]) -> dict[str, Any]:
    given = _with_media(body.get("input", "hi"))
    if isinstance(given, list) and given[0]["type"] == "function_result":
        call = {"type": "function_call", "id": "call_1", "name": "f", "arguments": {}}
        given = [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}, call, *given]
    body["input"] = given
    if "tool_choice" in body.get("generation_config", {}):
        body.setdefault("tools", [_FUNCTION])
    return body


def _with_media(value: Any) -> Any:
    """Return a value with data in each content that is media and has none."""
    if isinstance(value, list):
        return [_with_media(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {name: _with_media(member) for name, member in value.items()}
    if (media_type := _MEDIA.get(members.get("type"))) is None:
        return members
    return {"mime_type": media_type, **({} if "uri" in members else {"data": "AAAA"}), **members}


def of_ollama(body: dict[str, Any]) -> dict[str, Any]:
    messages: list[Any] = [{"role": "user", "content": "hi"}]
    for message in body.get("messages", ()):
        if "tool_name" in message:
            call = {"function": {"name": message["tool_name"], "arguments": {}}}
            messages.append({"role": "assistant", "tool_calls": [call]})
        role = "assistant" if {"thinking", "tool_calls"} & message.keys() else "user"
        messages.append({"content": "a content", **message, "role": "tool" if "tool_name" in message else role})
    body["messages"] = messages
    for tool in body.get("tools", ()):
        tool.setdefault("function", {}).setdefault("name", "f")
    return body


def of_cohere(body: dict[str, Any]) -> dict[str, Any]:
    messages: list[Any] = [{"role": "user", "content": "hi"}]
    for message in body["messages"]:
        if message["role"] == "tool":
            call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            messages.append({"role": "assistant", "tool_calls": [call]})
        elif message["role"] == "assistant" and not {"content", "tool_calls"} & message.keys():
            message["content"] = "a content"
        for call in message.get("tool_calls") or ():
            call.setdefault("id", "call_1")
            call.setdefault("function", {}).setdefault("name", "f")
            call["function"].setdefault("arguments", "{}")
        messages.append(message)
    body["messages"] = messages
    for tool in body.get("tools", ()):
        tool.setdefault("function", {"name": "f", "parameters": {}})
    if "tool_choice" in body or "strict_tools" in body:
        body.setdefault("tools", [{"type": "function", "function": {"name": "f", "parameters": {}}}])
    return body


#: What a value of the request's type needs to be a conversation, for each wire.
CONTEXTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "openai.chat": of_chat,
    "openai.responses": of_responses,
    "anthropic.messages": of_anthropic,
    "xai.grpc": of_xai,
    "google.gemini": of_gemini,
    "bedrock.converse": of_converse,
    "google.interactions": of_interactions,
    "ollama.chat": of_ollama,
    "cohere.chat": of_cohere,
}
