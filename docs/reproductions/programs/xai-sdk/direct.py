"""Prints what xAI's SDK returns for the messages of one response."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import loopback as given
import reading
from grpc_loopback import address
from xai_sdk import Client
from xai_sdk.chat import user
from xai_sdk.tools import get_tool_call_type

client = Client(api_key="none", api_host=address, use_insecure_channel=True)


def sample():
    chat = client.chat.create(model="m", messages=[user("Hello")])
    if given.stream:
        response, _ = list(chat.stream())[-1]
    else:
        response = chat.sample()
    calls = [
        {"id": call.id, "name": call.function.name, "arguments_text": call.function.arguments}
        for call in response.tool_calls
        if get_tool_call_type(call) in ("client_side_tool", "invalid")
    ]
    counts = response.usage
    values = [counts.prompt_tokens, counts.completion_tokens, counts.cached_prompt_text_tokens, counts.reasoning_tokens]
    ended = response.finish_reason != "REASON_INVALID"  # the reason of a response that has not ended
    return {
        "calls": calls,
        "text": response.content,
        "stop": response.finish_reason if ended else None,
        "complete": ended,
        "usage": reading.named([*values, None]) if counts.ListFields() else None,
    }


given.show(sample)
