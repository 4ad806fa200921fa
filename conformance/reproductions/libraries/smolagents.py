"""The OpenAI model of smolagents."""

from __future__ import annotations

from ..code import URL, Ask, Code, text_calls

_VALUES = {
    "calls": "[[call.function.name, call.function.arguments] for call in answer.tool_calls or []]",
    "text": "answer.content",
    "answer": "answer",
    "usage": "answer.token_usage and vars(answer.token_usage)",
    **text_calls("call.function.name", "call.function.arguments", "for call in answer.tool_calls or []"),
}


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    imports = ["from smolagents import OpenAIModel"]
    lines = [
        'options = {"api_key": "none", "client_kwargs": {"max_retries": 0}, "retry": False}',
        f'model = OpenAIModel("m", api_base=f"{URL}/v1", **options)',
        'messages = [{"role": "user", "content": "Hello"}]',
    ]
    if ask.stream:
        imports.append("from smolagents.models import agglomerate_stream_deltas")
        lines += ["answer = agglomerate_stream_deltas(list(model.generate_stream(messages)))"]
    else:
        lines += ["answer = model.generate(messages)"]
    return Code(["smolagents[openai]"], imports, lines, _VALUES)
