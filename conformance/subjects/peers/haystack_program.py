"""Haystack: its chat generators for OpenAI and Anthropic, plain and with a streaming callback."""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import Any

from program import Loopback, ended, functions, serve, usage, value_call  # type: ignore[import-not-found]  # isort: skip
from scope import asks_approval, custom_tools, legacy_call, several_choices  # type: ignore[import-not-found]  # isort: skip

from haystack.components.generators.chat import (  # type: ignore[import-not-found,unused-ignore]
    OpenAIChatGenerator,
    OpenAIResponsesChatGenerator,
)
from haystack.dataclasses import ChatMessage  # type: ignore[import-not-found,unused-ignore]
from haystack.tools import Tool  # type: ignore[import-not-found,unused-ignore]
from haystack_integrations.components.generators.anthropic import (  # type: ignore[import-not-found,unused-ignore]
    AnthropicChatGenerator,
)


class Skipped(logging.Handler):
    """Counts the warnings about calls that are left out because their arguments are cut or not JSON, as documented."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count a line of the log."""
        self.count += "tool call will be skipped" in record.getMessage()


SKIPPED = Skipped()
logging.getLogger().addHandler(SKIPPED)


@cache
def generator(wire: str, url: str) -> Any:
    """Return the generator of a wire. The address of Anthropic's is in the environment, which its client reads."""
    if wire == "anthropic.messages":
        os.environ["ANTHROPIC_BASE_URL"] = url
        return AnthropicChatGenerator(model="model", max_retries=0, ignore_tools_thinking_messages=False)
    make = OpenAIChatGenerator if wire == "openai.chat" else OpenAIResponsesChatGenerator
    return make(model="model", api_base_url=f"{url}/v1", max_retries=0)


def read(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the calls of every reply, and the text, stop reason and token counts of the first one."""
    if ask["stream"] and several_choices(ask):
        return {"unsupported": "it refuses to stream several choices"}
    if legacy_call(ask):
        return {"unsupported": "its requests have tools, and not the deprecated functions"}
    if custom_tools(ask):
        return {"unsupported": "its tools are functions: it documents that custom tools are not supported"}
    if ask["wire"] == "openai.responses" and asks_approval(ask):
        return {"unsupported": "the suite declares functions to it, which ask for no approval"}
    options: dict[str, Any] = {"streaming_callback": lambda chunk: None} if ask["stream"] else {}
    if ask["stream"] and ask["wire"] == "openai.chat":
        options["generation_kwargs"] = {"stream_options": {"include_usage": True}}
    named = {tool.name: Tool(*tool, function=lambda **_: "") for tool in functions(ask)}  # it refuses a name twice
    messages = [ChatMessage.from_user("Hello")]
    SKIPPED.count = 0
    replies = generator(ask["wire"], server.url).run(messages, tools=list(named.values()), **options)["replies"]
    meta = replies[0].meta
    if SKIPPED.count and meta.get("finish_reason"):  # of a stream that broke, calls may be missing
        return {"unsupported": "it documents that it skips such a call, and names it in a warning"}
    calls = [
        value_call((call.extra or {}).get("call_id", call.id), call.tool_name, call.arguments)
        for reply in replies
        for call in reply.tool_calls
    ]
    word = meta["status"] if meta.get("status") in ("failed", "cancelled") else meta.get("finish_reason")
    return {
        "calls": calls,
        "text": replies[0].text or "",
        "usage": figures(meta.get("usage")),
        **ended(word, calls=replies[0].tool_calls),
    }


def figures(stated: Any) -> dict[str, Any] | None:
    """Return the token counts. The library converts Anthropic's to the words of Chat Completions, except for caches."""
    if not stated:
        return None
    into, out = ("input", "output") if "input_tokens" in stated else ("prompt", "completion")
    more, less = (stated.get(f"{word}_tokens_details") or {} for word in (into, out))
    counts: dict[str, Any] = usage(
        stated.get(f"{into}_tokens"),
        stated.get(f"{out}_tokens"),
        more.get("cached_tokens", stated.get("cache_read_input_tokens")),
        less.get("reasoning_tokens"),
        more.get("cache_write_tokens", stated.get("cache_creation_input_tokens")),
    )
    return counts


serve(
    "haystack",
    "haystack-ai",
    ["stream", "text", "stop", "usage"],
    ["openai.chat", "openai.responses", "anthropic.messages"],
    read,
    providers=["openai", "anthropic"],
    stop_words="openai.chat",
)
