"""Anthropic's SDK."""

from __future__ import annotations

from ..code import MESSAGE, URL, Ask, Code


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    lines = [
        f'client = Anthropic(api_key="none", base_url=f"{URL}", max_retries=0)',
        'request = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "Hello"}]}',
    ]
    if ask.stream:
        lines += ["with client.messages.stream(**request) as stream:", "    answer = stream.get_final_message()"]
    else:
        lines += ["answer = client.messages.create(**request)"]
    return Code(["anthropic"], ["from anthropic import Anthropic"], lines, MESSAGE)
