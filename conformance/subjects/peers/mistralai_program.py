"""Mistral's SDK: chat.complete(), and the chunks of chat.stream().

The SDK is for Mistral's API and documents no other, so it is judged by responses of Mistral. It has no accumulator:
Mistral streams whole calls, so the calls of the chunks follow each other, and only texts are put together.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from program import Loopback, chat_tools, serve, usage  # type: ignore[import-not-found]  # isort: skip
from stops import stop_of  # type: ignore[import-not-found]  # isort: skip

from mistralai.client import Mistral  # type: ignore[import-not-found,unused-ignore]


@cache
def client(url: str) -> Any:
    """Return the client of an address. It sends a request once, unless it is given a retry configuration."""
    return Mistral(api_key="none", server_url=url)


def read(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the calls, text, stop reason and token counts of the first choice."""
    request = {"model": "model", "messages": [{"role": "user", "content": "Hello"}], "tools": chat_tools(ask)}
    if ask["stream"]:
        with client(server.url).chat.stream(**request) as events:
            responses = [event.data for event in events]
    else:
        responses = [client(server.url).chat.complete(**request)]
    choices = [choice for response in responses for choice in response.choices if choice.index == 0]
    messages = [choice.delta if ask["stream"] else choice.message for choice in choices]
    calls = [
        {"id": call.id, "name": call.function.name, **_arguments(call.function.arguments)}
        for message in messages
        for call in message.tool_calls or ()
    ]
    words = [str(choice.finish_reason) for choice in choices if choice.finish_reason]
    counts = next((response.usage for response in reversed(responses) if response.usage), None)
    return {
        "calls": calls,
        "text": "".join(_text(message.content) for message in messages),
        "stop": stop_of(words[-1], calls=calls) if words else "unknown",
        "complete": bool(words),
        "usage": usage(counts.prompt_tokens, counts.completion_tokens) if counts else None,
    }


def _arguments(value: Any) -> dict[str, Any]:
    return {"arguments_text": value} if isinstance(value, str) else {"arguments": value}


def _text(content: Any) -> str:
    """Return the text of a message's content: a string, a list of parts, or nothing."""
    if isinstance(content, str):
        return content
    return "".join(part.text for part in content or () if part.type == "text")


serve(
    "mistralai",
    "mistralai",
    ["stream", "text", "usage", "stop"],
    ["openai.chat"],
    read,
    providers=["mistral"],
)
