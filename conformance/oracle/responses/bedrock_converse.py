"""Reading of a response of `bedrock.converse`."""

from __future__ import annotations

import base64
from typing import Any
from zlib import crc32

import msgspec

from toolparity.normalizer import json_codec

from ...subjects import SubjectExchange
from ..bedrock_converse import is_event_stream, pieces, values
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
    server_call,
    server_result,
    text_block,
    wire_error,
    without,
)

_TOOLS = {"nova_code_interpreter": "code_execution", "nova_grounding": "web_search"}
_CUT = ("max_tokens", "model_context_window_exceeded")
_STREAMED = "streamed text"


def response(exchange: SubjectExchange) -> WireResponse:
    """Read the response. Raises Irregular."""
    events = values(exchange)
    if not events:
        raise Irregular("the response has no JSON")
    if is_event_stream(exchange.body):
        if any(crc32(piece[:-4]) != int.from_bytes(piece[-4:], "big") for piece in pieces(exchange.body, stream=True)):
            raise Irregular("a message has a wrong checksum")
        body, failure, ended = assembled(events)
        texts = [_streamed(block) for block in body["content"]]
    else:
        failure = None if "output" in events[0] else events[0]
        if failure is not None:
            return WireResponse(None, None, [], None, wire_error(failure, exchange.status), {}, failure)
        body, ended = {**events[0], "content": events[0]["output"]["message"]["content"]}, True
        texts = _input_texts(exchange.body)
    stop, content = body.get("stopReason"), body["content"]
    last = len(content) - 1 if stop in _CUT or not ended else -1
    blocks = [_block(block, texts[index], index == last) for index, block in enumerate(content)]
    error = None if failure is None else wire_error(failure, None)
    kept = without(body, "output", "content", "stopReason", "usage", "role")
    choices = [WireChoice(0, blocks, stop)] if blocks or failure is None else []
    return WireResponse(None, None, choices, _usage(body.get("usage")), error, kept, events)


def reply(exchange: SubjectExchange) -> list[Json]:
    """Return what the model said, as it must go back. Raises Irregular."""
    documents = values(exchange)
    if is_event_stream(exchange.body):
        body, failure, _ = assembled(documents)
        if failure is not None:
            raise Irregular("the response failed")
        message = {"role": "assistant", "content": body["content"]}
    else:
        message = documents[0]["output"]["message"]
    for block in message["content"]:
        call = block.get("toolUse", {"toolUseId": ""})
        if "name" in call and is_event_stream(exchange.body):
            call["input"], _ = parsed_arguments(take_text(call))
        if not (isinstance(call.get("input", {}), dict) and "toolUseId" in call):
            raise Irregular("a call without an id, or arguments that are not an object")
        if call.get("type") == "tool_use":  # some models state it, and the API does not know it
            del call["type"]
    return [message]


def assembled(events: list[Json]) -> tuple[Json, Json | None, bool]:
    """Return the body of a stream, the event that reports an error, and whether its last block ended."""
    body: Json = {"content": []}
    failure: Json | None = None
    open_blocks: set[int] = set()
    for event in events:
        ((kind, members),) = event.items()
        if kind == "contentBlockStart":
            _begin(body, members.get("contentBlockIndex"), members["start"])
            open_blocks.add(members["contentBlockIndex"])
        elif kind == "contentBlockDelta":
            index = members.get("contentBlockIndex")
            if index not in open_blocks:  # texts and reasoning begin without an event
                _begin(body, index, {})
                open_blocks.add(index)
            _grow(body["content"][index], members["delta"])
        elif kind == "contentBlockStop":
            open_blocks.discard(members.get("contentBlockIndex"))
        elif kind in ("messageStart", "messageStop", "metadata"):
            body.update(members)
        elif kind.startswith("amazon-bedrock-"):
            body[kind] = members
        elif kind.endswith("Exception") or kind == "error":
            failure = {"error": {"type": kind, **members}}
        else:
            raise Irregular(f"an event of type {kind}")
    content = [_cited(block) if "citation" in block else block for block in body["content"]]
    body["content"] = [block for block in content if block != {"text": ""}]  # a block of empty pieces has no text
    return body, failure, "stopReason" in body or not open_blocks


def _cited(block: Json) -> Json:
    """Return a streamed text with citations in the form of a body."""
    content = [{"text": block["text"]}] if "text" in block else []
    return {"citationsContent": {"content": content, "citations": block["citation"]}}


def _begin(body: Json, index: Any, start: Json) -> None:
    if index != len(body["content"]):
        raise Irregular("a block has an unusual index")
    body["content"].append({kind: dict(members) for kind, members in start.items()})


def _grow(block: Json, delta: Json) -> None:
    ((kind, piece),) = delta.items()
    if block and kind not in block and not {kind, *block} <= {"text", "citation"}:
        raise Irregular(f"a delta of type {kind} in another block")
    if not block and kind in ("toolUse", "toolResult"):
        raise Irregular(f"a delta of type {kind} without the start of its block")
    if kind == "citation":
        block.setdefault(kind, []).append(piece)
    elif kind == "text":
        block[kind] = block.get(kind, "") + piece
    elif kind == "toolUse":
        block[kind][_STREAMED] = block[kind].get(_STREAMED, "") + piece["input"]
    elif kind == "toolResult":
        content = block[kind].setdefault("content", [])
        for part in piece:
            if content and {*content[-1], *part} == {"text"}:
                content[-1] = {"text": content[-1]["text"] + part["text"]}
            else:
                content.append(part)
    elif kind == "reasoningContent" and "redactedContent" in piece:
        held = base64.b64decode(block.get(kind, {}).get("redactedContent", ""))
        block[kind] = {"redactedContent": base64.b64encode(held + base64.b64decode(piece["redactedContent"])).decode()}
    elif kind == "reasoningContent":
        thought = block.setdefault(kind, {"reasoningText": {"text": ""}})["reasoningText"]
        for member, text in piece.items():
            thought[member] = thought.get(member, "") + text
    else:
        raise Irregular(f"a delta of type {kind}")


def take_text(call: Json) -> str:
    """Remove the argument text from a call of `assembled`, and return it."""
    text: str = call.pop(_STREAMED, "")
    return text


def _streamed(block: Json) -> str | None:
    call = block.get("toolUse")
    return None if call is None else take_text(call)


class _Input(msgspec.Struct):
    input: msgspec.Raw = msgspec.Raw(b"")


class _Block(msgspec.Struct):
    call: _Input | None = msgspec.field(default=None, name="toolUse")


class _Message(msgspec.Struct):
    content: list[_Block]


class _Output(msgspec.Struct):
    message: _Message


class _Body(msgspec.Struct):
    output: _Output


def _input_texts(body: bytes) -> list[str | None]:
    """Return the exact text of the input of each block of a plain response."""
    try:
        blocks = json_codec.decoder(_Body)(body).output.message.content
        return [None if block.call is None else bytes(block.call.input).decode() for block in blocks]
    except (msgspec.DecodeError, UnicodeError) as error:
        raise Irregular(str(error)) from None


def _block(block: Json, text: str | None, cut: bool) -> WireBlock:
    """Return a block. ``text``: the exact text of its input, if it is a call."""
    ((kind, members),) = block.items()
    if kind == "text":
        return text_block(members, [], {})
    if kind == "citationsContent":
        said = "".join(part["text"] for part in members.get("content") or [])
        rest = without(members, "citations", *("content",) * (len(members.get("content") or ()) < 2))
        return text_block(said, members.get("citations") or [], rest)
    if kind == "image":
        return server_result("", "image_generation", block, {}, failed="error" in members)
    if kind == "reasoningContent":
        if "redactedContent" in members:
            return reasoning("", {}, encrypted=members["redactedContent"], redacted=True)
        thought = members["reasoningText"]
        return reasoning(thought["text"], {}, signature=thought.get("signature"), redacted=False)
    if kind == "toolUse":
        name = members.get("name") or ""
        if members.get("type") == "server_tool_use":
            source = {"type": members["type"]}
            return server_call(members["toolUseId"], _TOOLS.get(name, name), name, text or "", None, source)
        rest = without(members, "toolUseId", "name", "input", *("type",) * (members.get("type") == "tool_use"))
        return call(members.get("toolUseId"), name, text or "", rest, cut=cut)
    if kind == "toolResult":
        tool = str(members.get("type", "")).removesuffix("_result")
        failed = members.get("status") == "error"
        return server_result(members.get("toolUseId") or "", _TOOLS.get(tool, tool), block, {}, failed=failed)
    return opaque(kind, json_codec.decode(json_codec.encode(block)), {})


def _usage(figures: Json | None) -> Json | None:
    if not figures:
        return None
    input = count(figures, "inputTokens")
    read = count(figures, "cacheReadInputTokens", "cacheReadInputTokenCount")
    written = count(figures, "cacheWriteInputTokens", "cacheWriteInputTokenCount")
    return {
        "input_tokens": None if input is None else input + (read or 0) + (written or 0),
        "output_tokens": count(figures, "outputTokens"),
        "reasoning_tokens": None,
        "cached_input_tokens": read,
        "cache_write_tokens": written,
        "raw": figures,
    }
