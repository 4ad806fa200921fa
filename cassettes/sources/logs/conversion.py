"""Exchanges made from logs that keep a request and a response in a tool's own notation.

A response that is a body of a wire stays unchanged. Any other is converted to Chat Completions, with the calls, their
ids and their argument texts as the log has them.
"""

from __future__ import annotations

import re
from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.detect import body_wires
from toolparity.normalizer.wires.limits import is_error
from toolparity.normalizer.wires.shapes import whole_wire

from ...errors import UnreadableSource
from ..call_count import calls_in
from ..json_text import parsed
from ..model import Exchange
from .messages import as_chat

#: The members of requests with the messages, on wires where it is not ``messages``.
_MESSAGES = {"openai.responses": "input", "google.gemini": "contents"}


def exchange(
    source: str,
    line: int | None,
    *,
    format: str,
    request: Any,
    response: Any,
    id: Any = None,
    model: Any = None,
    provider: Any = None,
    tools: Any = None,
    usage: dict[str, Any] | None = None,
    finish: Any = None,
) -> Exchange:
    """Return the exchange of a log entry.

    ``request``: a body, or the messages. ``response``: a body, a message, a list of messages, or text; JSON text is
    parsed. ``finish``: the stop reason of a response that is not a body. Raises UnreadableSource if the response has
    another form.
    """
    request, response = parsed(request), parsed(response)
    counted = calls_in(_after_history(response))
    if (part := _part(response)) is not None:
        response = part
    calls = max(counted, calls_in(_after_history(response)))
    if calls == 0 and _stops_for_calls(finish, response):  # a logger that kept the text of a stream alone
        calls = 1
    if isinstance(response, dict) and (wire := body_wire(response)) is not None:
        body, sent = response, _request(request, model, tools, wire)
    elif isinstance(response, dict) and is_error(response):
        wire = "openai.responses" if isinstance(request, dict) and "input" in request else "openai.chat"
        body, sent = response, _request(request, model, tools, wire)
    else:
        wire, body = "openai.chat", _completion(response, id, model, usage, finish)
        sent = _request(request, model, tools, wire)
    made = sent.get("model") if isinstance(sent, dict) else None
    return Exchange(
        source=source,
        line=line,
        id=text(id),
        provider=text(provider),
        wire=wire,
        stream=False,
        model=text(model) or text(made),
        request=sent,
        body=json_codec.encode(body),
        provenance={"format": format},
        calls=calls,
    )


#: Members that hold a message of the model, or a list of its messages, choices or items.
_HOLDERS = ("messages", "message", "output", "outputs")
#: How many of them are searched inside each other.
_DEEPEST = 3
_ROLES = ("assistant", "model")


def body_wire(response: dict[str, Any]) -> str | None:
    """Return the wire of a body, also of one whose form an event of a stream can have; None if it fits several."""
    fits = body_wires(response)
    return whole_wire(response) or (fits[0] if len(fits) == 1 else None)


def _after_history(response: Any) -> Any:
    """Return the messages of a response without those before it, which some logs repeat."""
    entries = response if isinstance(response, list) else []
    before = ("user", "human", "system", "tool")
    roles = [text(one.get("role") or one.get("type")) if isinstance(one, dict) else None for one in entries]
    last = max((number for number, role in enumerate(roles, 1) if role in before), default=0)
    return response[last:] if last else response


def is_part_of_body(value: Any) -> bool:
    """Return whether a response is a message, or a list of choices or messages, of which `exchange` makes a body."""
    return _part(value) is not None


def _part(value: Any, depth: int = 0) -> Any:
    """Return the message or messages of a response that is not a body, or else None.

    Choices of Chat Completions, items of Responses, and an answer of Gemini as its Python SDK prints it, become a body.
    The response can be in a member of `_HOLDERS`.
    """
    if isinstance(value, dict):
        if whole_wire(value) is not None:
            return value if depth else None
        if "role" in value:
            return value if value["role"] in _ROLES else None
        if isinstance(value.get("candidates"), list) and whole_wire(made := _camelized(value)) is not None:
            return made
        inside = (_part(parsed(value.get(name)), depth + 1) for name in _HOLDERS if depth < _DEEPEST)
        return next((part for part in inside if part is not None), None)
    entries = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    if entries and all(isinstance(one.get("message"), dict) and "finish_reason" in one for one in entries):
        return {"object": "chat.completion", "choices": entries}
    if any(_is_item(one) for one in entries):
        return {"object": "response", "status": "completed", "output": entries}
    return value if any(one.get("role") in _ROLES for one in entries) else None


def _camelized(value: Any) -> Any:
    """Return an answer of Gemini with the names that it has on the wire. Arguments and results stay unchanged."""
    if isinstance(value, list):
        return [_camelized(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {name: member for name, member in value.items() if member is not None}
    return {
        re.sub(r"_([a-z])", lambda found: found[1].upper(), name): (
            member if name in ("args", "response") else _camelized(member)
        )
        for name, member in kept.items()
    }


def _stops_for_calls(finish: Any, response: Any) -> bool:
    """Return whether a response ended for calls, by its stop reason."""
    ends = [finish]
    if isinstance(response, dict):
        choices = [one for one in _listed(response.get("choices")) if isinstance(one, dict)]
        ends += [
            response.get("stop_reason"),
            response.get("finish_reason"),
            *(one.get("finish_reason") for one in choices),
        ]
    return any(end in ("tool_calls", "tool_use", "function_call") for end in ends)


def _is_item(one: dict[str, Any]) -> bool:
    """Return whether an object is an item of Responses, such as a call."""
    kind = text(one.get("type")) or ""
    return kind.endswith("_call") and kind != "tool_call" and "role" not in one


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def text(value: Any) -> str | None:
    """Return a text that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def _request(value: Any, model: Any, tools: Any, wire: str) -> dict[str, Any] | None:
    """Return the request as a body: one that the log has, or one made of its messages."""
    body: dict[str, Any] = {}
    messages = _MESSAGES.get(wire, "messages")
    if isinstance(value, dict):
        body = dict(value) if any(name in value for name in ("messages", *_MESSAGES.values())) else {}
        if wire == "openai.chat" and "contents" in body:
            body = {"messages": body["contents"]}
        if not body and text(value.get("role")):
            value = [value]
    if isinstance(value, list):
        body = {messages: value}
    elif isinstance(value, str):
        body = {"input": value} if messages == "input" else {"messages": [{"role": "user", "content": value}]}
    if not body:
        return None
    if "messages" in body and wire == "openai.chat":
        system = body.pop("system", None)
        first = [{"role": "system", "content": system}] if text(system) else []
        body["messages"] = [*first, *as_chat(body["messages"])]
    if text(model):
        body.setdefault("model", model)
    if isinstance(tools, list) and tools:
        body.setdefault("tools", tools)
    return body


def _completion(response: Any, id: Any, model: Any, usage: dict[str, Any] | None, finish: Any) -> dict[str, Any]:
    """Return a body of Chat Completions for text, a message, or the last messages of the model in a list.

    Several messages are choices if each has a stop reason, and else the parts of one.
    """
    if isinstance(response, str):
        answers: list[dict[str, Any]] = [{"role": "assistant", "content": response}]
    else:
        response = response if isinstance(response, list) else [response]
        answers = _last_answers(as_chat(response))
        if not answers:
            raise UnreadableSource("the log entry has no response of a model")
        ends = [one.get("finish_reason") for one in response if isinstance(one, dict)]
        if len(answers) > 1 and not (len(ends) == len(answers) and all(ends)):  # these are parts, and not choices
            answers = [_joined(answers)]
    choices = [{"index": n, "message": message, "finish_reason": text(finish)} for n, message in enumerate(answers)]
    body: dict[str, Any] = {"id": text(id), "object": "chat.completion", "model": text(model), "choices": choices}
    if usage:
        body["usage"] = usage
    return body


def _last_answers(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the last messages of the model that directly follow each other."""
    answers: list[dict[str, Any]] = []
    for message in reversed(messages):
        if message.get("role") == "assistant":
            answers.insert(0, message)
        elif answers:
            break
    return answers


def _joined(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one message with the content and the calls of several."""
    contents = [message.get("content") for message in messages]
    texts = "".join(content for content in contents if isinstance(content, str))
    parts = [part for content in contents if isinstance(content, list) for part in content]
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    content: Any = [*([{"type": "text", "text": texts}] if texts else []), *parts] if parts else texts or None
    return {**messages[-1], "content": content, **({"tool_calls": calls} if calls else {})}
