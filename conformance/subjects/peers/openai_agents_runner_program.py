"""The OpenAI Agents SDK: its Runner, plain and streamed."""

from __future__ import annotations

from functools import cache
from typing import Any

from agent import Function, serve  # type: ignore[import-not-found]  # isort: skip

import httpx2  # type: ignore[import-not-found,unused-ignore]
from agents import (  # type: ignore[import-not-found,unused-ignore]
    Agent,
    FunctionTool,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from agents.tool_context import ToolContext  # type: ignore[import-not-found,unused-ignore]
from openai import AsyncOpenAI

set_tracing_disabled(True)
#: The addresses of the providers. The library checks more if the client's address is OpenAI's own.
_ADDRESSES = {"openai": "https://api.openai.com", "xai": "https://api.x.ai"}


class ToSuite(httpx2.AsyncHTTPTransport):
    """Sends every request to the address of the current response, whatever the request's own address is."""

    base_url = httpx2.URL("")

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Replace the scheme, host and port of the request, and add the path of the response."""
        path = self.base_url.path.removesuffix("/v1") + request.url.path
        parts = {"scheme": self.base_url.scheme, "host": self.base_url.host, "port": self.base_url.port}
        request.url = request.url.copy_with(path=path, **parts)
        return await super().handle_async_request(request)


_TRANSPORT = ToSuite()


@cache
def client(provider: str) -> AsyncOpenAI:
    """Return the client for a provider, which all its responses share."""
    http = httpx2.AsyncClient(transport=_TRANSPORT)
    return AsyncOpenAI(api_key="none", base_url=f"{_ADDRESSES[provider]}/v1", max_retries=0, http_client=http)


def tool(function: Function) -> FunctionTool:
    """Return a tool of `function_tool`, which parses the arguments and answers invalid ones with an error."""

    async def run(context: ToolContext[Any]) -> str:
        result: str = function.run(context.tool_arguments or {})
        return result

    made: FunctionTool = function_tool(
        run, name_override=function.name, description_override=function.description, strict_mode=False
    )
    made.params_json_schema = function.parameters
    return made


async def act(ask: dict[str, Any], functions: list[Function]) -> None:
    """Run an agent until its final output."""
    make = OpenAIChatCompletionsModel if ask["wire"] == "openai.chat" else OpenAIResponsesModel
    _TRANSPORT.base_url = httpx2.URL(ask["base_url"])
    model = make(model="model", openai_client=client(ask["provider"]))
    agent = Agent(name="agent", model=model, tools=[tool(function) for function in functions])
    if not ask["stream"]:
        await Runner.run(agent, "Hello")
        return
    async for _ in Runner.run_streamed(agent, "Hello").stream_events():
        pass


serve(
    "openai-agents-runner",
    "openai-agents",
    ["openai.chat", "openai.responses"],
    act,
    providers=["openai", "xai"],
)
