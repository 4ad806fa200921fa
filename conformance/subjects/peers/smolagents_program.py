"""smolagents: OpenAIModel, plain with generate(), streamed with generate_stream() and agglomerate_stream_deltas()."""

from __future__ import annotations

from functools import cache
from inspect import signature
from typing import Any

from program import Loopback, chat_tools, serve  # type: ignore[import-not-found]  # isort: skip
from scope import custom_tools, legacy_call, several_choices  # type: ignore[import-not-found]  # isort: skip

from smolagents import OpenAIModel  # type: ignore[import-not-found,unused-ignore]
from smolagents.models import (  # type: ignore[import-not-found,unused-ignore]
    ApiModel,
    ChatMessage,
    MessageRole,
    agglomerate_stream_deltas,
)

#: Versions before 1.23 have no retries, and send this option to the provider.
_NO_RETRY = {"retry": False} if "retry" in signature(ApiModel).parameters else {}


@cache
def model(url: str) -> Any:
    """Return the model object of an address."""
    client = {"max_retries": 0}
    return OpenAIModel("model", api_base=f"{url}/v1", api_key="none", client_kwargs=client, **_NO_RETRY)


def read(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the calls, text and token counts of its message.

    A message has no stop reason. Its member ``raw`` is the SDK's object, and not the library's reading of it.
    """
    if several_choices(ask):
        return {"unsupported": "its message is one choice: generate() and generate_stream() document no n"}
    if legacy_call(ask):
        return {"unsupported": "its requests have tools, and not the deprecated functions"}
    if custom_tools(ask):
        return {"unsupported": "its tools are functions: it documents no free-text tools"}
    messages = [ChatMessage(MessageRole.USER, [{"type": "text", "text": "Hello"}])]
    options = {"tools": chat_tools(ask)}
    if ask["stream"]:
        message = agglomerate_stream_deltas(list(model(server.url).generate_stream(messages, **options)))
    else:
        message = model(server.url).generate(messages, **options)
    calls = [
        {"id": call.id, "name": call.function.name or "", "arguments_text": call.function.arguments}
        for call in message.tool_calls or ()
    ]
    figures = message.token_usage  # it has no other counts
    counts = figures and {"input_tokens": figures.input_tokens, "output_tokens": figures.output_tokens}
    return {"calls": calls, "text": message.content or "", "usage": counts}


serve("smolagents", "smolagents", ["stream", "text", "usage"], ["openai.chat"], read, providers=["openai"])
