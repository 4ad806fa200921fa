"""Prints what Pydantic AI's models return for one response body."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import loopback as given
import reading
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import ToolDefinition


def model():
    if given.wire == "xai.grpc":
        from grpc_loopback import address
        from pydantic_ai.models.xai import XaiModel
        from pydantic_ai.providers.xai import XaiProvider
        from xai_sdk import AsyncClient

        grok = AsyncClient(api_key="none", api_host=address, use_insecure_channel=True)
        return XaiModel("model", provider=XaiProvider(xai_client=grok))
    if given.wire == "anthropic.messages":
        return AnthropicModel("model", provider=AnthropicProvider(base_url=given.url, api_key="none"))
    made = OpenAIChatModel if given.wire == "openai.chat" else OpenAIResponsesModel
    return made("model", provider=OpenAIProvider(base_url=f"{given.url}/v1", api_key="none"))


async def ask():
    tools = [ToolDefinition(name=t["name"], parameters_json_schema=t["parameters"]) for t in given.tools]
    told = {"model_request_parameters": ModelRequestParameters(function_tools=tools)}
    messages = [ModelRequest.user_text_prompt("Hello")]
    if not given.stream:
        return await model_request(model(), messages, **told)
    async with model_request_stream(model(), messages, **told) as stream:
        async for _ in stream:
            pass
        return stream.get()


given.show(lambda: reading.pydantic_ai(asyncio.run(ask())))
