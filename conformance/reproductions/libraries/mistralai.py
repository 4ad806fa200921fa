"""Mistral's SDK. A stream is printed as its chunks."""

from __future__ import annotations

from ..code import URL, Ask, Code, text_calls

_VALUES = {
    "calls": "[choice.model_dump() for response in answer for choice in response.choices]",
    "text": "[choice.model_dump() for response in answer for choice in response.choices]",
    "stop": "[choice.finish_reason for response in answer for choice in response.choices]",
    "usage": "[response.usage.model_dump() for response in answer if response.usage]",
    **text_calls("name", "arguments", "for name, arguments in gathered.values()"),
}
_GATHER = [
    "choices = [choice for response in answer for choice in response.choices]",
    'messages = [getattr(choice, "delta", None) or choice.message for choice in choices]',
    "gathered = {}",
    "for call in [call for message in messages for call in message.tool_calls or []]:",
    '    name, arguments = gathered.get(call.index, ("", ""))',
    "    gathered[call.index] = name + call.function.name, arguments + call.function.arguments",
]


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    lines = [
        f'client = Mistral(api_key="none", server_url=f"{URL}")',
        'request = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}',
        "answer = [event.data for event in client.chat.stream(**request)]"
        if ask.stream
        else "answer = [client.chat.complete(**request)]",
    ]
    return Code(["mistralai"], ["from mistralai.client import Mistral"], lines, _VALUES, gather=_GATHER)
