"""The official OpenAI SDK: its plain responses, and the accumulators of its streaming helpers."""

from __future__ import annotations

import warnings
from typing import Any

import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

from .interface import SubjectExchange
from .mock_transport import ResponseTransport, http_of
from .peers.items import CLIENT_ITEMS
from .peers.stops import stop_of


class OpenAISDK:
    """Reads Chat Completions and Responses. It returns all calls and runs none."""

    name = "openai-sdk"
    version = openai.__version__
    claims = frozenset(("stream", "stop", "text", "usage"))
    wires = frozenset(("openai.chat", "openai.responses"))
    providers = frozenset(("openai", "xai"))

    def __init__(self) -> None:
        http = http_of(openai.DefaultHttpxClient)
        self._transport = ResponseTransport(http)
        self._client = openai.OpenAI(
            api_key="none",
            base_url="http://subject.invalid/v1",
            max_retries=0,
            http_client=http.Client(transport=self._transport.mock),
        )

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        """Return the calls, text, stop reason and token counts of the SDK's objects."""
        self._transport.load(exchange)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # for dialects, whose types are not OpenAI's
            return self._chat(exchange) if exchange.wire == "openai.chat" else self._responses(exchange)

    def _chat(self, exchange: SubjectExchange) -> dict[str, Any]:
        request: dict[str, Any] = {"model": "m", "messages": []}
        completion: Any
        if exchange.stream:
            state = ChatCompletionStreamState()
            for chunk in self._client.chat.completions.create(**request, stream=True):
                state.handle_chunk(chunk)
            completion = state.current_completion_snapshot
        else:
            completion = self._client.chat.completions.create(**request)
        calls = []
        for choice in completion.choices:
            for call in choice.message.tool_calls or ():
                held = call.model_dump()  # a streamed custom call is a plain dict in the SDK's snapshot
                body, key = (held["custom"], "input") if call.type == "custom" else (held["function"], "arguments")
                calls.append({"id": call.id, "name": body.get("name") or "", "arguments_text": body.get(key) or ""})
            if choice.message.function_call is not None:
                legacy = choice.message.function_call
                calls.append({"name": legacy.name, "arguments_text": legacy.arguments})
        first = completion.choices[0] if completion.choices else None
        # The first choice of a stream that broke has no finish reason. The SDK raises no error.
        word = first and first.finish_reason
        return {
            "calls": calls,
            "text": (first and first.message.content) or "",
            "stop": stop_of(
                word,
                calls=first and (first.message.tool_calls or first.message.function_call),
                refusal=first and first.message.refusal,
            ),
            "complete": True if word else None,
            "usage": _token_counts(completion.usage, "prompt", "completion", exchange.provider),
        }

    def _responses(self, exchange: SubjectExchange) -> dict[str, Any]:
        request: dict[str, Any] = {"model": "m", "input": ""}
        response: Any = None
        if exchange.stream:
            with self._client.responses.stream(**request) as stream:
                for event in stream:
                    if event.type in ("response.completed", "response.incomplete", "response.failed"):
                        response = event.response
            if response is None:
                raise RuntimeError("the stream ended without its terminal event")
        else:
            response = self._client.responses.create(**request)
        items = [{**item.model_dump(exclude_unset=True), "type": item.type} for item in response.output]
        # If the output of a call is among the items, the provider ran the call, and the caller sees both.
        answered = {held.get("call_id") for held in items if held["type"].endswith("_output")} - {None}
        # xAI's own searches are custom calls on the wire. The caller sees that it did not declare their names.
        tools = (exchange.request or {}).get("tools") or ()
        declared = {tool.get("name") for tool in tools} if exchange.provider == "xai" else None
        calls = []
        for held in items:
            searched = held["type"] == "custom_tool_call" and declared is not None and held.get("name") not in declared
            if held["type"] in CLIENT_ITEMS and held.get("call_id") not in answered and not searched:
                name, member = CLIENT_ITEMS[held["type"]]
                calls.append(
                    {"id": held.get("call_id"), "name": held.get("name") or name, "arguments": held.get(member)}
                )
        parts = (part for held in items if held["type"] == "message" for part in held.get("content") or ())
        refusal = any(part.get("type") == "refusal" for part in parts)
        approval = any(held["type"] == "mcp_approval_request" for held in items)
        reason = response.incomplete_details and response.incomplete_details.reason
        return {
            "calls": calls,
            "text": response.output_text,
            "stop": stop_of(reason or response.status, calls=calls, refusal=refusal, approval=approval),
            "complete": response.status in ("completed", "incomplete"),
            "usage": _token_counts(response.usage, "input", "output", exchange.provider),
        }


def _token_counts(usage: Any, into: str, out: str, provider: str) -> dict[str, Any] | None:
    """Return the token counts of an SDK's usage object. ``into``, ``out``: its words for input and output.

    The SDK passes on the counts of the provider. xAI documents that its completion tokens exclude reasoning.
    """
    if usage is None:
        return None
    of_input, of_output = (getattr(usage, f"{word}_tokens_details", None) for word in (into, out))
    reasoning = getattr(of_output, "reasoning_tokens", None)
    apart = reasoning if provider == "xai" and out == "completion" else None
    return {
        "input_tokens": getattr(usage, f"{into}_tokens"),
        "output_tokens": getattr(usage, f"{out}_tokens") + (apart or 0),
        "cached_input_tokens": getattr(of_input, "cached_tokens", None),
        "reasoning_tokens": reasoning,
        "cache_write_tokens": getattr(of_input, "cache_write_tokens", None),
    }
