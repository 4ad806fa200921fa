"""Request bodies as plain JSON, looked at from outside: which calls and answers stand in them, and what a provider
wants to see again. Deliberately apart from the normalizer's readers, which are themselves tested with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from normalizer import jsontext

from .checks.common import matched
from .evidence import Round
from .subjects import Ask, Next, Returned


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


def lost_results(round: Round, body: Any) -> Iterator[str]:
    """The results that could not be found in a request."""
    sent = jsontext.text(body)
    for place in round.expected.runnable:
        result = returned(round, place)
        # a result that is JSON may stand there as such, or as text
        if jsontext.text(result)[1:-1] not in sent and result not in sent and not _holds(body, result):
            yield result


def _holds(body: Any, result: str) -> bool:
    try:
        value = jsontext.decode(result)
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
    for kind, id in _walk(body, wire):
        if kind == "call":
            yield id


def answers_in(body: Any, wire: str) -> Iterator[str]:
    """The id that each tool result in a request answers."""
    for kind, id in _walk(body, wire):
        if kind == "answer":
            yield id


def words_in(body: Any, wire: str) -> str:
    """All that the model said, as it stands in a request, joined."""
    if wire == "openai.responses":
        said = [item.get("content") for item in body.get("input") or [] if _speaker(item) == "assistant"]
    else:
        said = [message.get("content") for message in body.get("messages") or [] if _speaker(message) == "assistant"]
    return "".join(_texts(said))


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


def _walk(body: Any, wire: str) -> Iterator[tuple[str, str]]:
    if wire == "openai.responses":
        custom = {tool.get("name") for tool in body.get("tools") or [] if tool.get("type") == "custom"}
        for item in body.get("input") or []:
            type = item.get("type") if isinstance(item, dict) else None
            if type == "custom_tool_call" and item.get("name") not in custom:
                continue  # xAI's own, which looks like one of the caller's (failure SRV-09)
            if type in ("function_call", "custom_tool_call"):
                yield "call", item["call_id"]
            elif type in ("function_call_output", "custom_tool_call_output"):
                yield "answer", item["call_id"]
        return
    for message in body.get("messages") or []:
        if wire == "anthropic.messages":
            content = message.get("content")
            for block in content if isinstance(content, list) else []:
                if block.get("type") == "tool_use":
                    yield "call", block["id"]
                elif block.get("type") == "tool_result":
                    yield "answer", block["tool_use_id"]
            continue
        for call in message.get("tool_calls") or []:
            if not str(call.get("type", "")).startswith("TOOL_CALL_TYPE_") or call["type"].endswith("CLIENT_SIDE_TOOL"):
                yield "call", call["id"]
        if message.get("role") in ("tool", "ROLE_TOOL"):
            yield "answer", message.get("tool_call_id", "")


#: Members whose text a provider gave to see it again.
_BACK = {"signature": "signature", "encrypted_content": "encrypted state", "data": "redacted thinking"}
_CALLS = {"tool_use": "id", "server_tool_use": "id", "function_call": "call_id", "custom_tool_call": "call_id"}


def wanted_back(ask: Ask) -> Iterator[tuple[str, str]]:
    """(what it is, the text) of each thing in an answer that its provider wants back; of plain JSON answers only."""
    if ask.stream or ask.wire == "xai.grpc":
        return
    yield from _back(jsontext.decode(ask.body))


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
