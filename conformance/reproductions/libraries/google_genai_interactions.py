"""Google's SDK on the Interactions API."""

from __future__ import annotations

from ..code import URL, Ask, Code, text_calls, value_calls

_EACH = "for step in steps if step.type == 'function_call'"
_USAGE = "ended.usage and ended.usage.model_dump()"
_PLAIN = {
    "calls": f"[[step.name, step.arguments] {_EACH}]",
    "text": "''.join(part.text for step in steps if step.type == 'model_output' for part in step.content or ())",
    "stop": "ended.status",
    "usage": _USAGE,
    **value_calls("step.name", "step.arguments", _EACH),
}
#: The same of the events of a stream, which the SDK does not accumulate.
_STREAMED = {
    "calls": "list(calls.values())",
    "text": "text",
    "stop": "ended and ended.status",
    "usage": f"ended and {_USAGE}",
    **text_calls("name", "arguments", "for name, arguments in calls.values()"),
}


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    imports = ["from google.genai import Client", "from google.genai.types import HttpOptions"]
    lines = [f'client = Client(api_key="none", http_options=HttpOptions(base_url=f"{URL}"))']
    if not ask.stream:
        lines += ['ended = client.interactions.create(model="m", input="")', "steps = ended.steps or []"]
        return Code(["google-genai"], imports, lines, _PLAIN)
    lines += [
        'calls, text, ended = {}, "", None',
        'for event in client.interactions.create(model="m", input="", stream=True):',
        '    kind, step, delta = event.event_type, getattr(event, "step", None), getattr(event, "delta", None)',
        '    if step and step.type == "function_call": calls[event.index] = [step.name, ""]',
        '    if delta and delta.type == "arguments_delta": calls[event.index][1] += delta.arguments or ""',
        '    if delta and delta.type == "text": text += delta.text',
        '    if kind == "interaction.completed": ended = event.interaction',
    ]
    return Code(["google-genai"], imports, lines, _STREAMED)
