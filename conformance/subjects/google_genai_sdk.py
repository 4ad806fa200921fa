"""The official google-genai SDK on generateContent: its responses, also those of a stream. It has no accumulator."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import httpx
from google.genai import Client
from google.genai.types import HttpOptions, HttpRetryOptions

from .interface import SubjectExchange
from .mock_transport import ResponseTransport
from .peers.stops import stop_of


class GoogleGenaiSDK:
    """Reads generateContent. It returns the calls of all candidates and runs none."""

    name = "google-genai"
    version = version("google-genai")
    claims = frozenset(("stream", "stop", "text", "usage"))
    wires = frozenset(("google.gemini",))

    def __init__(self) -> None:
        self._transport = ResponseTransport(httpx)
        options = HttpOptions(
            base_url="http://subject.invalid",
            httpx_client=httpx.Client(transport=self._transport.mock),
            retry_options=HttpRetryOptions(attempts=1),
        )
        self._client = Client(api_key="none", http_options=options, vertexai=False)

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        """Return the calls, the text, the finish reason and the token counts of the SDK's objects."""
        if why := _unsupported(exchange):
            return {"unsupported": why}
        self._transport.load(exchange)
        models: Any = self._client.models
        create = models.generate_content_stream if exchange.stream else models.generate_content
        received = create(model="m", contents="Hello")
        responses: Iterable[Any] = received if exchange.stream else [received]
        calls: list[dict[str, Any]] = []
        text, reason, usage, has_call = "", None, None, False
        for response in responses:
            for number, candidate in enumerate(response.candidates or ()):
                parts = candidate.content.parts or () if candidate.content is not None else ()
                made = [_call(part.function_call) for part in parts if part.function_call is not None]
                calls += made
                has_call = has_call or (bool(made) and number == 0)
            text += response.text or ""
            reason = _reason(response) or reason
            usage = response.usage_metadata or usage
        return {
            "calls": calls,
            "text": text,
            "stop": stop_of(reason, calls=has_call),
            "complete": reason is not None,
            "usage": _counts(usage),
        }


def _unsupported(exchange: SubjectExchange) -> str:
    """Return what the response has that the SDK does not request or assemble, or ""."""
    body = b"".join(exchange.pieces)
    if exchange.stream and body.lstrip().startswith(b"["):
        return "it requests streams with alt=sse, which are never arrays"
    if re.search(rb'"finishReason": ?[0-9]', body):
        return "it requests enumerations by name"
    return "it passes on arguments that arrive by value" if re.search(rb'"(partialArgs|willContinue)"', body) else ""


def _call(call: Any) -> dict[str, Any]:
    return {"id": call.id, "name": call.name, "arguments": call.args or {}}


def _reason(response: Any) -> str | None:
    candidate, feedback = next(iter(response.candidates or ()), None), response.prompt_feedback
    reason = feedback and feedback.block_reason if candidate is None else candidate.finish_reason
    return None if reason is None else reason.value


def _counts(usage: Any) -> dict[str, Any] | None:
    """Return the token counts. The SDK's figures have thoughts and tool use apart."""
    if usage is None:
        return None
    input, output = usage.prompt_token_count, usage.candidates_token_count
    return {
        "input_tokens": None if input is None else input + (usage.tool_use_prompt_token_count or 0),
        "output_tokens": None if output is None else output + (usage.thoughts_token_count or 0),
        "cached_input_tokens": usage.cached_content_token_count,
        "reasoning_tokens": usage.thoughts_token_count,
    }
