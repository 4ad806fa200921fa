"""The official google-genai SDK on the Interactions API: its interactions, and the events of its streams."""

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

_BEGUN = ("in_progress", "queued")


class GoogleInteractionsSDK:
    """Reads interactions. It returns all calls and runs none."""

    name = "google-genai-interactions"
    version = version("google-genai")
    claims = frozenset(("stream", "stop", "text", "usage"))
    wires = frozenset(("google.interactions",))

    def __init__(self) -> None:
        self._transport = ResponseTransport(httpx)
        options = HttpOptions(
            base_url="http://subject.invalid",
            httpx_client=httpx.Client(transport=self._transport.mock),
            retry_options=HttpRetryOptions(attempts=1),
        )
        self._client = Client(api_key="none", http_options=options, vertexai=False)

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        """Return the calls, the text, the status and the token counts of the SDK's objects."""
        if re.search(rb'"outputs"|"event_type": ?"content\.', b"".join(exchange.pieces)):
            return {"unsupported": "it reads the steps of the API since June 2026"}
        self._transport.load(exchange)
        create: Any = self._client.interactions.create  # its overloads depend on the value of `stream`
        if exchange.stream:
            with create(model="m", input="", stream=True, automatic_continuation=False) as events:
                return _streamed(events)
        interaction = create(model="m", input="", automatic_continuation=False)
        _check(*interaction.steps or [])
        answered = {step.call_id for step in interaction.steps or [] if step.type == "function_result"}
        calls = [
            _call(step) for step in interaction.steps or [] if step.type == "function_call" and step.id not in answered
        ]
        return {
            "calls": calls,
            "text": _text(interaction.steps or []),
            "stop": stop_of(interaction.status, calls=calls),
            "complete": interaction.status not in _BEGUN,
            "usage": _counts(interaction.usage),
        }


def _streamed(events: Iterable[Any]) -> dict[str, Any]:
    """Collect the events as the documentation shows it: the SDK has no accumulator."""
    calls: dict[int, dict[str, Any]] = {}
    texts: list[str] = []
    repeated: list[Any] = []
    status, usage = None, None
    for event in events:
        if event.event_type == "step.start":
            _check(event.step)
            texts.append(_text([event.step]))
        if event.event_type == "step.start" and event.step.type == "function_call":
            calls[event.index] = _call(event.step)
        elif event.event_type == "step.delta":
            if event.delta.type == "arguments_delta" and event.index in calls:
                call = calls[event.index]
                call["arguments_text"] = call.get("arguments_text", "") + (event.delta.arguments or "")
                call.pop("arguments", None)
            elif event.delta.type == "text":
                texts.append(event.delta.text)
        elif event.event_type == "interaction.status_update":
            status, usage = event.status, event.usage
        elif event.event_type == "interaction.completed":
            status, usage = event.interaction.status, event.interaction.usage
            repeated = event.interaction.steps or []
        elif event.event_type == "error":
            raise RuntimeError(event.error.message if event.error is not None else "the stream failed")
    found = list(calls.values())
    seen = {call["id"] for call in found}
    found += [_call(step) for step in repeated if step.type == "function_call" and step.id not in seen]
    return {
        "calls": found,
        "text": "".join(texts) or _text(repeated),
        "stop": stop_of(None if status in _BEGUN else status, calls=found),
        "complete": status is not None and status not in _BEGUN,
        "usage": _counts(usage),
    }


def _check(*steps: Any) -> None:
    """Raise RuntimeError if an output failed."""
    for step in steps:
        if step.type == "model_output" and step.error is not None:
            raise RuntimeError(step.error.message)


def _call(step: Any) -> dict[str, Any]:
    return {"id": step.id, "name": step.name, "arguments": step.arguments}


def _text(steps: Iterable[Any]) -> str:
    contents = [content for step in steps if step.type == "model_output" for content in step.content or []]
    return "".join(content.text for content in contents if content.type == "text")


def _counts(usage: Any) -> dict[str, Any] | None:
    """Return the token counts. The SDK's figures have thoughts and tool use apart."""
    if usage is None:
        return None
    input, output = usage.total_input_tokens, usage.total_output_tokens
    return {
        "input_tokens": None if input is None else input + (usage.total_tool_use_tokens or 0),
        "output_tokens": None if output is None else output + (usage.total_thought_tokens or 0),
        "cached_input_tokens": usage.total_cached_tokens,
        "reasoning_tokens": usage.total_thought_tokens,
    }
