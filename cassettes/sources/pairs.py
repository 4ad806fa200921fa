"""A row that holds a request and its response under two members, as proxies, gateways and loggers write them.

    {"request": {"model": …, "messages": […], "tools": […]}, "response": {…} | "data: …", "status", "url", "headers"}

Each of the two is a body (JSON, or its text), or an HTTP message with ``body`` and, where the row does not have them,
``url``, ``status`` and ``headers``. A list is the events of a stream, or the lines of its text.
"""

from __future__ import annotations

from typing import Any

from normalizer import jsontext
from normalizer.errors import UnreadableSource

from . import http
from .bodies import spelled
from .model import Exchange
from .shape import optional_mapping, status_of

#: The member that holds the request -> the member that holds its response. The first pair that a row has counts.
PAIRS = {
    "request": "response",
    "request_body": "response_body",
    "req": "res",
    "input": "output",
}
_BODY = ("body", "content", "json", "data")
_URL = ("url", "uri", "endpoint", "path")


def claims(item: dict[str, Any]) -> bool:
    """Whether a row has such a pair: the response and a member for its request."""
    return _names(item) is not None


def exchange(source: str, line: int | None, item: dict[str, Any], wire: str | None = None) -> Exchange:
    """``wire``: the format, where the row does not show it. Raises UnreadableSource where there is no response."""
    names = _names(item)
    assert names is not None
    asked, request_url, _, _ = _message(item[names[0]], ("messages", "input", "contents", "tools", "model"))
    body, _, status, headers = _message(item[names[1]], ("choices", "output", "error"))
    if body is None or body == "":
        raise UnreadableSource(f"no recording: {names[1]!r} is empty")
    url = _first(item, _URL) or request_url
    listed = {**_headers(item, "headers"), **_headers(item, "response_headers"), **headers}
    found = http.exchange(
        source,
        line,
        url=url,
        request=_bytes(asked),
        status=status_of(item) or status,
        headers=listed,
        body=_bytes(body),
    )
    found.id = _text(item.get("id")) or found.id
    found.provider = _text(item.get("provider")) or (found.provider if url else None)
    found.wire = _text(item.get("wire")) or found.wire or wire
    found.model = _text(item.get("model")) or found.model
    if isinstance(item.get("stream"), bool):
        found.stream = item["stream"]
    if found.wire is None and not url:
        raise UnreadableSource(f"no recording: {names[1]!r} fits no wire that is known", hint="pass it with --wire")
    return found


def _names(item: dict[str, Any]) -> tuple[str, str] | None:
    return next((pair for pair in PAIRS.items() if all(name in item for name in pair)), None)


def _message(value: Any, members: tuple[str, ...]) -> tuple[Any, str, int | None, dict[str, str]]:
    """The body of one side, its address, status and headers; a value with one of ``members`` is a body itself."""
    if not isinstance(value, dict) or any(name in value for name in members) or value.get("type") == "message":
        return value, "", None, {}
    name = next((name for name in _BODY if name in value), None)
    if name is None:
        return value, "", None, {}
    return value[name], _first(value, _URL), status_of(value), _headers(value, "headers")


def _headers(item: dict[str, Any], name: str) -> dict[str, str]:
    return http.headers_of(optional_mapping(item, name).items())


def _first(item: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := _text(item.get(name)))), "")


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _bytes(value: Any) -> bytes | None:
    if value is None or isinstance(value, (str, bytes)):
        return spelled(value)
    if isinstance(value, dict) and ("base64_string" in value or "string" in value):
        return spelled(value)
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return spelled("".join(one if one.endswith("\n") else f"{one}\n\n" for one in value))
    return jsontext.encode(value)
