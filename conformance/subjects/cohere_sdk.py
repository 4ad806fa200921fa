"""The official Cohere SDK: its plain responses and its events, which it does not accumulate."""

from __future__ import annotations

from typing import Any

import cohere
import httpx

from .interface import SubjectExchange
from .mock_transport import ResponseTransport, http_of
from .peers.stops import stop_of


class CohereSDK:
    """Reads Chat responses of version 2. It returns all calls and runs none."""

    name = "cohere-sdk"
    version = cohere.__version__
    claims = frozenset(("stream", "stop", "text", "usage"))
    wires = frozenset(("cohere.chat",))

    def __init__(self) -> None:
        http = http_of(httpx.Client)
        self._transport = ResponseTransport(http)
        self._client = cohere.ClientV2(
            "none",
            base_url="http://subject.invalid",
            max_retries=0,
            httpx_client=http.Client(transport=self._transport.mock),
        )

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        """Return the calls, the text, the stop reason and the token counts of the SDK's objects."""
        if b'"generation_id"' in exchange.body:
            return {"unsupported": "a response of version 1, which the SDK's client of version 2 does not read"}
        self._transport.load(exchange)
        answer = _Answer()
        if exchange.stream:
            for event in self._client.chat_stream(model="m", messages=[]):
                answer.add(event)
        else:
            answer.read(self._client.chat(model="m", messages=[]))
        # A stream that broke has no finish reason. The SDK raises no error.
        return {
            "calls": answer.calls,
            "text": answer.text,
            "stop": stop_of(answer.stop, calls=answer.calls),
            "complete": answer.stop is not None and answer.error is None,
            "usage": _counts(answer.usage),
        }


class _Answer:
    """What the SDK's objects hold. ``error``: the error in the last event of a stream."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.text = ""
        self.stop: str | None = None
        self.usage: Any = None
        self.error: str | None = None

    def read(self, response: Any) -> None:
        """Read a plain response."""
        message = response.message
        self.text = "".join(part.text for part in message.content or () if getattr(part, "type", "") == "text")
        for call in message.tool_calls or ():
            self._begin(call)
        self.stop, self.usage = response.finish_reason, response.usage

    def add(self, event: Any) -> None:
        """Read an event of a stream."""
        message: Any = getattr(getattr(event, "delta", None), "message", None)
        match event.type:
            case "content-start" | "content-delta" if message.content is not None:
                self.text += message.content.text or ""
            case "tool-call-start":
                self._begin(message.tool_calls)
            case "tool-call-delta":
                index = len(self.calls) - 1 if event.index is None else event.index
                if index >= len(self.calls):
                    self.calls.append({"id": None, "name": "", "arguments_text": ""})
                self.calls[index]["arguments_text"] += message.tool_calls.function.arguments or ""
            case "message-end":
                self.stop, self.usage, self.error = event.delta.finish_reason, event.delta.usage, event.delta.error

    def _begin(self, call: Any) -> None:
        function = call.function
        self.calls.append({"id": call.id, "name": function.name, "arguments_text": function.arguments or ""})


def _counts(usage: Any) -> dict[str, Any] | None:
    tokens = usage and (usage.tokens or usage.billed_units)
    if tokens is None:
        return None
    counts = {
        "input_tokens": tokens.input_tokens,
        "output_tokens": tokens.output_tokens,
        "reasoning_tokens": getattr(tokens, "reasoning_tokens", None),
        "cached_input_tokens": usage.cached_tokens,
    }
    return {name: None if value is None else int(value) for name, value in counts.items()}
