"""The official Anthropic SDK: its plain messages, and the accumulator of its streaming helper."""

from __future__ import annotations

from typing import Any

import anthropic

from toolparity.normalizer import json_codec

from .interface import SubjectExchange
from .mock_transport import ResponseTransport, http_of
from .peers.stops import stop_of


class AnthropicSDK:
    """Reads Messages. It returns all calls and runs none."""

    name = "anthropic-sdk"
    version = anthropic.__version__
    claims = frozenset(("stream", "stop", "text", "usage"))
    wires = frozenset(("anthropic.messages",))

    def __init__(self) -> None:
        http = http_of(anthropic.DefaultHttpxClient)
        self._transport = ResponseTransport(http)
        self._client = anthropic.Anthropic(
            api_key="none",
            base_url="http://subject.invalid",
            max_retries=0,
            http_client=http.Client(transport=self._transport.mock),
        )

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        """Return the calls, the text, the stop reason and the token counts of the SDK's message object."""
        self._transport.load(exchange)
        request: dict[str, Any] = {"model": "m", "messages": [], "max_tokens": 1}
        message: Any
        if exchange.stream:
            with self._client.messages.stream(**request) as stream:
                message = stream.get_final_message()
        else:
            message = self._client.messages.create(**request)
        calls = [
            {"id": block.id, "name": block.name, **_arguments(block.input)}
            for block in message.content
            if block.type == "tool_use"
        ]
        text = "".join(block.text for block in message.content if block.type == "text")
        # The message of a stream that broke has no stop reason. The SDK raises no error.
        word = message.stop_reason
        return {
            "calls": calls,
            "text": text,
            "stop": stop_of(word, calls=calls),
            "complete": word is not None,
            "usage": _counts(message.usage),
        }


def _counts(usage: Any) -> dict[str, Any]:
    """Return the token counts. The SDK's input tokens do not include those that a cache reads or writes."""
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    return {
        "input_tokens": usage.input_tokens + (read or 0) + (written or 0),
        "output_tokens": usage.output_tokens,
        "cached_input_tokens": read,
        "cache_write_tokens": written,
        "reasoning_tokens": getattr(usage.output_tokens_details, "thinking_tokens", None),
    }


def _arguments(input: Any) -> dict[str, Any]:
    """Return the SDK's parsed input. A string is a JSON value, not argument text, so it is encoded again."""
    return {"arguments_text": json_codec.text(input)} if isinstance(input, str) else {"arguments": input}
