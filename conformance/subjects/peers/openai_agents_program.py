"""The OpenAI Agents SDK: its two model classes, plain and streamed."""

from __future__ import annotations

import asyncio
from typing import Any

from program import Loopback, figures_of, functions, item_calls, serve  # type: ignore[import-not-found]  # isort: skip

from agents import (  # type: ignore[import-not-found,unused-ignore]
    FunctionTool,
    ModelSettings,
    ModelTracing,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

set_tracing_disabled(True)
_CLIENTS: list[AsyncOpenAI] = []


def model(wire: str, server: Loopback) -> Any:
    """Return the model object of a wire."""
    if not _CLIENTS:
        _CLIENTS.append(AsyncOpenAI(api_key="none", base_url=f"{server.url}/v1", max_retries=0))
    made = OpenAIChatCompletionsModel if wire == "openai.chat" else OpenAIResponsesModel
    return made(model="model", openai_client=_CLIENTS[0])


async def never(context: Any, arguments: str) -> str:
    """Declared as the tools' function but never called: the models only return calls."""
    raise NotImplementedError


async def answered(ask: dict[str, Any], server: Loopback) -> tuple[list[Any], Any]:
    """Return the items of the response, and its usage."""
    asked = model(ask["wire"], server)
    told: dict[str, Any] = {
        "system_instructions": None,
        "input": "Hello",
        "model_settings": ModelSettings(include_usage=True),
        "tools": [FunctionTool(*tool, on_invoke_tool=never, strict_json_schema=False) for tool in functions(ask)],
        "output_schema": None,
        "handoffs": [],
        "tracing": ModelTracing.DISABLED,
        "previous_response_id": None,
        "conversation_id": None,
        "prompt": None,
    }
    if not ask["stream"]:
        response = await asked.get_response(**told)
        return response.output, response.usage
    last: Any = None
    done = []
    async for event in asked.stream_response(**told):
        if event.type == "response.output_item.done":
            done.append(event.item)
        elif event.type in ("response.completed", "response.incomplete", "response.failed"):
            last = event.response
    if last is None:
        raise RuntimeError("the stream ended without its last event")
    return last.output or done, last.usage  # as its Runner does


_RUNNER = asyncio.Runner()


def read(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the calls among the items, and the text."""
    output, figures = _RUNNER.run(answered(ask, server))
    words = [
        part.text for item in output if item.type == "message" for part in item.content if part.type == "output_text"
    ]
    return {"calls": item_calls(output), "text": "".join(words), "usage": figures_of(figures)}


serve(
    "openai-agents",
    "openai-agents",
    ["stream", "text", "usage"],
    ["openai.chat", "openai.responses"],
    read,
)
