"""Google's SDK on generateContent."""

from __future__ import annotations

from ..code import URL, Ask, Code, value_calls

_EACH = "for answer in answers for call in answer.function_calls or ()"
_ENDS = "answer.candidates[0].finish_reason for answer in answers if answer.candidates"
_USAGE = "answer.usage_metadata for answer in answers if answer.usage_metadata"
_VALUES = {
    "calls": f"[[call.name, call.args] {_EACH}]",
    "text": "''.join(answer.text or '' for answer in answers)",
    "stop": f"[end.value for end in ({_ENDS}) if end][-1:]",
    "usage": f"[usage.model_dump(exclude_none=True) for usage in ({_USAGE})][-1:]",
    **value_calls("call.name", "call.args", _EACH),
}


def code(ask: Ask) -> Code:
    """Return the code that asks this library. The SDK does not accumulate the responses of a stream."""
    imports = ["from google.genai import Client", "from google.genai.types import HttpOptions"]
    lines = [f'client = Client(api_key="none", http_options=HttpOptions(base_url=f"{URL}"))']
    if ask.stream:
        lines.append('answers = list(client.models.generate_content_stream(model="m", contents=""))')
    else:
        lines.append('answers = [client.models.generate_content(model="m", contents="")]')
    return Code(["google-genai"], imports, lines, _VALUES)
