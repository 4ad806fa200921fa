"""OpenAI's SDK."""

from __future__ import annotations

from ..code import CHAT, CHAT_GATHER, RESPONSE, URL, Ask, Code

_CLIENT = f'client = OpenAI(api_key="none", base_url=f"{URL}/v1", max_retries=0)'
_ENDS = '("response.completed", "response.incomplete", "response.failed")'


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    imports = ["from openai import OpenAI"]
    if ask.wire == "openai.responses":
        plain = ['answer = client.responses.create(model="m", input="Hello")']
        stream = [
            'with client.responses.stream(model="m", input="Hello") as stream:',
            f"    answer = [event.response for event in stream if event.type in {_ENDS}][-1]",
        ]
        return Code(["openai"], imports, [_CLIENT, *(stream if ask.stream else plain)], RESPONSE)
    if not ask.stream:
        lines = [_CLIENT, 'answer = client.chat.completions.create(model="m", messages=[])']
        return Code(["openai"], imports, lines, CHAT, gather=CHAT_GATHER)
    imports.append("from openai.lib.streaming.chat import ChatCompletionStreamState")
    lines = [
        _CLIENT,
        "state = ChatCompletionStreamState()",
        'for chunk in client.chat.completions.create(model="m", messages=[], stream=True):',
        "    state.handle_chunk(chunk)",
        "answer = state.current_completion_snapshot",
    ]
    return Code(["openai"], imports, lines, CHAT, gather=CHAT_GATHER)
