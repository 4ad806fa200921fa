"""Prints what LiteLLM returns for one response body."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import litellm
import loopback as given
import reading

model = {"openai": "openai/gpt-5-mini", "anthropic": "anthropic/claude-haiku-4-5", "xai": "xai/grok-4.20"}
arguments = {"model": model.get(given.provider), "api_key": "none", "num_retries": 0, "max_retries": 0}
arguments["api_base"] = given.url if given.provider == "anthropic" else f"{given.url}/v1"


def chat():
    messages = [{"role": "user", "content": "Hello"}]
    options = {"stream": True, "stream_options": {"include_usage": True}} if given.stream else {}
    answer = litellm.completion(messages=messages, tools=given.chat_tools, **arguments, **options)
    if given.stream:
        answer = litellm.stream_chunk_builder(list(answer), messages=messages)
    return reading.completion(answer)


def responses():
    answer = litellm.responses(input="Hello", tools=given.response_tools, stream=given.stream, **arguments)
    return reading.response(reading.last(answer) if given.stream else answer)


given.show(responses if given.wire == "openai.responses" else chat)
