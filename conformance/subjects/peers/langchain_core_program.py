"""LangChain: the chat models of its partner packages.

Plain responses are read with generate(), which returns every choice; streamed ones as the sum of the message chunks.
"""

from __future__ import annotations

from base64 import b64decode
from functools import cache
from typing import Any

from program import Loopback, chat_tools, client_items, item_calls, serve, stop_of, usage  # type: ignore[import-not-found]  # isort: skip
from scope import several_choices  # type: ignore[import-not-found]  # isort: skip

from langchain_anthropic import ChatAnthropic  # type: ignore[import-not-found,unused-ignore]
from langchain_core.messages import HumanMessage  # type: ignore[import-not-found,unused-ignore]
from langchain_openai import ChatOpenAI  # type: ignore[import-not-found,unused-ignore]
from langchain_xai import ChatXAI  # type: ignore[import-not-found,unused-ignore]


@cache
def model(wire: str, provider: str, url: str) -> Any:
    """Return the chat model that LangChain documents for a provider and wire."""
    if wire == "anthropic.messages":
        return ChatAnthropic(model="model", api_key="none", base_url=url, max_retries=0, max_tokens=1024)
    base = f"{url}/v1"
    if provider == "xai":
        responses = wire == "openai.responses"
        return ChatXAI(model="model", api_key="none", base_url=base, max_retries=0, use_responses_api=responses)
    return ChatOpenAI(
        model="model",
        api_key="none",
        base_url=base,
        max_retries=0,
        stream_usage=True,
        use_responses_api=wire == "openai.responses",
    )


def refusal_of_choices() -> str:
    """Return the error with which the constructor refuses a stream of several choices, or ""."""
    try:
        ChatOpenAI(model="model", api_key="none", n=2, streaming=True)
    except ValueError as error:
        return " ".join(str(error).split())[:120]
    return ""


def messages(ask: dict[str, Any], server: Loopback) -> list[Any]:
    """Return the message of each choice; for a stream, the sum of its chunks."""
    asked = model(ask["wire"], ask["provider"], server.url).bind_tools(chat_tools(ask))
    if not ask["stream"]:
        (choices,) = asked.bound.generate([[HumanMessage("Hello")]], **asked.kwargs).generations
        return [choice.message for choice in choices]
    total: Any = None
    for chunk in asked.stream("Hello"):
        total = chunk if total is None else total + chunk
    if total is None:
        raise RuntimeError("the stream gave nothing")
    return [total]


def calls_of(message: Any, ask: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the calls of a message: tool calls, a legacy function_call, and calls of built-in tools in the content."""
    calls = [{"id": call["id"], "name": call["name"] or "", "arguments": call["args"]} for call in message.tool_calls]
    legacy = message.additional_kwargs.get("function_call")
    if legacy is not None:
        calls.append({"name": legacy.get("name") or "", "arguments_text": legacy.get("arguments") or ""})
    if isinstance(message.content, list):
        items = client_items((part for part in message.content if isinstance(part, dict)), ask)
        calls += item_calls(part for part in items if part.get("type") not in ("function_call", "custom_tool_call"))
    return calls


def read(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the calls of every choice, and the text, stop reason and token counts of the first one."""
    if ask["stream"] and several_choices(ask) and (reason := refusal_of_choices()):
        return {"unsupported": f"ChatOpenAI does not stream several choices: {reason}"}
    found = messages(ask, server)
    calls = [call for message in found for call in calls_of(message, ask)]
    rejected = [
        {"id": call["id"], "name": call["name"] or "", "arguments_text": call["args"] or ""}
        for message in found
        for call in message.invalid_tool_calls
    ]
    word = word_of(found[0].response_metadata)
    return {
        "calls": calls,
        "rejected": rejected,
        "text": found[0].text,
        "usage": figures(found[0].usage_metadata),
        "stop": stop(found[0], word, ask),
        "complete": None if word is None else True,
    }


def word_of(metadata: dict[str, Any]) -> Any:
    """Return the provider's word for the end, which each partner package has in another member."""
    details = metadata.get("incomplete_details") or {}
    return (
        metadata.get("finish_reason") or metadata.get("stop_reason") or details.get("reason") or metadata.get("status")
    )


def stop(message: Any, word: Any, ask: dict[str, Any]) -> str:
    """Return the stop reason of a message. A word that the response does not have was made by the library."""
    parts = [part for part in message.content if isinstance(part, dict)]
    types = {part.get("type") for part in parts}
    if str(word).encode() not in b"".join(map(b64decode, ask["pieces"])):
        return "unknown"
    calls = [*calls_of(message, ask), *message.invalid_tool_calls]
    refusal = message.additional_kwargs.get("refusal") or "refusal" in types
    reason: str = stop_of(word, calls=calls, refusal=refusal, approval="mcp_approval_request" in types)
    return reason


def figures(stated: Any) -> dict[str, Any] | None:
    """Return the token counts."""
    if not stated:
        return None
    into, out = stated.get("input_token_details") or {}, stated.get("output_token_details") or {}
    cached, written = into.get("cache_read"), into.get("cache_creation")
    counts: dict[str, Any] = usage(
        stated["input_tokens"], stated["output_tokens"], cached, out.get("reasoning"), written
    )
    return counts


serve(
    "langchain-core",
    "langchain-core",
    ["stream", "text", "stop", "usage"],
    ["openai.chat", "openai.responses", "anthropic.messages"],
    read,
    providers=["openai", "anthropic", "xai"],
)
