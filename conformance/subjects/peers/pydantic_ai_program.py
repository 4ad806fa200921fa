"""Pydantic AI: its models, called directly, plain and streamed.

It has separate models for other providers (gRPC for xAI), so it is not tested with their dialects.
"""

from __future__ import annotations

import asyncio
from typing import Any

from program import Loopback, functions, serve, usage  # type: ignore[import-not-found]  # isort: skip

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
from pydantic_ai.providers.anthropic import AnthropicProvider  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.providers.openai import OpenAIProvider  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.tools import ToolDefinition  # type: ignore[import-not-found,unused-ignore]

_MODELS: dict[str, Any] = {}
#: The prefix of ids that it generates if the wire has none: they are new each time, and not the provider's.
_MADE = "pyd_ai_"


def model(wire: str, server: Loopback) -> Any:
    """Return the model object of a wire."""
    if wire not in _MODELS:
        if wire == "anthropic.messages":
            claude = AsyncAnthropic(api_key="none", base_url=server.url, max_retries=0)
            _MODELS[wire] = AnthropicModel("model", provider=AnthropicProvider(anthropic_client=claude))
        else:
            client = AsyncOpenAI(api_key="none", base_url=f"{server.url}/v1", max_retries=0)
            made = OpenAIChatModel if wire == "openai.chat" else OpenAIResponsesModel
            _MODELS[wire] = made("model", provider=OpenAIProvider(openai_client=client))
    return _MODELS[wire]


async def answered(ask: dict[str, Any], server: Loopback) -> Any:
    """Return its model response."""
    messages = [ModelRequest.user_text_prompt("Hello")]
    asked = model(ask["wire"], server)
    tools = [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.parameters)
        for tool in functions(ask)
    ]
    told = ModelRequestParameters(function_tools=tools)
    if not ask["stream"]:
        return await model_request(asked, messages, model_request_parameters=told)
    async with model_request_stream(asked, messages, model_request_parameters=told) as stream:
        async for _ in stream:
            pass
        return stream.get()


_RUNNER = asyncio.Runner()


def read(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the calls of client tools among the parts, and the text."""
    response = _RUNNER.run(answered(ask, server))
    calls = []
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            held = part.args or {}
            key = "arguments_text" if isinstance(held, str) else "arguments"
            made = part.tool_call_id.startswith(_MADE)
            calls.append({"id": None if made else part.tool_call_id, "name": part.tool_name, key: held})
    text = "".join(part.content or "" for part in response.parts if isinstance(part, TextPart))
    told = response.usage
    figures = usage(told.input_tokens, told.output_tokens, told.cache_read_tokens, told.details.get("reasoning_tokens"))
    return {"calls": calls, "text": text, "usage": figures}


serve(
    "pydantic-ai",
    "pydantic-ai-slim",
    ["stream", "text", "usage"],
    ["openai.chat", "openai.responses", "anthropic.messages"],
    read,
    providers=["openai", "anthropic"],
)
