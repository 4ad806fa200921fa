"""Reading of a response of `xai.grpc`."""

from __future__ import annotations

from typing import Any

import msgspec
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from xai_sdk.proto import chat_pb2

from ...subjects import SubjectExchange
from .. import json_values
from . import (
    Irregular,
    Json,
    WireBlock,
    WireChoice,
    WireResponse,
    call,
    reasoning,
    server_call,
    server_result,
    text_block,
    wire_error,
)

#: Type of a server call -> canonical tool.
_SERVER = {
    "TOOL_CALL_TYPE_WEB_SEARCH_TOOL": "web_search",
    "TOOL_CALL_TYPE_X_SEARCH_TOOL": "x_search",
    "TOOL_CALL_TYPE_CODE_EXECUTION_TOOL": "code_execution",
    "TOOL_CALL_TYPE_COLLECTIONS_SEARCH_TOOL": "collections_search",
    "TOOL_CALL_TYPE_MCP_TOOL": "mcp",
}
CUT = ("REASON_MAX_LEN", "REASON_MAX_CONTEXT", "REASON_TIME_LIMIT")


def response(exchange: SubjectExchange) -> WireResponse:
    """Read the response. Raises Irregular."""
    if exchange.status >= 400:
        status = next(json_values(msgspec.structs.replace(exchange, stream=False)), None)
        if status is None:
            raise Irregular("the status of the call is not JSON")
        return WireResponse(None, None, [], None, wire_error(status, exchange.status), {}, status)
    try:
        messages = [message_json(exchange, piece) for piece in exchange.pieces]
    except DecodeError as error:
        raise Irregular(str(error)) from None
    outputs, body = assembled(messages) if exchange.stream else (messages[0].get("outputs", []), messages[0])
    request = exchange.request if isinstance(exchange.request, dict) else {}
    if request.get("n", 1) != 1:
        raise Irregular("several choices")
    tools = request.get("tools") or []
    own = {(tool.get("function") or {}).get("name") for tool in tools if isinstance(tool, dict)}
    steps = sorted(outputs, key=lambda output: int(output.get("index", 0)))
    if not steps:
        raise Irregular("no output")
    for entry in (entry for step in steps for entry in step.get("message", {}).get("tool_calls", [])):
        if entry.get("type") in _SERVER and entry.get("function", {}).get("name") in own:
            raise Irregular("a declared function has the type of a hosted tool")
    stop = next((step["finish_reason"] for step in reversed(steps) if "finish_reason" in step), None)
    ended = "finish_reason" in steps[-1]
    blocks = _blocks(steps, cut=stop in CUT or not ended)
    kept = {key: value for key, value in body.items() if key not in ("id", "model", "outputs", "usage")}
    choice = WireChoice(0, blocks, stop, [step["logprobs"] for step in steps if "logprobs" in step])
    return WireResponse(body.get("id"), body.get("model"), [choice], _usage(exchange), None, kept, messages)


def message_json(exchange: SubjectExchange, piece: bytes) -> Json:
    message: Json = MessageToDict(_type(exchange).FromString(piece), preserving_proto_field_name=True)
    return message


def _type(exchange: SubjectExchange) -> Any:
    return chat_pb2.GetChatCompletionChunk if exchange.stream else chat_pb2.GetChatCompletionResponse


def reply(exchange: SubjectExchange) -> list[Json]:
    """Return what the model said, as it must go back. Raises Irregular."""
    messages = [message_json(exchange, piece) for piece in exchange.pieces]
    steps = assembled(messages)[0] if exchange.stream else messages[0].get("outputs", [])
    if any(step.get("finish_reason") in CUT for step in steps):
        raise Irregular("the status of a call that was cut")
    said = []
    for step in steps:
        message = dict(step.get("message", {}))
        message["content"] = [{"text": message["content"]}] if message.get("content") else []
        calls = message.get("tool_calls", [])
        message["tool_calls"] = [{"status": "TOOL_CALL_STATUS_COMPLETED", **call} for call in calls]
        said.append(message)
    return said


def assembled(chunks: list[Json]) -> tuple[list[Json], Json]:
    """Return the outputs of a stream with their messages, and the other members."""
    outputs: dict[int, Json] = {}
    body: Json = {}
    for chunk in chunks:
        for key, value in chunk.items():
            if key == "citations":
                body[key] = [*body.get(key, []), *value]
            elif key not in ("outputs",):
                body[key] = value
        for part in chunk.get("outputs", []):
            index = int(part.get("index", 0))
            output = outputs.setdefault(index, {"index": index, "message": {}})
            if "logprobs" in part:
                output.setdefault("logprobs", []).append(part["logprobs"])
            if "finish_reason" in part:
                output["finish_reason"] = part["finish_reason"]
            for key, value in part.get("delta", {}).items():
                _grow(output["message"], key, value)
    return list(outputs.values()), body


def _grow(message: Json, key: str, value: Any) -> None:
    if key == "role":
        message[key] = value
    elif key == "tool_calls":
        for entry in value:
            known = {known.get("id") for known in message.get(key, [])}
            if not entry.get("id") or entry["id"] in known:
                raise Irregular("a call in several pieces")
            message.setdefault(key, []).append(entry)
    else:
        message[key] = message[key] + value if key in message else value


def _blocks(steps: list[Json], *, cut: bool) -> list[WireBlock]:
    blocks: list[WireBlock] = []
    servers: dict[str, WireBlock] = {}
    several = len(steps) > 1
    for step in steps:
        message = step.get("message", {})
        source = {"index": int(step.get("index", 0))} if several else {}
        thoughts, encrypted = message.get("reasoning_content", ""), message.get("encrypted_content")
        is_result = message.get("role") == "ROLE_TOOL"
        if is_result:
            blocks += _results(message, servers, source)
            continue
        if thoughts or encrypted:
            blocks.append(reasoning(thoughts, source, encrypted=encrypted))
        if message.get("content"):
            blocks.append(text_block(message["content"], message.get("citations", []), source))
        calls = message.get("tool_calls", [])
        for entry in calls:
            last = cut and step is steps[-1] and entry is calls[-1]
            block = _call(entry, source, cut=last)
            blocks.append(block)
            if block.members["type"] == "server_tool_call":
                if entry["id"] in servers:
                    raise Irregular("a server call is announced twice")
                servers[entry["id"]] = block
    return blocks


def _call(entry: Json, source: Json, *, cut: bool) -> WireBlock:
    kind = entry.get("type", "TOOL_CALL_TYPE_INVALID")
    function = entry.get("function", {})
    name, text = function.get("name", ""), function.get("arguments", "")
    if kind == "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL":
        if entry.get("status", "").endswith(("FAILED", "INCOMPLETE")):
            raise Irregular("a call that failed")
        return call(entry.get("id"), name, text, source, cut=cut)
    if kind not in _SERVER:
        raise Irregular(f"a call of type {kind}")
    block = server_call(entry["id"], _SERVER[kind], name, text, _status(entry), {**source})
    _add_error(block, entry)
    return block


def _add_error(block: WireBlock, entry: Json) -> None:
    """Add the error of a server call, which arrives with its result, to the members that ``extra`` must hold."""
    if entry.get("error_message"):
        block.source["error_message"] = entry["error_message"]


def _status(entry: Json) -> str:
    return str(entry.get("status", "TOOL_CALL_STATUS_IN_PROGRESS")).removeprefix("TOOL_CALL_STATUS_").lower()


def _results(message: Json, servers: dict[str, WireBlock], source: Json) -> list[WireBlock]:
    """Return the results of server calls, and take the status of each call from its result."""
    names = {"content": "content", "encrypted_content": "encrypted_content", "citations": "citations"}
    raw = {"content": "", **{key: message[key] for key in names if message.get(key)}}
    blocks = []
    for entry in message.get("tool_calls", []):
        announced = servers.get(entry.get("id", ""))
        if announced is None:
            raise Irregular("a result without its call")
        announced.members["status"] = _status(entry)
        _add_error(announced, entry)
        failed = _status(entry) == "failed"
        blocks.append(server_result(entry["id"], announced.members["tool"], raw, source, failed=failed))
    return blocks


def _usage(exchange: SubjectExchange) -> Json | None:
    messages = [_type(exchange).FromString(piece).usage for piece in exchange.pieces]
    counts = [usage for usage in messages if usage.ListFields()]
    if not counts:
        return None
    last = counts[-1]
    output, reasoning_tokens = last.completion_tokens, last.reasoning_tokens
    separate = reasoning_tokens and last.total_tokens == last.prompt_tokens + output + reasoning_tokens
    return {
        "input_tokens": last.prompt_tokens,
        "output_tokens": output + reasoning_tokens if separate else output,
        "reasoning_tokens": reasoning_tokens,
        "cached_input_tokens": last.cached_prompt_text_tokens,
        "cache_write_tokens": None,
        "raw": MessageToDict(last, preserving_proto_field_name=True),
    }
