"""any-llm: its completion() and responses(), plain.

Streams are not claimed, because callers must accumulate the chunks themselves. It uses separate clients for other
providers (gRPC for xAI), so it is not tested with their dialects.
"""

from __future__ import annotations

from typing import Any

from program import Loopback, chat_tools, figures_of, functions, item_calls, serve, unanswered  # type: ignore[import-not-found]  # isort: skip

import any_llm  # type: ignore[import-not-found,unused-ignore]


def read(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the calls, text and token counts of its objects."""
    if ask["wire"] == "openai.responses":
        return responses(ask, server)
    claude = ask["wire"] == "anthropic.messages"
    given: Any = any_llm.completion(
        model="model",
        provider="anthropic" if claude else "openai",
        messages=[{"role": "user", "content": "Hello"}],
        tools=chat_tools(ask),
        api_key="none",
        api_base=server.url if claude else f"{server.url}/v1",
        client_args={"max_retries": 0},
    )
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
    return {"calls": calls, "text": text or "", "usage": figures_of(given.usage, "prompt completion")}


def responses(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the same for Responses."""
    given: Any = any_llm.responses(
        model="model",
        provider="openai",
        input_data="Hello",
        tools=[{"type": "function", **tool._asdict()} for tool in functions(ask)],
        api_key="none",
        api_base=f"{server.url}/v1",
        client_args={"max_retries": 0},
    )
    return {
        "calls": item_calls(unanswered(given.output)),
        "text": given.output_text or "",
        "usage": figures_of(given.usage),
    }


serve(
    "any-llm",
    "any-llm-sdk",
    ["text", "usage"],
    ["openai.chat", "openai.responses", "anthropic.messages"],
    read,
    providers=["openai", "anthropic"],
)
