"""The official xAI SDK: its client, with chat.sample() and chat.stream().

The client does more than the SDK's response object: for its telemetry it parses the arguments of all calls when a
response is complete. So a response is read through the client, as callers do.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

from xai_sdk import Client
from xai_sdk.chat import Response, user
from xai_sdk.tools import get_tool_call_type

from .interface import SubjectExchange
from .peers.stops import stop_of

#: The SDK's types of client calls. A call without a type is "invalid", which does not say whether the client runs it.
_CALLERS = ("client_side_tool", "invalid")
#: The finish reason of a response that has not ended.
_UNENDED = "REASON_INVALID"


class XAISDK:
    """Reads the messages of the Chat service. It returns all calls and runs none."""

    name = "xai-sdk"
    version = metadata.version("xai-sdk")
    claims = frozenset(("stream", "stop", "text", "usage"))
    wires = frozenset(("xai.grpc",))
    input = "base_url"

    def __init__(self) -> None:
        self._clients: dict[str, Client] = {}

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        """Return the calls that the SDK does not classify as server calls, the text, the stop reason and the usage."""
        response = self._response(exchange)
        calls = [
            {"id": call.id, "name": call.function.name, "arguments_text": call.function.arguments}
            for call in response.tool_calls
            if get_tool_call_type(call) in _CALLERS
        ]
        word = None if response.finish_reason == _UNENDED else response.finish_reason
        return {
            "calls": calls,
            "text": response.content,
            "stop": stop_of(word, calls=calls),
            "complete": word is not None,
            "usage": _counts(response.usage),
        }

    def close(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            client.close()

    def _response(self, exchange: SubjectExchange) -> Response:
        address = exchange.base_url
        if address not in self._clients:
            options: list[tuple[str, Any]] = [("grpc.enable_retries", 0)]
            self._clients[address] = Client(
                api_key="none", api_host=address, use_insecure_channel=True, channel_options=options
            )
        chat = self._clients[address].chat.create(model="m", messages=[user("Hello")])
        if not exchange.stream:
            return chat.sample()
        response = None
        for response, _ in chat.stream():  # noqa: B007 - the response grows with each chunk
            pass
        if response is None:
            raise RuntimeError("the stream was empty")
        return response


def _counts(usage: Any) -> dict[str, Any] | None:
    """Return the token counts. Reasoning is added to the output if the SDK's total shows that it is not part of it."""
    if not usage.ListFields():
        return None
    into, out, reasoning = usage.prompt_tokens, usage.completion_tokens, usage.reasoning_tokens
    return {
        "input_tokens": into,
        "output_tokens": out + (reasoning if usage.total_tokens == into + out + reasoning else 0),
        "cached_input_tokens": usage.cached_prompt_text_tokens,
        "reasoning_tokens": reasoning,
    }
