"""Cohere's SDK."""

from __future__ import annotations

from ..code import URL, Ask, Code, text_calls

_CALL = "call.function.name", "call.function.arguments", "for call in answer.message.tool_calls or ()"
_PLAIN = {
    "calls": f"[[{_CALL[0]}, {_CALL[1]}] {_CALL[2]}]",
    "text": "''.join(part.text for part in answer.message.content or () if part.type == 'text')",
    "stop": "answer.finish_reason",
    "usage": "answer.usage and answer.usage.tokens.model_dump()",
    **text_calls(*_CALL),
}
#: The same of the events of a stream, which the SDK does not accumulate.
_STREAMED = {
    "calls": "list(calls.values())",
    "text": "text",
    "stop": "ended and ended.finish_reason",
    "usage": "ended and ended.usage and ended.usage.tokens.model_dump()",
    **text_calls("name", "arguments", "for name, arguments in calls.values()"),
}


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    lines = [f'client = ClientV2("none", base_url=f"{URL}", max_retries=0)']
    imports = ["from cohere import ClientV2"]
    if not ask.stream:
        return Code(["cohere"], imports, [*lines, 'answer = client.chat(model="m", messages=[])'], _PLAIN)
    lines += [
        'calls, text, ended = {}, "", None',
        'for event in client.chat_stream(model="m", messages=[]):',
        '    said = getattr(getattr(event, "delta", None), "message", None)',
        '    if event.type == "tool-call-start": calls[event.index] = [said.tool_calls.function.name, ""]',
        '    if event.type == "tool-call-delta": calls[event.index][1] += said.tool_calls.function.arguments or ""',
        '    if event.type == "content-delta": text += said.content.text or ""',
        '    if event.type == "message-end": ended = event.delta',
    ]
    return Code(["cohere"], imports, lines, _STREAMED)
