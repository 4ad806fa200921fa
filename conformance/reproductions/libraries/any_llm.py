"""any-llm. A stream is printed as its chunks, which a caller adds up by index."""

from __future__ import annotations

from ..code import CHAT, CHAT_GATHER, RESPONSE, URL, Ask, Code, text_calls

_CHUNKS = {
    "calls": "[choice.model_dump(exclude_none=True) for chunk in answer for choice in chunk.choices]",
    "text": "[choice.delta.content for chunk in answer for choice in chunk.choices]",
    "string": "''.join(choice.delta.content or '' for chunk in answer for choice in chunk.choices)",
    "stop": "[choice.finish_reason for chunk in answer for choice in chunk.choices]",
    "usage": "[chunk.usage.model_dump() for chunk in answer if chunk.usage]",
    **text_calls("name", "arguments", "for name, arguments in gathered.values()"),
}
_GATHER = [
    "gathered, deltas = {}, [choice.delta for chunk in answer for choice in chunk.choices]",
    "for part in [part for delta in deltas for part in delta.tool_calls or []]:",
    '    name, arguments = gathered.get(part.index, ("", ""))',
    "    function = part.function",
    '    gathered[part.index] = name + (function.name or ""), arguments + (function.arguments or "")',
]
_ENDS = '("response.completed", "response.incomplete", "response.failed")'


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    grpc = ask.wire == "xai.grpc"
    if grpc:
        connection = '"client_args": {"api_host": f"127.0.0.1:{port}", "use_insecure_channel": True}'
    else:
        path = "" if ask.provider == "anthropic" else "/v1"
        connection = f'"client_args": {{"max_retries": 0}}, "api_base": f"{URL}{path}"'
    options = [
        f'options = {{"model": "m", "provider": "{ask.provider}", "api_key": "none"}}',
        f"options |= {{{connection}}}",
    ]
    package = [f"any-llm-sdk[{ask.provider}]"]
    server = "grpc" if grpc else "http"
    if ask.wire == "openai.responses":
        lines = options
        if ask.stream:
            lines += [
                'events = any_llm.responses(input_data="Hello", stream=True, **options)',
                f"answer = [event.response for event in events if event.type in {_ENDS}][-1]",
            ]
        else:
            lines += ['answer = any_llm.responses(input_data="Hello", **options)']
        return Code(package, ["import any_llm"], lines, RESPONSE)
    lines = [*options, 'messages = [{"role": "user", "content": "Hello"}]']
    if ask.stream:
        lines += ["answer = list(any_llm.completion(messages=messages, stream=True, **options))"]
    else:
        lines += ["answer = any_llm.completion(messages=messages, **options)"]
    values, gather = (_CHUNKS, _GATHER) if ask.stream else (CHAT, CHAT_GATHER)
    return Code(package, ["import any_llm"], lines, values, server, gather)
