"""Independent readings of the history in a request: what was said, and what the next request must repeat.

The readings are of the wires in `_REPLIES`. Other wires have none, and the laws do not compare their history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec

from ..subjects import SubjectExchange
from . import Json, message_texts, oracle
from .responses import (
    Irregular,
    anthropic_messages,
    leaves,
    openai_chat,
    openai_responses,
    parsed_arguments,
    response_values,
)

#: Settings of the connection and of what a response may omit: they may differ from request to request.
TRANSPORT = frozenset(("stream", "stream_options"))


class Tool(NamedTuple):
    """A tool that a request declares. ``kind``: its type on the wire, or "". ``schema``: None for a custom tool."""

    name: str
    kind: str
    description: str
    schema: Any
    strict: bool


def conversation(body: Json) -> tuple[str, list[Any]]:
    """Return the name of the member that holds the conversation, and its items. A text is one item of the user."""
    key = "input" if "input" in body else "messages"
    items = body.get(key)
    return key, items if isinstance(items, list) else [{"role": "user", "content": items}]


def split(items: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return what the model said, and the results, of the items that follow a response."""
    results = [item for item in items if _is_result(item)]
    return [item for item in items if not _is_result(item)], results


def _is_result(item: Json) -> bool:
    return item.get("role") in ("tool", "ROLE_TOOL", "user") or str(item.get("type")).endswith("call_output")


def turns(body: Json) -> list[str]:
    """Return who speaks, one after the other: "user", "model" and "result"."""
    found: list[str] = []
    for item in conversation(body)[1]:
        role = str(item.get("role", "")).removeprefix("ROLE_").lower()
        if role in ("system", "developer"):
            continue
        content = item.get("content")
        parts = content if role == "user" and isinstance(content, list) else []
        if any(part.get("type") == "tool_result" for part in parts):
            spoken = ["result" if part.get("type") == "tool_result" else "user" for part in parts]
        else:
            spoken = ["user" if role == "user" else "result" if _is_result(item) else "model"]
        found += spoken
    return [turn for turn, _ in groupby(found)]


def result_texts(body: Json, wire: str) -> list[str]:
    """Return the text of each result in a request."""
    return [_joined(item.content) for item in oracle(wire).items(body) if item.kind == "result"]


def exchanged(body: Json, wire: str) -> list[tuple[str, str]]:
    """Return the kind and the content of each call and result in a request, in order; objects as JSON text."""
    return [
        (item.kind, _joined(item.content) if item.kind == "result" else _arguments(item.content))
        for item in oracle(wire).items(body)
    ]


def _arguments(content: Any) -> str:
    value = content
    if isinstance(content, str):
        value, status = parsed_arguments(content)
        if status != "complete":
            return content
    return json_codec.text(value or {})


def _joined(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    if parts and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in parts):
        return "".join(part["text"] for part in parts)
    return "" if content is None else json_codec.text(content)


def has_reading(wire: str) -> bool:
    """Return whether the history in requests for a wire can be read."""
    return wire in _REPLIES


def reply(exchange: SubjectExchange) -> list[Any]:
    """Return what the model said, as it must go back to its wire. Raises Irregular if that is not unique."""
    read = _REPLIES.get(exchange.wire)
    if read is None or exchange.status >= 400:
        raise Irregular("the response has no history")
    items = read(exchange)
    ids = [
        value for name, value in leaves(items) if name == ("call_id" if exchange.wire == "openai.responses" else "id")
    ]
    if '""' in ids or len(ids) != len(set(ids)):
        raise Irregular("two calls with one id, or a call without an id")
    return items


def _chat(exchange: SubjectExchange) -> list[Any]:
    values, stream = response_values(exchange), exchange.stream
    choices = openai_chat.assembled(values)[0] if stream else values[0].get("choices") or []
    if not choices:
        raise Irregular("the response has no choice")
    message = dict(choices[0].get("message") or {})
    if calls := message.get("tool_calls"):  # Mistral's messages have the index of each call, which is its position
        message["tool_calls"] = [{key: value for key, value in call.items() if key != "index"} for call in calls]
    return [message]


def _responses(exchange: SubjectExchange) -> list[Any]:
    values, stream = response_values(exchange), exchange.stream
    items = openai_responses.assembled(values)[1] if stream else values[0].get("output") or []
    if any(item.get("type") == "reasoning" and not item.get("encrypted_content") for item in items):
        raise Irregular("reasoning without state, which the provider may refuse")
    return items


def _anthropic(exchange: SubjectExchange) -> list[Any]:
    values, stream = response_values(exchange), exchange.stream
    message = anthropic_messages.assembled(values)[0] if stream else values[0]
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


def _xai(exchange: SubjectExchange) -> list[Any]:
    from .responses import xai_grpc

    messages = [xai_grpc.message_json(exchange, piece) for piece in exchange.pieces]
    steps = xai_grpc.assembled(messages)[0] if exchange.stream else messages[0].get("outputs", [])
    if any(step.get("finish_reason") in xai_grpc.CUT for step in steps):
        raise Irregular("the status of a call that was cut")
    said = []
    for step in steps:
        message = dict(step.get("message", {}))
        message["content"] = [{"text": message["content"]}] if message.get("content") else []
        calls = message.get("tool_calls", [])
        message["tool_calls"] = [{"status": "TOOL_CALL_STATUS_COMPLETED", **call} for call in calls]
        said.append(message)
    return said


_REPLIES: dict[str, Callable[[SubjectExchange], list[Any]]] = {
    "openai.chat": _chat,
    "openai.responses": _responses,
    "anthropic.messages": _anthropic,
    "xai.grpc": _xai,
}


def instructions(body: Json) -> str:
    """Return the text of the system prompt, wherever the wire has it."""
    _, items = conversation(body)
    texts = [*_texts(body.get("instructions")), *_texts(body.get("system"))]
    return "".join([*texts, *(text for role in ("system", "developer") for text in message_texts(items, role))])


def _texts(content: Any) -> Iterator[str]:
    yield from message_texts([{"role": "system", "content": content}], "system")


def tools(body: Json) -> list[Tool]:
    """Return the client's tools. Tools of the provider have no description and no schema."""
    found = []
    for tool in body.get("tools") or []:
        inner = tool.get("function") or tool.get("custom") or tool
        schema = inner.get("parameters", inner.get("input_schema"))
        if isinstance(schema, str):
            schema = json_codec.decode(schema)
        if schema is not None or "custom" in tool or tool.get("type") == "custom":
            strict = inner.get("strict", "input" in body and "parameters" in inner)  # the default of openai.responses
            kind = str(tool.get("type", ""))
            found.append(Tool(str(inner.get("name")), kind, inner.get("description") or "", schema, bool(strict)))
    return found


def settings(body: Json) -> Json:
    """Return the settings that every wire has, if the request states them: parallel calls and the length."""
    choice = body.get("tool_choice")
    found: Json = {"parallel calls": body.get("parallel_tool_calls")}
    if isinstance(choice, dict) and "disable_parallel_tool_use" in choice:
        found["parallel calls"] = not choice["disable_parallel_tool_use"]
    lengths = ("max_completion_tokens", "max_output_tokens", "max_tokens")
    found["length"] = next((body[name] for name in lengths if body.get(name) is not None), None)
    return {name: value for name, value in found.items() if value is not None}
