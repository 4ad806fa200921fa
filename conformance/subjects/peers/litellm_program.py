"""LiteLLM: its completion() and responses(), and its builder for streamed chunks."""

from __future__ import annotations

from typing import Any

from program import (  # type: ignore[import-not-found]  # isort: skip
    Loopback,
    chat_stop,
    chat_tools,
    figures_of,
    functions,
    last_response,
    response_answer,
    serve,
)

import litellm  # type: ignore[import-not-found,unused-ignore]

litellm.suppress_debug_info = True
litellm.telemetry = False

#: Models that the library knows: it does not stream Responses from others.
_MODELS = {"openai": "openai/gpt-5-mini", "anthropic": "anthropic/claude-haiku-4-5", "xai": "xai/grok-4.20"}
#: The members of a message's `provider_specific_fields` with results of calls that the provider ran.
_RESULTS = ("tool_results", "web_search_results")


def read(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the calls, text, stop reason and token counts of its objects."""
    if ask["wire"] == "openai.responses":
        return responses(ask, server)
    base = server.url if ask["wire"] == "anthropic.messages" else f"{server.url}/v1"
    messages = [{"role": "user", "content": "Hello"}]
    response: Any = litellm.completion(
        model=_MODELS[ask["provider"]],
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
        response = litellm.stream_chunk_builder(list(response), messages=messages)
        if response is None:
            raise RuntimeError("stream_chunk_builder() returned None")
    calls = [call for choice in response.choices for call in calls_of(choice.message)]
    text = response.choices[0].message.content if response.choices else ""
    counts = figures_of(getattr(response, "usage", None), "prompt completion")
    return {"calls": calls, "text": text or "", "usage": counts, **native_stop(response.choices)}


def calls_of(message: Any) -> list[dict[str, Any]]:
    """Return the calls of a message, without those whose result is beside them: the provider ran these."""
    ran = ran_by_provider(message)
    calls = []
    for call in message.tool_calls or ():
        body = call.custom if call.type == "custom" else call.function
        text = body.input if call.type == "custom" else body.arguments
        if call.id not in ran:
            calls.append({"id": call.id, "name": body.name or "", "arguments_text": text})
    legacy = getattr(message, "function_call", None)
    if legacy is not None:
        calls.append({"name": legacy.name or "", "arguments_text": legacy.arguments})
    return calls


def ran_by_provider(message: Any) -> set[str]:
    """Return the ids of the calls whose results are in the message's `provider_specific_fields`."""
    fields = getattr(message, "provider_specific_fields", None) or {}
    results = (result for member in _RESULTS for result in fields.get(member) or () if isinstance(result, dict))
    return {result["tool_use_id"] for result in results if result.get("tool_use_id")}


def native_stop(choices: Any) -> dict[str, Any]:
    """Return the stop reason: the provider's word, which is beside LiteLLM's if the two differ."""
    refusal, calls = None, []
    if choices:
        fields = getattr(choices[0], "provider_specific_fields", None) or {}
        if native := fields.get("native_finish_reason"):
            choices[0].finish_reason = native
        calls = calls_of(choices[0].message)
        refusal = (getattr(choices[0].message, "provider_specific_fields", None) or {}).get("refusal")
    answer: dict[str, Any] = chat_stop(choices, calls, refusal)
    return answer


def responses(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the same for Responses."""
    response: Any = litellm.responses(
        model=_MODELS[ask["provider"]],
        input="Hello",
        tools=[{"type": "function", **tool._asdict()} for tool in functions(ask)],
        api_base=f"{server.url}/v1",
        api_key="none",
        num_retries=0,
        max_retries=0,
        stream=ask["stream"],
    )
    answer: dict[str, Any] = response_answer(last_response(response) if ask["stream"] else response, ask)
    return answer


serve(
    "litellm",
    "litellm",
    ["stream", "text", "stop", "usage"],
    ["openai.chat", "openai.responses", "anthropic.messages"],
    read,
    providers=["openai", "anthropic", "xai"],
    stop_words="openai.chat",
)
