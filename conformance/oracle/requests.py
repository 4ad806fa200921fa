"""Reads request bodies as plain JSON: the calls and tool results in them, and what a provider requires to get back.

It does not use the normalizer's readers, because the suite tests them with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Wire

from ..cases.case import CaseRound
from ..cases.expected import ExpectedCall
from ..laws.common import json_equal, match_calls
from ..subjects import CallResult, FollowUp, SubjectExchange
from .usage import json_values


def follow_up(round: CaseRound, to: Wire, provider: str) -> FollowUp:
    """Return the request that follows a round, with a result for each runnable call.

    A result has the id that the subject gave the call. The results are in reverse order, as if the last call finished
    first (failures ORD-01, XAI-01).
    """
    runnable = round.expected.runnable
    places, _ = match_calls(round.expected.calls, round.answer.calls)
    results = [
        CallResult(call.id or "", call.name, returned(round, place), round.expected.calls[place].failed)
        for place, call in zip(places, round.answer.calls, strict=True)
        if place is not None and place in runnable
    ]
    return FollowUp(ask=round.ask, results=results[::-1], to=to, provider=provider)


def returned(round: CaseRound, place: int) -> str:
    """Return the result of a call."""
    call = round.expected.calls[place]
    return f"the result of {call.name} ({place + 1})" if call.result is None else call.result


def lost_results(round: CaseRound, body: Any, wire: str) -> Iterator[str]:
    """Yield the results that are missing in a request, or that answer another call there."""
    answers = [item for item in _walk(body, wire) if item.kind == "answer"]
    for place, item in _made(round, body, wire):
        result = returned(round, place)
        told = [one.told for one in answers if item is None or one.id == item.id]
        if not any(_says(one, result) for one in told):
            yield result


def lost_calls(round: CaseRound, body: Any, wire: str) -> Iterator[ExpectedCall]:
    """Yield the calls that are missing in a request, or have another name or other arguments there."""
    for place, item in _made(round, body, wire):
        if item is None:
            yield round.expected.calls[place]


def _made(round: CaseRound, body: Any, wire: str) -> Iterator[tuple[int, _Item | None]]:
    """Yield the index of each runnable call, with the item that represents it in a request, or None.

    Both are matched from the end, because earlier rounds may contain equal calls.
    """
    free = [item for item in _walk(body, wire) if item.kind == "call"][::-1]
    foreign = wire != round.ask.wire
    for place in reversed(round.expected.runnable):
        call = round.expected.calls[place]
        item = next((item for item in free if _called(item.name, call, foreign) and _is(item.told, call)), None)
        if item is not None:
            free.remove(item)
        yield place, item


def _called(name: str, call: ExpectedCall, foreign: bool) -> bool:
    """Return whether a name in a request is that of a call.

    On another wire it may have a suffix, because names can collide.
    """
    return name == call.name or (foreign and name.startswith(call.name))


def _is(told: Any, call: ExpectedCall) -> bool:
    """Return whether arguments in a request, as text or as an object, are those of a call."""
    if call.arguments is None and told == call.text:
        return True
    if isinstance(told, str):
        try:
            told = json_codec.decode(told) if told.strip() else {}
        except ValueError:
            return False
    if call.arguments is None:  # free text, on a wire that only has objects
        return isinstance(told, dict) and call.text in told.values()
    return json_equal({} if told is None else told, call.arguments)


def _says(told: Any, result: str) -> bool:
    # The request may hold a JSON result as a value or as text.
    sent = json_codec.text(told)
    return json_codec.text(result)[1:-1] in sent or result in sent or _holds(told, result)


def _holds(body: Any, result: str) -> bool:
    try:
        value = json_codec.decode(result)
    except ValueError:
        return False
    return isinstance(value, (dict, list)) and _within(body, value)


def _within(body: Any, value: Any) -> bool:
    if body == value:
        return True
    inner = body.values() if isinstance(body, dict) else body if isinstance(body, list) else ()
    return any(_within(one, value) for one in inner)


def call_ids(body: Any, wire: str) -> Iterator[str]:
    """Yield the id of each client call in a request."""
    for item in _walk(body, wire):
        if item.kind == "call":
            yield item.id


def result_ids(body: Any, wire: str) -> Iterator[str]:
    """Yield the call id of each tool result in a request."""
    for item in _walk(body, wire):
        if item.kind == "answer":
            yield item.id


def model_text(body: Any, wire: str) -> str:
    """Return all text of the model in a request, concatenated."""
    return "".join(_said(body, wire, "assistant"))


def user_texts(body: Any, wire: str) -> list[str]:
    """Return the texts of the user in a request."""
    return list(_said(body, wire, "user"))


def _said(body: Any, wire: str, who: str) -> Iterator[str]:
    items = body.get("input" if wire == "openai.responses" else "messages") if isinstance(body, dict) else None
    if isinstance(items, str) and who == "user":
        yield items
    for item in items if isinstance(items, list) else []:
        if _speaker(item) == who:
            yield from _texts(item.get("content"))


def _speaker(message: Any) -> str:
    role = message.get("role") if isinstance(message, dict) else None
    return str(role).removeprefix("ROLE_").lower()


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else []:
        yield from _texts(part.get("text") if isinstance(part, dict) else part)


def failed_result_ids(body: Any) -> Iterator[str]:
    """Yield the call id of each result that is marked as an error. Only Anthropic's wire has such a mark."""
    for message in body.get("messages") or []:
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and block.get("type") == "tool_result" and block.get("is_error") is True:
                yield block["tool_use_id"]


class _Item(NamedTuple):
    """A call or a tool result in a request. ``told``: its arguments or its content, unchanged."""

    kind: str
    id: str
    name: str
    told: Any


def _walk(body: Any, wire: str) -> Iterator[_Item]:
    if wire == "openai.responses":
        custom = {tool.get("name") for tool in body.get("tools") or [] if tool.get("type") == "custom"}
        for item in body.get("input") or []:
            type = item.get("type") if isinstance(item, dict) else None
            if type == "custom_tool_call" and item.get("name") not in custom:
                continue  # a server call of xAI, which looks like a client call (failure SRV-09)
            if type in ("function_call", "custom_tool_call"):
                yield _Item("call", item["call_id"], item["name"], item.get("arguments", item.get("input")))
            elif type in ("function_call_output", "custom_tool_call_output"):
                yield _Item("answer", item["call_id"], "", item["output"])
        return
    for message in body.get("messages") or []:
        if wire == "anthropic.messages":
            content = message.get("content")
            for block in content if isinstance(content, list) else []:
                if block.get("type") == "tool_use":
                    yield _Item("call", block["id"], block["name"], block["input"])
                elif block.get("type") == "tool_result":
                    yield _Item("answer", block["tool_use_id"], "", block.get("content"))
            continue
        for call in message.get("tool_calls") or []:
            if not str(call.get("type", "")).startswith("TOOL_CALL_TYPE_") or call["type"].endswith("CLIENT_SIDE_TOOL"):
                what = call.get("function") or call.get("custom") or {}
                told = what.get("arguments", what.get("input"))
                yield _Item("call", call["id"], what.get("name", ""), told)
        if message.get("role") in ("tool", "ROLE_TOOL"):
            yield _Item("answer", message.get("tool_call_id", ""), "", message.get("content"))


#: The members whose text must be sent back to the provider.
_BACK = {"signature": "signature", "encrypted_content": "encrypted state", "data": "redacted thinking"}
_CALLS = {"tool_use": "id", "server_tool_use": "id", "function_call": "call_id", "custom_tool_call": "call_id"}


def values_to_return(ask: SubjectExchange) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) for everything in a response that the provider requires to get back.

    If a stream sent a text in fragments, each fragment is yielded separately: all of them must appear in the request.
    """
    if ask.status >= 400:
        return
    if ask.wire == "xai.grpc":
        yield from _messages_back(ask)
        return
    for value in json_values(ask):
        if value.get("type") == "error" or (ask.wire == "openai.responses" and ask.stream and not _ends(value)):
            continue  # an item's state may still grow; the last event holds all of it
        yield from _back(value)


def _ends(event: dict[str, Any]) -> bool:
    return event.get("type") in ("response.completed", "response.incomplete")


def _messages_back(ask: SubjectExchange) -> Iterator[tuple[str, str]]:
    from xai_sdk.proto import chat_pb2

    made = chat_pb2.GetChatCompletionChunk if ask.stream else chat_pb2.GetChatCompletionResponse
    for piece in ask.pieces:
        for output in made.FromString(piece).outputs:
            told = output.delta if ask.stream else output.message
            if told.encrypted_content:
                yield "encrypted state", told.encrypted_content
            for call in told.tool_calls:
                if call.id:
                    yield "call's id", call.id


def _back(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for one in value:
            yield from _back(one)
        return
    if not isinstance(value, dict):
        return
    for key, member in value.items():
        if key in _BACK and isinstance(member, str) and member:
            yield _BACK[key], member
        elif isinstance(member, (dict, list)):
            yield from _back(member)
    id = value.get(_CALLS.get(str(value.get("type")), ""))
    if isinstance(id, str):
        yield "call's id", id
    if value.get("type") == "function" and isinstance(value.get("id"), str):
        yield "call's id", value["id"]
