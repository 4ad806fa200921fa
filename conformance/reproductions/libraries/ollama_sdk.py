"""Ollama's SDK."""

from __future__ import annotations

from ..code import URL, Ask, Code, value_calls

_CALL = "call.name", "call.arguments", "for call in calls"
#: The values of the parts of a response. A plain one is its only part.
_VALUES = {
    "calls": f"[[{_CALL[0]}, {_CALL[1]}] {_CALL[2]}]",
    "text": "''.join(part.message.content or '' for part in answer)",
    "stop": "answer[-1].done_reason",
    "usage": "{'input_tokens': answer[-1].prompt_eval_count, 'output_tokens': answer[-1].eval_count}",
    **value_calls(*_CALL),
}


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    lines = [
        f'client = Client(f"{URL}")',
        'answer = list(client.chat("m", [], stream=True))' if ask.stream else 'answer = [client.chat("m", [])]',
        "calls = [call.function for part in answer for call in part.message.tool_calls or ()]",
    ]
    return Code(["ollama"], ["from ollama import Client"], lines, _VALUES)
