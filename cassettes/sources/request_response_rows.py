"""Rows that hold a request and its response under two members, or a response alone, as proxies, gateways and loggers
write them.

    {"request": {"model": …, "messages": […], "tools": […]}, "response": {…} | "data: …", "status", "url", "headers"}

Each of the two is a body (JSON or its text), or an HTTP message with ``body`` and, if the row lacks them, ``url``,
``status`` and ``headers``. A list holds the events of a stream, or the lines of its text. A row without a request needs
a response that shows what it is: a body or a stream of a wire, or an error.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from toolparity.normalizer.wires.limits import is_error

from ..errors import UnreadableSource
from . import http
from .bodies import body_of, plain
from .http import address_of, method_of, optional_mapping, status_of
from .json_text import parsed
from .logs import conversion
from .model import Exchange
from .tables import shown_names

#: The members of request and response. The first pair that a row has is used.
PAIRS = (
    ("request", "response"),
    ("request_body", "response_body"),
    ("req", "res"),
    ("input", "output"),
    ("inputs", "output"),
    ("inputs", "outputs"),
    ("full_request", "full_response"),
    ("request_payload", "response_payload"),
    ("backendRequestBody", "backendResponseBody"),
    ("requestBody", "responseBody"),
    ("requestParams", "response"),
)
#: Members of a request or response body. A mapping with one of them is not an HTTP message.
_ASKED = ("messages", "input", "contents", "tools", "model")
_ANSWERED = ("choices", "output", "error")
#: Members in which an HTTP message keeps its body, in a notation of `bodies.body_of` or as plain JSON.
_SPELLED = ("parsed_body", "body_json", "body_blob")
_BODY = ("body", "content", "json", "data", "inputBodyJson", "outputBodyJson")
_ADDRESS = ("url", "uri", "endpoint")


def claims(item: dict[str, Any]) -> bool:
    """Return whether a row has both members of a pair, or a response that shows what it is."""
    names = _names(item)
    return names is not None and (names[0] in item or _shows(item[names[1]]))


class RowByContent(NamedTuple):
    """A row, and which members of an object were taken for its request and response."""

    row: dict[str, Any]
    step: str


def by_content(item: dict[str, Any]) -> RowByContent | None:
    """Return an object whose members have other names as a row: one holds a response, at most one its request."""
    values = {name: value for name, member in item.items() if isinstance(value := parsed(member), (dict, list, str))}
    responses = answered(item)
    requests = [name for name in values if name not in responses and _asks(values[name])]
    if len(responses) != 1 or len(requests) > 1:
        return None
    request = {"request": values[requests[0]]} if requests else {}
    others = {name: member for name, member in item.items() if name not in (*requests, *responses)}
    step = ", ".join(
        [*(f"request in {shown_names([name])}" for name in requests), f"response in {shown_names(responses)}"]
    )
    return RowByContent({**others, **request, "response": values[responses[0]]}, step)


def why_not(item: dict[str, Any]) -> UnreadableSource:
    """Return the error of an object that is not a row."""
    holding = answered(item)
    holding += [name for name, member in item.items() if name not in holding and _asks(parsed(member))]
    several = bool(answered(item))
    what = "several members hold requests or responses" if several else "no member holds a response"
    return UnreadableSource(
        f"no traffic: {what}: {shown_names(name for name in item if not several or name in holding)}",
        hint="if this is a body, pass its wire with --wire; if it is a row, its columns with --column request=NAME "
        "--column response=NAME",
    )


def answered(item: dict[str, Any]) -> list[str]:
    """Return the members of an object that hold a response."""
    return [name for name, member in item.items() if _may_be_body(value := parsed(member)) and _shows(value)]


def _may_be_body(value: Any) -> bool:
    if isinstance(value, str):
        return value.lstrip()[:5] in ("data:", "event") or value.lstrip()[:1] == "{"
    return isinstance(value, (dict, list)) and bool(value)


def _asks(value: Any) -> bool:
    """Return whether a value is a request, or the messages of one."""
    if isinstance(value, dict):
        return any(isinstance(value.get(name), list) for name in ("messages", "contents", "input")) or (
            "model" in value and isinstance(value.get("input"), str)
        )
    return isinstance(value, list) and any(isinstance(one, dict) and "role" in one for one in value)


def has_both(item: dict[str, Any]) -> bool:
    """Return whether an object that looks like a response of a wire is a row: responses have no ``input``."""
    return isinstance(item.get("output"), list) and "object" not in item and ("input" in item or "inputs" in item)


def exchange(source: str, line: int | None, item: dict[str, Any], wire: str | None = None) -> Exchange:
    """Read a row. ``wire``: the wire if the row does not show it. Raises UnreadableSource without a usable response."""
    names = _names(item)
    assert names is not None
    response = _message(item[names[1]], _ANSWERED)
    if (converted := _converted(source, line, item.get(names[0]), response)) is not None:
        _check_order(item, names)
        converted.id = _text(item.get("id"))
        converted.steps = (f"row of {names[0]} and {names[1]}", "converted to a body")
        return converted
    request, body = _message(item.get(names[0]), _ASKED), _body(response)
    if not body:
        raise UnreadableSource(f"not a recording: {names[1]!r} is empty")
    url = next((url for name in _ADDRESS if (url := _text(item.get(name)))), None) or address_of(request)
    made = http.exchange(
        source,
        line,
        method=method_of(item) or method_of(request),
        url=url,
        request_headers={**_headers(item, "request_headers"), **_headers(request, "headers")},
        request=_body(request),
        status=status_of(item) or status_of(response),
        headers={
            **_headers(item, "headers"),
            **_headers(item, "response_headers"),
            **_headers(response, "headers"),
        },
        body=body,
    )
    made.steps = (f"row of {names[0]} and {names[1]}" if names[0] in item else f"row of {names[1]}",)
    http.count_calls(made, item[names[1]])
    made.id = _text(item.get("id")) or made.id
    made.provider = _text(item.get("provider")) or (made.provider if url else None)
    made.wire = _text(item.get("wire")) or made.wire or wire
    made.model = _text(item.get("model")) or made.model
    if isinstance(item.get("stream"), bool):
        made.stream = item["stream"]
    failure = http.parsed(made.body) if made.wire is None else None
    if isinstance(failure, dict) and is_error(failure):
        made.wire = _asked_wire(made.request, failure)
    elif made.wire is None and not url:
        _check_order(item, names)
        found = f", its members are {shown_names(failure)}" if isinstance(failure, dict) else ""
        raise UnreadableSource(f"not a recording: {names[1]!r} fits no known wire{found}", hint="pass it with --wire")
    return made


def _check_order(item: dict[str, Any], names: tuple[str, str]) -> None:
    """Raise UnreadableSource if the request and the response of a row have each other's place."""
    if _shows(parsed(item.get(names[0]))) and _asks(parsed(item[names[1]])):
        raise UnreadableSource(
            f"not a recording: {names[0]!r} holds a response, and {names[1]!r} a request",
            hint="exchange their --column",
        )


def _asked_wire(request: Any, failure: dict[str, Any]) -> str | None:
    """Return the wire of a request that failed with an error of OpenAI's form, or None if it is unclear.

    The response does not show the wire, as on `anthropic.messages`. The messages show what happened before.
    """
    if not isinstance(request, dict) or not isinstance(failure["error"], dict):
        return None
    if isinstance(request.get("messages"), list):
        return "openai.chat"
    return "openai.responses" if isinstance(request.get("input"), list) else None


def _names(item: dict[str, Any]) -> tuple[str, str] | None:
    """Return the first pair that a row has, or else the first of which it has the response."""
    both = (pair for pair in PAIRS if all(name in item for name in pair))
    return next(both, None) or next((pair for pair in PAIRS if pair[1] in item), None)


def _shows(response: Any) -> bool:
    """Return whether a response shows what it is, without its request."""
    try:
        body = _body(_message(response, _ANSWERED))
    except (UnreadableSource, TypeError, ValueError):
        return False
    value = http.parsed(body)
    if isinstance(value, dict) and (is_error(value) or conversion.is_part_of_body(value)):
        return True
    return body is not None and http.wire_of(body) is not None


def _converted(source: str, line: int | None, request: Any, response: dict[str, Any]) -> Exchange | None:
    """Return the exchange of a response that is part of a body: messages, choices, or items of Responses."""
    value = next((parsed(response[name]) for name in _BODY if name in response), None)
    if not conversion.is_part_of_body(value):
        return None
    return conversion.exchange(source, line, format="row", request=request, response=value)


def _message(value: Any, members: tuple[str, ...]) -> dict[str, Any]:
    """Return one side as an HTTP message. A value with one of ``members`` is the body itself."""
    if not isinstance(value, dict) or value.get("type") == "message" or any(name in value for name in members):
        return {"body": value}
    return value if any(name in value for name in (*_SPELLED, *_BODY, "method")) else {"body": value}


def _body(message: dict[str, Any]) -> bytes | None:
    if any(message.get(name) is not None for name in _SPELLED):
        return body_of(message)
    return plain(next((message[name] for name in _BODY if name in message), None))


def _headers(item: dict[str, Any], name: str) -> dict[str, str]:
    return http.headers_of(optional_mapping(item, name).items())


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
