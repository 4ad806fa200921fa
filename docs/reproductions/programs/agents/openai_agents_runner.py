# Prints what the Runner of OpenAI Agents runs of a response, and its requests: BODY WIRE PROVIDER stream|plain TOOL...
import asyncio
import os
import sys
from pathlib import Path

import httpx2
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool
from agents.tool_context import ToolContext
from openai import AsyncOpenAI

body, wire, provider, mode, *names = sys.argv[1:]
later = iter([False, True])


def respond(request: httpx2.Request) -> httpx2.Response:
    print("sent", request.content.decode(), flush=True)
    if next(later):
        os._exit(0)
    headers = {"content-type": "text/event-stream" if mode == "stream" else "application/json"}
    return httpx2.Response(200, headers=headers, content=Path(body).read_bytes())


async def run(context: ToolContext) -> None:
    print("ran", context.tool_name, context.tool_arguments, flush=True)


async def streamed() -> None:
    [event async for event in Runner.run_streamed(agent, "Hello").stream_events()]


# The library checks more if the address is OpenAI's own, so no local server sends the response.
url = {"openai": "https://api.openai.com/v1", "xai": "https://api.x.ai/v1"}[provider]
http = httpx2.AsyncClient(transport=httpx2.MockTransport(respond))
client = AsyncOpenAI(api_key="none", base_url=url, max_retries=0, http_client=http)
model = (OpenAIChatCompletionsModel if wire == "openai.chat" else OpenAIResponsesModel)("m", client)
tools = [function_tool(run, name_override=name, strict_mode=False) for name in names]
agent = Agent("agent", model=model, tools=tools)
asyncio.run(Runner.run(agent, "Hello") if mode == "plain" else streamed())
