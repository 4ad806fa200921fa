"""Pydantic AI: its models, called directly, plain and streamed.

xAI is read through gRPC only, because its model for xAI uses xAI's own SDK.
"""

from __future__ import annotations

import asyncio
from typing import Any

from program import Loopback, functions, serve, stop_of, usage  # type: ignore[import-not-found]  # isort: skip
from scope import asks_approval, custom_tools, legacy_call, several_choices  # type: ignore[import-not-found]  # isort: skip
from grpc_program import address  # type: ignore[import-not-found]  # isort: skip

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai.direct import (  # type: ignore[import-not-found,unused-ignore]
    model_request,
    model_request_stream,
)
from pydantic_ai.messages import (  # type: ignore[import-not-found,unused-ignore]
    ModelRequest,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models import ModelRequestParameters  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.models.anthropic import AnthropicModel  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.models.openai import (  # type: ignore[import-not-found,unused-ignore]
    OpenAIChatModel,
    OpenAIResponsesModel,
)
from pydantic_ai.models.xai import XaiModel  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.providers.anthropic import AnthropicProvider  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.providers.openai import OpenAIProvider  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.providers.xai import XaiProvider  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.tools import ToolDefinition  # type: ignore[import-not-found,unused-ignore]
from xai_sdk import AsyncClient  # type: ignore[import-not-found,unused-ignore]

_MODELS: dict[str, Any] = {}
#: The prefix of ids that it generates if the wire has none: they are new each time, and not the provider's.
_MADE = "pyd_ai_"


def model(wire: str, server: Loopback) -> Any:
    """Return the model object of a wire."""
    if wire not in _MODELS:
        if wire == "anthropic.messages":
            claude = AsyncAnthropic(api_key="none", base_url=server.url, max_retries=0)
            _MODELS[wire] = AnthropicModel("model", provider=AnthropicProvider(anthropic_client=claude))
        elif wire == "xai.grpc":
            grok = AsyncClient(api_key="none", api_host=address(server), use_insecure_channel=True)
            _MODELS[wire] = XaiModel("model", provider=XaiProvider(xai_client=grok))
        else:
            client = AsyncOpenAI(api_key="none", base_url=f"{server.url}/v1", max_retries=0)
            made = OpenAIChatModel if wire == "openai.chat" else OpenAIResponsesModel
            _MODELS[wire] = made("model", provider=OpenAIProvider(openai_client=client))
    return _MODELS[wire]


async def answered(ask: dict[str, Any], server: Loopback) -> Any:
    """Return its model response."""
    messages = [ModelRequest.user_text_prompt("Hello")]
    asked = model(ask["wire"], server)  # inside the event loop, to which a gRPC channel belongs
    tools = [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.parameters)
        for tool in functions(ask)
    ]
    parameters = ModelRequestParameters(function_tools=tools)
    if not ask["stream"]:
        return await model_request(asked, messages, model_request_parameters=parameters)
    async with model_request_stream(asked, messages, model_request_parameters=parameters) as stream:
        async for _ in stream:
            pass
        return stream.get()


_RUNNER = asyncio.Runner()


def read(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the calls of client tools among the parts, the text, the stop reason and the token counts."""
    if ask["provider"] == "xai" and ask["wire"] != "xai.grpc":
        return {"unsupported": "pydantic-ai reads xAI through xAI's own SDK, which uses gRPC"}
    if several_choices(ask):
        return {"unsupported": "a model response of pydantic-ai has one choice: its settings have no n"}
    if legacy_call(ask):
        return {"unsupported": "its requests have tools, and not the deprecated functions"}
    if custom_tools(ask):
        return {"unsupported": "a ToolDefinition of pydantic-ai is a function: custom tools cannot be declared"}
    if ask["wire"] == "openai.responses" and asks_approval(ask):
        return {"unsupported": "its MCPServerTool requests no approvals"}
    response = _RUNNER.run(answered(ask, server))
    calls = []
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            held = part.args or {}
            key = "arguments_text" if isinstance(held, str) else "arguments"
            made = part.tool_call_id.startswith(_MADE)
            calls.append({"id": None if made else part.tool_call_id, "name": part.tool_name, key: held})
    text = "".join(part.content or "" for part in response.parts if isinstance(part, TextPart))
    return {
        "calls": calls,
        "text": text,
        "usage": figures(response.usage),
        "stop": stop(response, calls),
        "complete": response.state in ("complete", "suspended"),  # suspended: the provider paused, and said so
    }


def stop(response: Any, calls: list[dict[str, Any]]) -> str:
    """Return the stop reason: the provider's word if the details have it, else the library's."""
    details = response.provider_details or {}
    word = details.get("finish_reason") or response.finish_reason
    reason: str = stop_of(word, calls=calls, refusal=details.get("refusal"))
    return "refusal" if details.get("refusal") and word in (None, "content_filter") else reason


def figures(stated: Any) -> dict[str, Any]:
    """Return the token counts."""
    reasoning = stated.output_reasoning_tokens or stated.details.get("reasoning_tokens")
    counts: dict[str, Any] = usage(
        stated.input_tokens, stated.output_tokens, stated.cache_read_tokens, reasoning, stated.cache_write_tokens
    )
    return counts


serve(
    "pydantic-ai",
    "pydantic-ai-slim",
    ["stream", "text", "stop", "usage"],
    ["openai.chat", "openai.responses", "anthropic.messages", "xai.grpc"],
    read,
    providers=["openai", "anthropic", "xai"],
    stop_words="openai.chat",
)
