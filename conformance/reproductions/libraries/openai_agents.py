"""The models of the OpenAI Agents SDK."""

from __future__ import annotations

from ..code import Ask, Code, text_calls

ADDRESSES = {"openai": "https://api.openai.com/v1", "xai": "https://api.x.ai/v1"}
MODELS = {"openai.chat": "OpenAIChatCompletionsModel", "openai.responses": "OpenAIResponsesModel"}
_VALUES = {
    "calls": "[item.model_dump(exclude_none=True) for item in answer.output]",
    "text": "[item.model_dump(exclude_none=True) for item in answer.output]",
    "answer": "answer",
    "string": "''.join(part.text for item in answer.output if item.type == 'message' for part in item.content)",
    "usage": "answer.usage",
    **text_calls("item.name", "item.arguments", "for item in answer.output if item.type == 'function_call'"),
}
_ENDS = '("response.completed", "response.incomplete", "response.failed")'


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    name = MODELS[ask.wire]
    imports = [
        "import asyncio",
        f"from agents import {name}, ModelSettings, ModelTracing",
        "from openai import AsyncOpenAI",
    ]
    url = ADDRESSES[ask.provider]
    lines = [
        f'client = AsyncOpenAI(api_key="none", base_url="{url}", http_client=http)',
        'prompt = (None, "Hello", ModelSettings(include_usage=True), [], None, [], ModelTracing.DISABLED)',
        'ids = dict.fromkeys(["previous_response_id", "conversation_id", "prompt"])',
        f'model = {name}("m", client)',
        "async def ask():",
    ]
    if ask.stream:
        lines += [
            "    events = [event async for event in model.stream_response(*prompt, **ids)]",
            f"    ends = {_ENDS}",
            "    return [event.response for event in events if event.type in ends][-1]",
        ]
    else:
        lines += ["    return await model.get_response(*prompt, **ids)"]
    lines += ["answer = asyncio.run(ask())"]
    return Code(["openai-agents"], imports, lines, _VALUES, server="transport")
