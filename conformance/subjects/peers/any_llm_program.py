"""any-llm: its completion() and responses(), plain and streamed.

A caller of a stream gets OpenAI's chunks, and accumulates them by index as OpenAI documents. Those of OpenAI itself are
passed on unchanged, so that a stream of OpenAI that does not follow this rule says nothing about any-llm. xAI is read
through gRPC only, because any-llm uses xAI's own SDK.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from program import (  # type: ignore[import-not-found]  # isort: skip
    Loopback,
    OutOfScope,
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
    response: Any = any_llm.completion(
        model="model",
        provider=ask["provider"],
        messages=[{"role": "user", "content": "Hello"}],
        tools=chat_tools(ask),
        api_key="none",
        stream=ask["stream"],
        **connection(ask["wire"], server),
    )
    return accumulated(response, passed_on=ask["wire"] == "openai.chat") if ask["stream"] else whole(response)


def connection(wire: str, server: Loopback) -> dict[str, Any]:
    """Return the arguments that point a provider's client at the local server."""
    if wire == "xai.grpc":
        return {"client_args": {"api_host": address(server), "use_insecure_channel": True}}
    base = server.url if wire == "anthropic.messages" else f"{server.url}/v1"
    return {"api_base": base, "client_args": {"max_retries": 0}}


def whole(response: Any) -> dict[str, Any]:
    """Return the content of a plain completion."""
    calls = [calls_of(choice.message) for choice in response.choices]
    text = response.choices[0].message.content if response.choices else ""
    return {
        "calls": [call for of_choice in calls for call in of_choice],
        "text": text or "",
        "usage": figures_of(response.usage, "prompt completion"),
        **chat_stop(response.choices, calls and calls[0]),
    }


def calls_of(message: Any) -> list[dict[str, Any]]:
    """Return the calls of a message."""
    calls = []
    for call in message.tool_calls or ():
        body = call.custom if call.type == "custom" else call.function
        text = body.input if call.type == "custom" else body.arguments
        calls.append({"id": call.id, "name": body.name or "", "arguments_text": text})
    legacy = getattr(message, "function_call", None)
    if legacy is not None:
        calls.append({"name": legacy.name or "", "arguments_text": legacy.arguments})
    return calls


def accumulated(chunks: Iterable[Any], *, passed_on: bool) -> dict[str, Any]:
    """Return the content of the chunks: text is concatenated, and calls are assembled by their index.

    ``passed_on``: the chunks are those of the provider. Raises OutOfScope if they cannot be assembled by index.
    """
    calls: dict[tuple[int, Any], dict[str, Any]] = {}
    text, refusal, word, counts, irregular = "", "", None, None, False
    for chunk in chunks:
        counts = chunk.usage or counts
        for choice in chunk.choices:
            delta = choice.delta
            if choice.index == 0:
                text += delta.content or ""
                refusal += getattr(delta, "refusal", None) or ""
                word = choice.finish_reason or word
            for part in delta.tool_calls or ():
                call = calls.setdefault((choice.index, part.index), {"id": None, "name": "", "arguments_text": ""})
                body = part.function or getattr(part, "custom", None)
                irregular = irregular or not _continues(call, part.id, body)
                _add(call, part.id, body)
            if (legacy := getattr(delta, "function_call", None)) is not None:
                call = calls.setdefault((choice.index, None), {"id": None, "name": "", "arguments_text": ""})
                irregular = irregular or not _continues(call, None, legacy)
                _add(call, None, legacy)
    made = list(calls.values())
    ends = word is not None  # the calls of a stream that broke may still lack their names
    irregular = irregular or (ends and any(not call["name"] or (call["id"] and made.count(call) > 1) for call in made))
    if passed_on and irregular:
        raise OutOfScope("any-llm passes on OpenAI's chunks: these cannot be assembled by index as OpenAI documents")
    first = [call for (choice, _), call in calls.items() if choice == 0]
    stop = ended(word, calls=first, refusal=refusal)
    return {"calls": made, "text": text, "usage": figures_of(counts, "prompt completion"), **stop}


def _continues(call: dict[str, Any], id: str | None, body: Any) -> bool:
    """Return whether a fragment continues a call by OpenAI's rule: the first one has the id and the name, alone.

    Arguments continue only if they are not complete, and a fragment does not repeat them.
    """
    text, more = call["arguments_text"], getattr(body, "arguments", None) or ""
    if text and more and (_is_json(text) or (len(text) > 1 and more.startswith(text))):
        return False
    named = bool(call["name"]) and bool(getattr(body, "name", None))
    return not named and not (id and call["id"] and id != call["id"])


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_int=float)
    except (ValueError, RecursionError):
        return False
    return True


def _add(call: dict[str, Any], id: str | None, body: Any) -> None:
    """Add a fragment to a call."""
    if id:
        call["id"] = id
    if body is not None:
        call["name"] += getattr(body, "name", None) or ""
        call["arguments_text"] += getattr(body, "arguments", None) or ""


def responses(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the same for Responses."""
    response: Any = any_llm.responses(
        model="model",
        provider="openai",
        input_data="Hello",
        tools=[{"type": "function", **tool._asdict()} for tool in functions(ask)],
        api_key="none",
        stream=ask["stream"],
        **connection(ask["wire"], server),
    )
    answer: dict[str, Any] = response_answer(last_response(response) if ask["stream"] else response, ask)
    return answer


serve(
    "any-llm",
    "any-llm-sdk",
    ["stream", "text", "stop", "usage"],
    ["openai.chat", "openai.responses", "anthropic.messages", "xai.grpc"],
    read,
    providers=["openai", "anthropic", "xai"],
    stop_words="openai.chat",
)
