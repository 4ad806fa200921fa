"""Reading of a response of `anthropic.messages`."""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from toolparity.normalizer import json_codec

from ...subjects import SubjectExchange
from . import (
    Irregular,
    Json,
    WireBlock,
    WireChoice,
    WireResponse,
    call,
    count,
    opaque,
    parsed_arguments,
    reasoning,
    response_values,
    server_call,
    server_result,
    text_block,
    wire_error,
    without,
)

_TOOLS = {"bash_code_execution": "code_execution", "text_editor_code_execution": "code_execution"}
_TOOLS |= {"tool_search_tool_regex": "tool_search", "tool_search_tool_bm25": "tool_search"}
#: Types of blocks that hold the result of a server tool -> the canonical tool, if the type does not name it.
_RESULTS = {"container_upload": "code_execution", "mcp_tool_listing": "mcp", "fallback": "fallback"}
_RESULTS |= {f"{name}_tool_result": tool for name, tool in _TOOLS.items()}
_RESULTS |= {f"{name}_tool_result": name for name in ("web_search", "web_fetch", "code_execution", "tool_search")}
_RESULTS |= {"advisor_tool_result": "advisor", "mcp_tool_result": "mcp"}
_CUT = ("max_tokens", "model_context_window_exceeded")
#: Members of a streamed block that its deltas extend: type of the delta -> (member of the delta, member of the block).
_GROWN = {"text_delta": ("text", "text"), "thinking_delta": ("thinking", "thinking")}
_GROWN |= {"input_json_delta": ("partial_json", "streamed_input"), "signature_delta": ("signature", "signature")}


def response(exchange: SubjectExchange) -> WireResponse:
    """Read the response. Raises Irregular."""
    values = response_values(exchange)
    if not exchange.stream or exchange.status >= 400:
        message, failure = values[0], values[0] if "error" in values[0] else None
        ended = True
        texts = _input_texts(exchange.body) if failure is None else []
    else:
        message, failure, ended = assembled(values)
        texts = [block.get("streamed_input") for block in message.get("content", [])]
    if failure is not None and "content" not in message:
        return WireResponse(None, None, [], None, wire_error(failure, exchange.status), {}, failure)
    stop, content = message.get("stop_reason"), message["content"]
    last = len(content) - 1 if stop in _CUT or not ended else -1
    blocks = [
        _block(block, texts[index], index == last) for index, block in enumerate(content) if isinstance(block, dict)
    ]
    error = None if failure is None else wire_error(failure, None)
    kept = without(message, "id", "type", "role", "model", "content", "stop_reason", "usage")
    choice = WireChoice(0, blocks, stop)
    return WireResponse(
        message.get("id"), message.get("model"), [choice], _usage(message.get("usage")), error, kept, values
    )


def reply(exchange: SubjectExchange) -> list[Json]:
    """Return what the model said, as it must go back. Raises Irregular."""
    values, stream = response_values(exchange), exchange.stream
    message = assembled(values)[0] if stream else values[0]
    blocks = []
    for block in message.get("content") or []:
        if block.get("type") == "thinking" and not block.get("signature"):
            raise Irregular("thinking without a signature, which the provider refuses")
        blocks.append({key: member for key, member in block.items() if key != "streamed_input"})
        if written := block.get("streamed_input"):
            blocks[-1]["input"], status = parsed_arguments(written)
            if status != "complete":
                raise Irregular("arguments that are not an object")
    return blocks


def assembled(events: list[Json]) -> tuple[Json, Json | None, bool]:
    """Return the message of a stream, the event that reports an error, and whether its last block ended."""
    message: Json = {}
    failure: Json | None = None
    open_blocks: dict[int, Json] = {}
    for event in events:
        kind = event.get("type")
        if kind == "message_start":
            if message:
                raise Irregular("two messages in one stream")
            message = copy.deepcopy(event["message"])
        elif kind == "content_block_start":
            if event.get("index") != len(message["content"]):
                raise Irregular("a block has an unusual index")
            open_blocks[event["index"]] = block = {"streamed_input": None, **copy.deepcopy(event["content_block"])}
            message["content"].append(block)
        elif kind == "content_block_delta":
            if event.get("index") not in open_blocks:
                raise Irregular("a delta without its block")
            _grow(open_blocks[event["index"]], event["delta"])
        elif kind == "content_block_stop":
            open_blocks.pop(event.get("index", -1), None)
        elif kind == "message_delta":
            message.update(without(event["delta"]))
            message.update(without(event, "type", "delta", "usage", "index"))
            message["usage"] = {**(message.get("usage") or {}), **without(event.get("usage") or {})}
        elif kind == "error":
            failure = event
        elif kind not in ("ping", "message_stop"):
            raise Irregular(f"an event of type {kind}")
    if failure is None and not message:
        raise Irregular("the stream has no message")
    return message, failure, not open_blocks


def _grow(block: Json, delta: Json) -> None:
    kind = delta.get("type")
    if kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or []), delta["citation"]]
    elif kind in _GROWN:
        source, member = _GROWN[kind]
        block[member] = (block.get(member) or "") + delta[source]
    else:
        raise Irregular(f"a delta of type {kind}")


class _InputOf(msgspec.Struct):
    input: msgspec.Raw = msgspec.Raw(b"")


class _Inputs(msgspec.Struct):
    content: list[_InputOf] = []


def _input_texts(body: bytes) -> list[Any]:
    """Return the exact text of the input of each block of a plain message."""
    try:
        return [bytes(block.input).decode() for block in json_codec.decoder(_Inputs)(body).content]
    except (msgspec.DecodeError, UnicodeError) as error:
        raise Irregular(str(error)) from None


def _block(block: Json, streamed: str | None, cut: bool) -> WireBlock:
    """Return a block. ``streamed``: the exact text of its input, if it has one beside the block."""
    kind = block.get("type", "")
    raw = without(block, "streamed_input")
    source = without(raw, "type")
    text = streamed or (json_codec.text(block["input"]) if "input" in block else "")
    if kind == "text":
        return text_block(block.get("text") or "", block.get("citations") or [], without(source, "text", "citations"))
    if kind == "thinking":
        rest = without(source, "thinking", "signature")
        return reasoning(block["thinking"], rest, signature=block.get("signature"), redacted=False)
    if kind == "redacted_thinking":
        return reasoning("", without(source, "data"), encrypted=block["data"], redacted=True)
    if kind == "tool_use":
        rest = without(source, "id", "name", "input", "caller")
        return call(block.get("id"), block.get("name") or "", text, rest, cut=cut, caller=block.get("caller"))
    if kind in ("server_tool_use", "mcp_tool_use"):
        name: str = block["name"]
        tool = "mcp" if kind == "mcp_tool_use" else _TOOLS.get(name, name)
        return server_call(block["id"], tool, name, text, None, without(source, "id", "name", "input"))
    if kind in _RESULTS:
        content = block.get("content")
        inner = content.get("type") if isinstance(content, dict) else None
        failed = block.get("is_error") is True or str(inner).endswith("_error")
        return server_result(block.get("tool_use_id") or "", _RESULTS[kind], raw, {}, failed=failed)
    if kind == "compaction":
        raise Irregular("a summary of older messages")
    return opaque(kind, raw, {})


def _usage(figures: Json | None) -> Json | None:
    if not figures:
        return None
    input = count(figures, "input_tokens")
    read, written = count(figures, "cache_read_input_tokens"), count(figures, "cache_creation_input_tokens")
    return {
        "input_tokens": None if input is None else input + (read or 0) + (written or 0),
        "output_tokens": count(figures, "output_tokens"),
        "reasoning_tokens": count(figures.get("output_tokens_details"), "thinking_tokens"),
        "cached_input_tokens": read,
        "cache_write_tokens": written,
        "raw": figures,
    }
