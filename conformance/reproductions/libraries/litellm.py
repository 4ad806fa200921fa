"""LiteLLM."""

from __future__ import annotations

from ..code import CHAT, CHAT_GATHER, RESPONSE, URL, Ask, Code

_MODELS = {"openai": "openai/gpt-5-mini", "anthropic": "anthropic/claude-haiku-4-5", "xai": "xai/grok-4.20"}
_ENDS = '("response.completed", "response.incomplete", "response.failed")'


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    address = f'f"{URL}{"" if ask.provider == "anthropic" else "/v1"}"'
    model = _MODELS.get(ask.provider, _MODELS["openai"])
    options = [
        f'options = {{"model": "{model}", "api_key": "none", "max_retries": 0}}',
        f'options |= {{"api_base": {address}}}',
    ]
    if ask.wire == "openai.responses":
        plain = ['answer = litellm.responses(input="Hello", **options)']
        stream = [
            'events = litellm.responses(input="Hello", stream=True, **options)',
            f"answer = [event.response for event in events if event.type in {_ENDS}][-1]",
        ]
        lines = [*options, *(stream if ask.stream else plain)]
        return Code(["litellm"], ["import litellm"], lines, RESPONSE)
    lines = [*options, 'messages = [{"role": "user", "content": "Hello"}]']
    if ask.stream:
        lines += [
            'options |= {"stream": True, "stream_options": {"include_usage": True}}',
            "chunks = list(litellm.completion(messages=messages, **options))",
            "answer = litellm.stream_chunk_builder(chunks, messages=messages)",
        ]
    else:
        lines += ["answer = litellm.completion(messages=messages, **options)"]
    return Code(["litellm"], ["import litellm"], lines, CHAT, gather=CHAT_GATHER)
