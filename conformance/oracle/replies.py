"""Independent readings of what the next request must repeat of a response.

The readings are of the wires in `_REPLIES`. Other wires have none, and the laws do not compare their history.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..subjects import SubjectExchange
from . import bedrock_converse as converse
from . import json_values
from .responses import (
    Irregular,
    anthropic_messages,
    bedrock_converse,
    cohere_chat,
    google_gemini,
    google_interactions,
    leaves,
    ollama_chat,
    openai_chat,
    openai_responses,
    parsed_arguments,
    response_values,
)


def has_reading(wire: str) -> bool:
    """Return whether the history in requests for a wire can be read."""
    return wire in _REPLIES


def reply(exchange: SubjectExchange) -> list[Any]:
    """Return what the model said, as it must go back to its wire. Raises Irregular if that is not unique."""
    read = _REPLIES.get(exchange.wire)
    if read is None or exchange.status >= 400:
        raise Irregular("the response has no history")
    items = read(exchange)
    member = _IDS.get(exchange.wire, "id")
    ids = [value for name, value in leaves(_without_server_results(items)) if name == member]
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


def begins_with_thinking(exchange: SubjectExchange) -> bool:
    """Return whether a response of `anthropic.messages` begins with thinking that can go back."""
    try:
        blocks = _anthropic(exchange)
    except Irregular:
        return False
    return bool(blocks) and blocks[0].get("type") in ("thinking", "redacted_thinking")


def container_of(exchange: SubjectExchange) -> str | None:
    """Return the id of the container in which the provider ran code for a response of `anthropic.messages`, or None."""
    found = None
    for value in json_values(exchange) if exchange.wire == "anthropic.messages" and exchange.status < 400 else ():
        for holder in (value, value.get("message"), value.get("delta")):
            container = holder.get("container") if isinstance(holder, dict) else None
            found = container.get("id") if isinstance(container, dict) else found
    return found


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


def _cohere(exchange: SubjectExchange) -> list[Any]:
    values, stream = response_values(exchange), exchange.stream
    message = cohere_chat.assembled(values)[0]["message"] if stream else values[0].get("message")
    if not isinstance(message, dict):
        raise Irregular("the response has no message")
    return [{name: member for name, member in message.items() if member}]


def _ollama(exchange: SubjectExchange) -> list[Any]:
    values = response_values(exchange)
    if any("error" in value for value in values):
        raise Irregular("the response failed")
    message, _ = ollama_chat.assembled(values)
    for call in message.get("tool_calls") or []:  # a call's position is its index
        call["function"] = {key: value for key, value in call["function"].items() if key != "index"}
    return [message]


def _converse(exchange: SubjectExchange) -> list[Any]:
    documents = converse.values(exchange)
    if not converse.is_event_stream(exchange.body):
        return [documents[0]["output"]["message"]]
    body, failure, _ = bedrock_converse.assembled(documents)
    if failure is not None:
        raise Irregular("the response failed")
    for block in body["content"]:
        if call := block.get("toolUse"):
            call["input"], status = parsed_arguments(bedrock_converse.take_text(call))
            if status != "complete":
                raise Irregular("arguments that are not an object")
    return [{"role": "assistant", "content": body["content"]}]


def _interactions(exchange: SubjectExchange) -> list[Any]:
    values, stream = response_values(exchange), exchange.stream
    if not stream:
        return values[0].get("steps") or []
    _, steps, failure, _ = google_interactions.assembled(values)
    if failure is not None:
        raise Irregular("the response failed")
    for step in steps:
        if text := step.pop("streamed_arguments", None):
            step["arguments"], status = parsed_arguments(text)
            if status != "complete":
                raise Irregular("arguments that are not an object")
    return steps


def _gemini(exchange: SubjectExchange) -> list[Any]:
    values = response_values(exchange)
    if any("error" in value for value in values):
        raise Irregular("the response failed")
    return [{"role": "model", "parts": google_gemini.assembled(values)[1]["parts"]}]


def _without_server_results(items: list[Any]) -> list[Any]:
    """Return the items without the results of Bedrock's own tools, which repeat the ids of their calls."""
    return [
        {**item, "content": [part for part in item["content"] if "toolResult" not in part]}
        if isinstance(item.get("content"), list)
        else item
        for item in items
    ]


#: Wire -> the member with the id of a call, if it has another name than ``id``.
_IDS = {"openai.responses": "call_id", "bedrock.converse": "toolUseId", "google.gemini": ""}
_REPLIES: dict[str, Callable[[SubjectExchange], list[Any]]] = {
    "openai.chat": _chat,
    "openai.responses": _responses,
    "anthropic.messages": _anthropic,
    "xai.grpc": _xai,
    "cohere.chat": _cohere,
    "ollama.chat": _ollama,
    "bedrock.converse": _converse,
    "google.interactions": _interactions,
    "google.gemini": _gemini,
}
