"""xAI's SDK."""

from __future__ import annotations

from ..code import Ask, Code, text_calls

_IMPORTS = ("from xai_sdk import Client", "from xai_sdk.chat import user")
_VALUES = {
    "calls": "[[call.function.name, call.function.arguments, call.type] for call in answer.tool_calls]",
    "text": "answer.content",
    "stop": "answer.finish_reason",
    "usage": "{field.name: value for field, value in answer.usage.ListFields()}",
    **text_calls("call.function.name", "call.function.arguments", "for call in answer.tool_calls"),
}


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    lines = [
        'client = Client(api_key="none", api_host=f"127.0.0.1:{port}", use_insecure_channel=True)',
        'chat = client.chat.create(model="m", messages=[user("Hello")])',
        "answer = list(chat.stream())[-1][0]" if ask.stream else "answer = chat.sample()",
    ]
    return Code(["xai-sdk"], _IMPORTS, lines, _VALUES, server="grpc")
