"""Prints what the models of the OpenAI Agents SDK return for one response body."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import httpx2
import loopback as given
import reading
from agents import FunctionTool, ModelSettings, ModelTracing, OpenAIChatCompletionsModel, OpenAIResponsesModel
from openai import AsyncOpenAI

address = {"openai": "https://api.openai.com/v1", "xai": "https://api.x.ai/v1"}[given.provider]
made = OpenAIChatCompletionsModel if given.wire == "openai.chat" else OpenAIResponsesModel


class Transport(httpx2.AsyncHTTPTransport):  # the models check more if the address is OpenAI's own
    async def handle_async_request(self, request):
        request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=given.server.server_port)
        return await super().handle_async_request(request)


async def never(context, arguments):
    raise NotImplementedError


async def ask():
    http = httpx2.AsyncClient(transport=Transport())
    model = made("model", AsyncOpenAI(api_key="none", base_url=address, max_retries=0, http_client=http))
    tools = [FunctionTool(*tool.values(), on_invoke_tool=never, strict_json_schema=False) for tool in given.tools]
    told = (None, "Hello", ModelSettings(include_usage=True), tools, None, [], ModelTracing.DISABLED)
    more = {"previous_response_id": None, "conversation_id": None, "prompt": None}
    if not given.stream:
        return await model.get_response(*told, **more)
    events = [event async for event in model.stream_response(*told, **more)]
    last = reading.last(events)
    last.output = last.output or [event.item for event in events if event.type == "response.output_item.done"]
    return last


def told():
    content = reading.response(asyncio.run(ask()))
    del content["stop"]  # its model response has none
    return content


given.show(told)
