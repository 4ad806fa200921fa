"""Pydantic AI: its Agent, plain and streamed.

It has separate models for other providers (gRPC for xAI), so it is not tested with their dialects.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import replace
from functools import cache
from typing import Any

from agent import Function, serve  # type: ignore[import-not-found]  # isort: skip

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent, Tool  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.models.anthropic import AnthropicModel  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.models.openai import (  # type: ignore[import-not-found,unused-ignore]
    OpenAIChatModel,
    OpenAIResponsesModel,
)
from pydantic_ai.providers.anthropic import AnthropicProvider  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.providers.openai import OpenAIProvider  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.tools import ToolDefinition  # type: ignore[import-not-found,unused-ignore]


@cache
def client(make: Any) -> Any:
    """Return the client that all responses share; each has another address."""
    return make(api_key="none", base_url="http://127.0.0.1", max_retries=0)


def model(wire: str, base_url: str) -> Any:
    """Return the model object of a wire."""
    if wire == "anthropic.messages":
        claude = client(AsyncAnthropic).with_options(base_url=base_url)
        return AnthropicModel("model", provider=AnthropicProvider(anthropic_client=claude))
    make = OpenAIChatModel if wire == "openai.chat" else OpenAIResponsesModel
    return make("model", provider=OpenAIProvider(openai_client=client(AsyncOpenAI).with_options(base_url=base_url)))


def tool(function: Function) -> Tool:
    """Return a tool with the declared schema. The library checks that the arguments are an object."""

    async def run(**arguments: Any) -> str:
        result: str = function.run(arguments)
        return result

    async def declare(context: Any, definition: ToolDefinition) -> ToolDefinition:
        return replace(definition, parameters_json_schema=function.parameters)

    return Tool(run, name=function.name, description=function.description, prepare=declare)


async def drain(context: Any, events: AsyncIterable[Any]) -> None:
    """Read the events of a response: with a handler, the agent asks for streams."""
    async for _ in events:
        pass


async def act(ask: dict[str, Any], functions: list[Function]) -> tuple[None, bool]:
    """Run an agent until its final output. Return whether its last message has a finish reason."""
    agent: Agent[None, str] = Agent(
        model(ask["wire"], ask["base_url"]), tools=[tool(function) for function in functions]
    )
    result = await agent.run("Hello", event_stream_handler=drain if ask["stream"] else None)
    return None, getattr(result.all_messages()[-1], "finish_reason", None) is not None


serve(
    "pydantic-ai-agent",
    "pydantic-ai-slim",
    ["openai.chat", "openai.responses", "anthropic.messages"],
    act,
    providers=["openai", "anthropic"],
)
