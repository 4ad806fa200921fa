"""The OpenAI Agents SDK: its two model classes, plain and streamed."""

from __future__ import annotations

import asyncio
from typing import Any

from program import ENDED, Loopback, figures_of, functions, client_items, item_calls, serve  # type: ignore[import-not-found]  # isort: skip

from scope import custom_tools, legacy_call, several_choices  # type: ignore[import-not-found]  # isort: skip

try:  # the HTTP library of the OpenAI SDK
    import httpx2 as httpx  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # the SDK that versions before 0.20 use
    import httpx  # type: ignore[no-redef,import-not-found,unused-ignore]
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
_CLIENTS: dict[str, AsyncOpenAI] = {}
#: The addresses of the providers. The library checks more if the client's address is OpenAI's own.
_ADDRESSES = {"openai": "https://api.openai.com/v1", "xai": "https://api.x.ai/v1"}


class ToLoopback(httpx.AsyncHTTPTransport):
    """Sends every request to the local server, whatever its address is."""

    def __init__(self, server: Loopback) -> None:
        super().__init__()
        self._url = httpx.URL(server.url)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Replace the scheme, host and port of the request."""
        request.url = request.url.copy_with(scheme="http", host=self._url.host, port=self._url.port)
        return await super().handle_async_request(request)


def model(wire: str, provider: str, server: Loopback) -> Any:
    """Return the model object of a wire."""
    if provider not in _CLIENTS:
        client = httpx.AsyncClient(transport=ToLoopback(server))
        address = _ADDRESSES[provider]
        _CLIENTS[provider] = AsyncOpenAI(api_key="none", base_url=address, max_retries=0, http_client=client)
    made = OpenAIChatCompletionsModel if wire == "openai.chat" else OpenAIResponsesModel
    return made(model="model", openai_client=_CLIENTS[provider])


async def never(context: Any, arguments: str) -> str:
    """Declared as the tools' function but never called: the models only return calls."""
    raise NotImplementedError


async def answered(ask: dict[str, Any], server: Loopback) -> Any:
    """Return the model response, or the response of the stream's terminal event."""
    asked = model(ask["wire"], ask["provider"], server)
    arguments: dict[str, Any] = {
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
        return await asked.get_response(**arguments)
    last: Any = None
    done = []
    async for event in asked.stream_response(**arguments):
        if event.type == "response.output_item.done":
            done.append(event.item)
        elif event.type in ("response.completed", "response.incomplete", "response.failed"):
            last = event.response
    if last is None:
        raise RuntimeError("the stream ended without its last event")
    last.output = last.output or done  # as its Runner does
    return last


_RUNNER = asyncio.Runner()


def read(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the calls among the items, the text and the token counts.

    A plain response has no member for the stop reason. A streamed one ends with an event that says how it ended, if the
    wire has such events: the library's own one for Chat Completions has no status.
    """
    if several_choices(ask):
        return {"unsupported": "a model response of openai-agents has one choice: ModelSettings has no n"}
    if legacy_call(ask):
        return {"unsupported": "its requests have tools, and not the deprecated functions"}
    if ask["wire"] == "openai.chat" and custom_tools(ask):
        return {"unsupported": "OpenAIChatCompletionsModel of openai-agents accepts function tools only"}
    response = _RUNNER.run(answered(ask, server))
    words = [
        part.text
        for item in response.output
        if item.type == "message"
        for part in item.content
        if part.type == "output_text"
    ]
    answer = {
        "calls": item_calls(client_items(response.output, ask)),
        "text": "".join(words),
        "usage": figures_of(response.usage),
    }
    status = getattr(response, "status", None)
    return answer if status is None else {**answer, "complete": status in ENDED}


serve(
    "openai-agents",
    "openai-agents",
    ["stream", "text", "usage"],
    ["openai.chat", "openai.responses"],
    read,
    providers=["openai", "xai"],
)
