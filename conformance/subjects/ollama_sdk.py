"""The official Ollama SDK: its plain responses, and those of a stream. It has no accumulator."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import httpx
import ollama

from .interface import SubjectExchange
from .mock_transport import ResponseTransport
from .peers.stops import stop_of


class OllamaSDK:
    """Reads Ollama's chat API. It returns all calls, without their ids, which its types do not have, and runs none."""

    name = "ollama-sdk"
    version = version("ollama")
    claims = frozenset(("stream", "stop", "text", "usage"))
    wires = frozenset(("ollama.chat",))

    def __init__(self) -> None:
        self._transport = ResponseTransport(httpx)
        self._client: Any = ollama.Client("http://subject.invalid", transport=self._transport.mock)

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        """Return the calls, text, stop reason and token counts of the SDK's objects."""
        self._transport.load(exchange)
        chat: Any = self._client.chat  # its overloads depend on the value of `stream`
        received: Any = chat("m", [], stream=exchange.stream)
        responses: Iterable[Any] = received if exchange.stream else [received]
        calls: list[dict[str, Any]] = []
        text = ""
        last: Any = None
        for last in responses:
            message = last.message
            text += message.content or ""
            for call in message.tool_calls or ():
                calls.append({"name": call.function.name, "arguments": dict(call.function.arguments)})
        # A stream that broke has no event that is the last one. The SDK raises no error.
        word = last and last.done_reason
        counts = last and {"input_tokens": last.prompt_eval_count, "output_tokens": last.eval_count}
        return {
            "calls": calls,
            "text": text,
            "stop": stop_of(word, calls=calls),
            "complete": bool(last and last.done),
            "usage": counts,
        }
