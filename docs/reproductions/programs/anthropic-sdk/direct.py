"""Prints what Anthropic's SDK returns for one response body."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import loopback as given
import reading
from anthropic import Anthropic

client = Anthropic(api_key="none", base_url=given.url, max_retries=0)
request = {"model": "m", "messages": [], "max_tokens": 1}


def messages():
    if given.stream:
        with client.messages.stream(**request) as stream:
            message = stream.get_final_message()
    else:
        message = client.messages.create(**request)
    calls = [
        {"id": block.id, "name": block.name, "arguments": block.input}
        for block in message.content
        if block.type == "tool_use"
    ]
    text = "".join(block.text for block in message.content if block.type == "text")
    counts = message.usage
    read, written = counts.cache_read_input_tokens, counts.cache_creation_input_tokens
    values = [counts.input_tokens + (read or 0) + (written or 0), counts.output_tokens, read, None, written]
    return {"calls": calls, "text": text, "stop": message.stop_reason, "usage": reading.named(values)}


given.show(messages)
