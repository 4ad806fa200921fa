"""AWS's SDK for Python."""

from __future__ import annotations

from ..code import URL, Ask, Code, text_calls, value_calls

_IMPORTS = ("import boto3",)
_EACH = "for call in (block['toolUse'] for block in content if 'toolUse' in block)"
_PLAIN = {
    "calls": f"[[call['name'], call['input']] {_EACH}]",
    "text": "''.join(block.get('text', '') for block in content)",
    "stop": "answer['stopReason']",
    "usage": "answer.get('usage')",
    **value_calls("call['name']", "call['input']", _EACH),
}
#: The same of the events of a stream, which the SDK does not accumulate.
_STREAMED = {
    "calls": "list(calls.values())",
    "text": "text",
    "stop": "ended.get('stopReason')",
    "usage": "ended.get('usage')",
    **text_calls("name", "arguments", "for name, arguments in calls.values()"),
}


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    lines = [
        'keys = {"region_name": "us-east-1", "aws_access_key_id": "none", "aws_secret_access_key": "none"}',
        f'client = boto3.client("bedrock-runtime", endpoint_url=f"{URL}", **keys)',
    ]
    if not ask.stream:
        lines += [
            'answer = client.converse(modelId="m", messages=[])',
            'content = answer["output"]["message"]["content"]',
        ]
        return Code(["boto3"], _IMPORTS, lines, _PLAIN)
    lines += [
        'calls, text, ended = {}, "", {}',
        'for event in client.converse_stream(modelId="m", messages=[])["stream"]:',
        "    ((kind, value),) = event.items()",
        '    index, start, delta = (value.get(name, {}) for name in ("contentBlockIndex", "start", "delta"))',
        '    if "toolUse" in start: calls[index] = [start["toolUse"]["name"], ""]',
        '    if "toolUse" in delta: calls[index][1] += delta["toolUse"]["input"]',
        '    text += delta.get("text", "")',
        '    if kind in ("messageStop", "metadata"): ended.update(value)',
    ]
    return Code(["boto3"], _IMPORTS, lines, _STREAMED)
