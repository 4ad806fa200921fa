"""Exchanges made from logs that keep a request and a response in a tool's own notation.

A response that is a body of a wire stays unchanged. Any other is converted to Chat Completions, with the calls, their
ids and their argument texts as the log has them.
"""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.limits import is_error
from toolparity.normalizer.wires.shapes import whole_wire

from ...errors import UnreadableSource
from ..model import Exchange
from .messages import as_chat


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
    if isinstance(response, dict) and (wire := whole_wire(response)) is not None:
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
    )


def parsed(value: Any) -> Any:
    """Return the value of JSON text; any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json_codec.decode(value)
        except (ValueError, RecursionError):
            return value
    return value


def text(value: Any) -> str | None:
    """Return a text that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def _request(value: Any, model: Any, tools: Any, wire: str) -> dict[str, Any] | None:
    """Return the request as a body: one that the log has, or one made of its messages."""
    body: dict[str, Any] = {}
    if isinstance(value, dict):
        body = dict(value) if "messages" in value or "input" in value else {}
        if not body and text(value.get("role")):
            value = [value]
    if isinstance(value, list):
        body = {"input" if wire == "openai.responses" else "messages": value}
    elif isinstance(value, str):
        body = {"input": value} if wire == "openai.responses" else {"messages": [{"role": "user", "content": value}]}
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
    """Return a body of Chat Completions for a message, the last of several messages, or text."""
    if isinstance(response, str):
        message: dict[str, Any] = {"role": "assistant", "content": response}
    else:
        messages = as_chat(response if isinstance(response, list) else [response])
        answers = [message for message in messages if message.get("role") == "assistant"]
        if not answers:
            raise UnreadableSource("the log entry has no response of a model")
        message = answers[-1]
    choice = {"index": 0, "message": message, "finish_reason": text(finish)}
    body: dict[str, Any] = {"id": text(id), "object": "chat.completion", "model": text(model), "choices": [choice]}
    if usage:
        body["usage"] = usage
    return body
