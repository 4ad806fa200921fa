"""The official AWS SDK for Python on Bedrock's Converse: its plain responses, and the events of its streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import boto3
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from .interface import SubjectExchange
from .peers.stops import stop_of

#: The header of the events of InvokeModelWithResponseStream.
_CHUNK = b":event-type\x07\x00\x05chunk"


class Boto3SDK:
    """Reads Converse and ConverseStream, and not InvokeModel. It returns all calls and runs none."""

    name = "boto3"
    version = boto3.__version__
    claims = frozenset(("stream", "stop", "text", "usage"))
    wires = frozenset(("bedrock.converse",))

    def __init__(self) -> None:
        self._transport = _Transport()
        self._client = boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url="http://subject.invalid",
            aws_access_key_id="none",
            aws_secret_access_key="none",
            config=Config(retries={"total_max_attempts": 1}),
        )
        self._client.meta.events.register("before-send.bedrock-runtime", self._transport)

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        """Return the calls, the text, the stop reason and the token counts of the SDK's objects."""
        if _CHUNK in exchange.body or not (exchange.stream or exchange.status >= 400 or b'"metrics"' in exchange.body):
            return {"unsupported": "a response of InvokeModel has the JSON of its model, which boto3 does not read"}
        self._transport.load(exchange)
        request: dict[str, Any] = {"modelId": "m", "messages": []}
        if exchange.stream:
            return _streamed(self._client.converse_stream(**request)["stream"])
        response = self._client.converse(**request)
        content = response["output"]["message"]["content"]
        calls = [
            {"id": call.get("toolUseId"), "name": call["name"], "arguments": call["input"]}
            for call in (block["toolUse"] for block in content if "toolUse" in block)
            if not _is_of_server(call)
        ]
        return {
            "calls": calls,
            "text": "".join(map(_text, content)),
            "stop": stop_of(response["stopReason"], calls=calls),
            "complete": True,
            "usage": _counts(response.get("usage")),
        }


class _Transport:
    """Answers every request with the bytes of an exchange, before the SDK opens a connection."""

    def __init__(self) -> None:
        self._exchange: SubjectExchange | None = None

    def load(self, exchange: SubjectExchange) -> None:
        self._exchange = exchange

    def __call__(self, request: Any, **event: Any) -> Any:
        assert self._exchange is not None
        return AWSResponse(request.url, self._exchange.status, {}, _Body(self._exchange.pieces))


class _Body:
    """The part of an HTTP response that the SDK reads."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def stream(self, *size: int) -> Iterator[bytes]:
        return iter(self._pieces)

    def close(self) -> None:
        """Do nothing: there is no connection."""


def _streamed(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Collect the events: the SDK has no accumulator."""
    calls: dict[int, dict[str, Any]] = {}
    servers: set[int] = set()
    texts: list[str] = []
    word, usage = None, None
    for event in events:
        if start := event.get("contentBlockStart"):
            call = start["start"].get("toolUse")
            if call is not None and not _is_of_server(call):
                members = {"id": call.get("toolUseId"), "name": call["name"], "arguments_text": ""}
                calls[start["contentBlockIndex"]] = members
            elif call is not None:
                servers.add(start["contentBlockIndex"])
        elif block := event.get("contentBlockDelta"):
            delta = block["delta"]
            texts.append(delta.get("text", ""))
            if "toolUse" in delta and (index := block["contentBlockIndex"]) not in servers:
                nameless = {"id": None, "name": "", "arguments_text": ""}
                calls.setdefault(index, nameless)["arguments_text"] += delta["toolUse"]["input"]
        elif stop := event.get("messageStop"):
            word = stop["stopReason"]
        elif metadata := event.get("metadata"):
            usage = metadata.get("usage")
    # A stream that broke has no stop reason. The SDK raises no error.
    found = list(calls.values())
    return {
        "calls": found,
        "text": "".join(texts),
        "stop": stop_of(word, calls=found),
        "complete": word is not None,
        "usage": _counts(usage),
    }


def _is_of_server(call: dict[str, Any]) -> bool:
    return call.get("type") == "server_tool_use"


def _text(block: dict[str, Any]) -> str:
    """Return the text of a block, which has citations in parts."""
    parts = [block, *block.get("citationsContent", {}).get("content", [])]
    return "".join(part.get("text", "") for part in parts)


def _counts(usage: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the token counts. The SDK's input tokens do not include those that a cache reads or writes."""
    if not usage:
        return None
    read, written = usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens")
    return {
        "input_tokens": usage["inputTokens"] + (read or 0) + (written or 0),
        "output_tokens": usage["outputTokens"],
        "cached_input_tokens": read,
        "cache_write_tokens": written,
    }
