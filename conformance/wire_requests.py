"""Request bodies as plain JSON, looked at from outside: which calls and answers stand in them, and what a provider
wants to see again. Deliberately apart from the normalizer's readers, which are themselves tested with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec

from .evidence import Round
from .expected import ExpectedCall
from .laws.common import equal, matched
from .subjects import Ask, Next, Returned
from .wire_usage import values


def next_of(round: Round, to: str, provider: str) -> Next:
    """The request that follows a round, with a result for each call that could run, under the id that the subject gave
    it. Results come as tools finish, the last call's first (failures ORD-01, XAI-01).
    """
    runnable = round.expected.runnable
    places, _ = matched(round.expected.calls, round.answer.calls)
    results = [
        Returned(call.id or "", call.name, returned(round, place), round.expected.calls[place].failed)
        for place, call in zip(places, round.answer.calls, strict=True)
        if place is not None and place in runnable
    ]
    return Next(ask=round.ask, results=results[::-1], to=to, provider=provider)


def returned(round: Round, place: int) -> str:
    """What the tool returns to a call."""
    call = round.expected.calls[place]
    return f"the result of {call.name} ({place + 1})" if call.result is None else call.result


def lost_results(round: Round, body: Any, wire: str) -> Iterator[str]:
    """The results that do not stand in a request, or stand there as the answer to another call."""
    answers = [item for item in _walk(body, wire) if item.kind == "answer"]
    for place, item in _made(round, body, wire):
        result = returned(round, place)
        told = [one.told for one in answers if item is None or one.id == item.id]
        if not any(_says(one, result) for one in told):
            yield result


def lost_calls(round: Round, body: Any, wire: str) -> Iterator[ExpectedCall]:
    """The calls that do not stand in a request with the name and the arguments that the model gave them."""
    for place, item in _made(round, body, wire):
        if item is None:
            yield round.expected.calls[place]


def _made(round: Round, body: Any, wire: str) -> Iterator[tuple[int, _Item | None]]:
    """The place of each call that could run, with what stands for it in a request; null where nothing does.

    From behind: calls of earlier rounds may be the same.
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
    """Whether a name in a request is that of a call. Elsewhere a name may be taken: then more stands behind it."""
    return name == call.name or (foreign and name.startswith(call.name))


def _is(told: Any, call: ExpectedCall) -> bool:
    """Whether arguments in a request, as text or as an object, are those of a call."""
    if call.arguments is None and told == call.text:
        return True
    if isinstance(told, str):
        try:
            told = json_codec.decode(told) if told.strip() else {}
        except ValueError:
            return False
    if call.arguments is None:  # free text, on a wire that knows objects only
        return isinstance(told, dict) and call.text in told.values()
    return equal({} if told is None else told, call.arguments)


def _says(told: Any, result: str) -> bool:
    # a result that is JSON may stand there as such, or as text
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


def calls_in(body: Any, wire: str) -> Iterator[str]:
    """The id of each client call that stands in a request."""
    for item in _walk(body, wire):
        if item.kind == "call":
            yield item.id


def answers_in(body: Any, wire: str) -> Iterator[str]:
    """The id that each tool result in a request answers."""
    for item in _walk(body, wire):
        if item.kind == "answer":
            yield item.id


def words_in(body: Any, wire: str) -> str:
    """All that the model said, as it stands in a request, joined."""
    return "".join(_said(body, wire, "assistant"))


def asked_in(body: Any, wire: str) -> list[str]:
    """The texts that the user said, as they stand in a request."""
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


def failed_in(body: Any) -> Iterator[str]:
    """The id that each result answers which is marked as failed, on the wire that has a mark for it (Anthropic's)."""
    for message in body.get("messages") or []:
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and block.get("type") == "tool_result" and block.get("is_error") is True:
                yield block["tool_use_id"]


class _Item(NamedTuple):
    """A call or an answer in a request. ``told``: its arguments or its content, as it stands there."""

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
                continue  # xAI's own, which looks like one of the caller's (failure SRV-09)
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


#: Members whose text a provider gave to see it again.
_BACK = {"signature": "signature", "encrypted_content": "encrypted state", "data": "redacted thinking"}
_CALLS = {"tool_use": "id", "server_tool_use": "id", "function_call": "call_id", "custom_tool_call": "call_id"}


def wanted_back(ask: Ask) -> Iterator[tuple[str, str]]:
    """(what it is, the text) of each thing in an answer that its provider wants back.

    A text that a stream told in pieces is told here in pieces too: each of them has to stand in what goes back.
    """
    if ask.status >= 400:
        return
    if ask.wire == "xai.grpc":
        yield from _messages_back(ask)
        return
    for value in values(ask):
        if value.get("type") == "error" or (ask.wire == "openai.responses" and ask.stream and not _ends(value)):
            continue  # an item's state may still grow before the last event, which holds all of it
        yield from _back(value)


def _ends(event: dict[str, Any]) -> bool:
    return event.get("type") in ("response.completed", "response.incomplete")


def _messages_back(ask: Ask) -> Iterator[tuple[str, str]]:
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
