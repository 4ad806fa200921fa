"""LiteLLM: its completion() and responses(), and its builder for streamed chunks."""

from __future__ import annotations

from typing import Any

from program import Loopback, chat_tools, figures_of, functions, item_calls, serve, unanswered  # type: ignore[import-not-found]  # isort: skip

import litellm  # type: ignore[import-not-found,unused-ignore]

litellm.suppress_debug_info = True
litellm.telemetry = False

#: Models that the library knows: it does not stream Responses from others.
_MODELS = {"openai": "openai/gpt-5-mini", "anthropic": "anthropic/claude-haiku-4-5", "xai": "xai/grok-4.20"}


def read(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the calls, text and token counts of its objects."""
    if ask["wire"] == "openai.responses":
        return responses(ask, server)
    base = server.url if ask["wire"] == "anthropic.messages" else f"{server.url}/v1"
    messages = [{"role": "user", "content": "Hello"}]
    given: Any = litellm.completion(
        model=_MODELS.get(ask["provider"], _MODELS["openai"]),
        messages=messages,
        tools=chat_tools(ask),
        api_base=base,
        api_key="none",
        num_retries=0,
        max_retries=0,
        stream=ask["stream"],
        stream_options={"include_usage": True} if ask["stream"] else None,
    )
    if ask["stream"]:
        given = litellm.stream_chunk_builder(list(given), messages=messages)
    calls = []
    for choice in given.choices:
        for call in choice.message.tool_calls or ():
            body = call.custom if call.type == "custom" else call.function
            text = body.input if call.type == "custom" else body.arguments
            calls.append({"id": call.id, "name": body.name or "", "arguments_text": text})
        legacy = getattr(choice.message, "function_call", None)
        if legacy is not None:
            calls.append({"name": legacy.name or "", "arguments_text": legacy.arguments})
    text = given.choices[0].message.content if given.choices else ""
    told = figures_of(getattr(given, "usage", None), "prompt completion")
    return {"calls": calls, "text": text or "", "usage": told}


def responses(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the same for Responses."""
    given: Any = litellm.responses(
        model=_MODELS.get(ask["provider"], _MODELS["openai"]),
        input="Hello",
        tools=[{"type": "function", **tool._asdict()} for tool in functions(ask)],
        api_base=f"{server.url}/v1",
        api_key="none",
        num_retries=0,
        max_retries=0,
        stream=ask["stream"],
    )
    if ask["stream"]:
        last = None
        for event in given:
            if event.type in ("response.completed", "response.incomplete", "response.failed"):
                last = event.response
        if last is None:
            raise RuntimeError("the stream ended without its last event")
        given = last
    return {
        "calls": item_calls(unanswered(given.output)),
        "text": given.output_text or "",
        "usage": figures_of(given.usage),
    }


serve(
    "litellm",
    "litellm",
    ["stream", "text", "usage"],
    ["openai.chat", "openai.responses", "anthropic.messages"],
    read,
)
