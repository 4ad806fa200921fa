"""Prints what OpenAI's SDK returns for one response body."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import loopback as given
import reading
from openai import OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState

client = OpenAI(api_key="none", base_url=f"{given.url}/v1", max_retries=0)


def chat():
    answer = client.chat.completions.create(model="m", messages=[], stream=given.stream)
    if given.stream:
        state = ChatCompletionStreamState()
        for chunk in answer:
            state.handle_chunk(chunk)
        answer = state.current_completion_snapshot
    return reading.completion(answer)


def responses():
    if not given.stream:
        return reading.response(client.responses.create(model="m", input=""))
    with client.responses.stream(model="m", input="") as stream:
        return reading.response(reading.last(stream))


given.show(responses if given.wire == "openai.responses" else chat)
