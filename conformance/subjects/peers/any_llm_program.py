"""any-llm: its completion() and responses(), plain and streamed.

A caller of a stream gets OpenAI's chunks, and accumulates them by index as OpenAI documents. xAI is read through gRPC
only, because any-llm uses xAI's own SDK.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from program import (  # type: ignore[import-not-found]  # isort: skip
    Loopback,
    chat_stop,
    chat_tools,
    ended,
    figures_of,
    functions,
    last_response,
    response_answer,
    serve,
)
from grpc_program import address  # type: ignore[import-not-found]  # isort: skip

import any_llm  # type: ignore[import-not-found,unused-ignore]


def read(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the calls, text, stop reason and token counts of its objects."""
    if ask["provider"] == "xai" and ask["wire"] != "xai.grpc":
        return {"unsupported": "any-llm reads xAI through xAI's own SDK, which uses gRPC"}
    if ask["wire"] == "openai.responses":
        return responses(ask, server)
    given: Any = any_llm.completion(
        model="model",
        provider=ask["provider"],
        messages=[{"role": "user", "content": "Hello"}],
        tools=chat_tools(ask),
        api_key="none",
        stream=ask["stream"],
        **connection(ask["wire"], server),
    )
    return accumulated(given) if ask["stream"] else whole(given)


def connection(wire: str, server: Loopback) -> dict[str, Any]:
    """Return the arguments that point a provider's client at the local server."""
    if wire == "xai.grpc":
        return {"client_args": {"api_host": address(server), "use_insecure_channel": True}}
    base = server.url if wire == "anthropic.messages" else f"{server.url}/v1"
    return {"api_base": base, "client_args": {"max_retries": 0}}


def whole(given: Any) -> dict[str, Any]:
    """Return the content of a plain completion."""
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
    return {
        "calls": calls,
        "text": text or "",
        "usage": figures_of(given.usage, "prompt completion"),
        **chat_stop(given.choices),
    }


def accumulated(chunks: Iterable[Any]) -> dict[str, Any]:
    """Return the content of the chunks: text is concatenated, and calls are assembled by their index."""
    calls: dict[tuple[int, Any], dict[str, Any]] = {}
    text, refusal, word, told = "", "", None, None
    for chunk in chunks:
        told = chunk.usage or told
        for choice in chunk.choices:
            delta = choice.delta
            if choice.index == 0:
                text += delta.content or ""
                refusal += getattr(delta, "refusal", None) or ""
                word = choice.finish_reason or word
            for part in delta.tool_calls or ():
                call = calls.setdefault((choice.index, part.index), {"id": None, "name": "", "arguments_text": ""})
                _add(call, part.id, part.function or getattr(part, "custom", None))
            if (legacy := getattr(delta, "function_call", None)) is not None:
                _add(calls.setdefault((choice.index, None), {"name": "", "arguments_text": ""}), None, legacy)
    made = list(calls.values())
    first = [call for (choice, _), call in calls.items() if choice == 0]
    stop = ended(word, calls=first, refusal=refusal)
    return {"calls": made, "text": text, "usage": figures_of(told, "prompt completion"), **stop}


def _add(call: dict[str, Any], id: str | None, body: Any) -> None:
    """Add a fragment to a call."""
    if id:
        call["id"] = id
    if body is not None:
        call["name"] += getattr(body, "name", None) or ""
        call["arguments_text"] += getattr(body, "arguments", None) or ""


def responses(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the same for Responses."""
    given: Any = any_llm.responses(
        model="model",
        provider="openai",
        input_data="Hello",
        tools=[{"type": "function", **tool._asdict()} for tool in functions(ask)],
        api_key="none",
        stream=ask["stream"],
        **connection(ask["wire"], server),
    )
    told: dict[str, Any] = response_answer(last_response(given) if ask["stream"] else given, ask)
    return told


serve(
    "any-llm",
    "any-llm-sdk",
    ["stream", "text", "stop", "usage"],
    ["openai.chat", "openai.responses", "anthropic.messages", "xai.grpc"],
    read,
    providers=["openai", "anthropic", "xai"],
    stop_words="openai.chat",
)
