"""Construction of an HTTP exchange from the parts that every format has under its own names, or from a single body."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.detect import detect_body
from toolparity.normalizer.errors import AmbiguousBody, ToolparityError
from toolparity.normalizer.wires.limits import is_error
from toolparity.normalizer.wires.shapes import whole_wire

from ..emulation_marker import HEADER
from ..errors import UnreadableSource
from .bodies import unpacked
from .call_count import calls_in
from .endpoints import classify, with_model
from .model import Exchange

_STREAMS = ("text/event-stream", "application/vnd.amazon.eventstream", "application/x-ndjson")
_STREAM_STARTS = (b"data:", b"event:", b": ", b"id:", b"retry:", b"\x00")

#: The members that hold the address, of which the first counts. WireMock has those from the third on.
_ADDRESSES = ("uri", "absoluteUrl", "url", "urlPath", "urlPathTemplate", "urlPattern", "urlPathPattern")


def headers_of(pairs: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    """Return headers with lower-case names. Several values of one name are joined with commas."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        values = value if isinstance(value, list) else [value]
        headers[str(name).lower()] = ", ".join(str(v) for v in values if v is not None)
    return headers


def exchange(
    source: str,
    line: int | None,
    *,
    method: str | None,
    url: str,
    request_headers: dict[str, str],
    request: bytes | None,
    status: int | None,
    headers: dict[str, str],
    body: bytes | None,
    provenance: dict[str, Any] | None = None,
) -> Exchange:
    """Build the exchange. Raises UnreadableSource if the body cannot be unpacked."""
    address = classify(url)
    body = unpacked(body or b"", headers.get("content-encoding"))
    content_type = headers.get("content-type")
    value = parsed(request)
    wire = address.wire or wire_of(body)
    if isinstance(value, dict):
        value = with_model(value, wire, url)
    model = value.get("model", value.get("modelId")) if isinstance(value, dict) else None
    return Exchange(
        source=source,
        line=line,
        id=headers.get("request-id") or headers.get("x-request-id"),
        provider=address.provider,
        wire=wire,
        stream=is_stream(body, content_type),
        status=status,
        content_type=content_type,
        model=model if isinstance(model, str) else None,
        url=address.url,
        address=url,
        method=method,
        request=value,
        sent=request,
        request_headers=request_headers,
        origin=headers.get(HEADER),
        body=body,
        provenance=provenance,
    )


def count_calls(made: Exchange, response: Any = None) -> None:
    """Count the calls in a response independently. ``response``: its value in the file, by default that of its body."""
    body = parsed(made.body)
    value = body if response is None else response
    made.calls = calls_in(value)
    is_known = isinstance(body, dict) and (whole_wire(body) is not None or is_error(body))
    if not made.calls and body is not None and not is_known:
        made.calls = calls_in(value, texts=True)
    if made.stream:  # a call can be in several events
        made.calls = min(made.calls, 1)


def single_body(source: str, line: int | None, body: bytes, wire: str | None = None) -> Exchange:
    """Read one body. ``wire``: its wire, if known. Raises UnreadableSource if the wire cannot be detected."""
    if not body.strip():
        raise UnreadableSource("the file contains only white space" if body else "the file is empty")
    if wire is None:
        try:
            wire = detect_body(body)
        except AmbiguousBody as error:
            candidates = f"a body that could be {' or '.join(error.candidates)}" if error.candidates else ""
            raise UnreadableSource(candidates or f"no traffic: {error.what}", hint="pass it with --wire") from None
        except (ToolparityError, ValueError, RecursionError):
            raise _not_traffic(body) from None
    return Exchange(source=source, line=line, wire=wire, stream=is_stream(body, None), body=body)


def _not_traffic(body: bytes) -> UnreadableSource:
    if body.lstrip()[:1] in (b"{", b"["):
        try:
            json_codec.decode(body)
        except (ValueError, RecursionError) as error:
            return UnreadableSource(
                f"no traffic: the JSON is cut or invalid: {error}", hint="copy the whole body again"
            )
    return UnreadableSource(
        "no traffic: neither a body nor a stream of events", hint="--format text is for lines of text with JSON"
    )


def parsed(body: bytes | None) -> Any:
    """Return a request's JSON value, or None if the body is not JSON (a form, an upload)."""
    if not body:
        return None
    try:
        return json_codec.decode(body)
    except (ValueError, RecursionError):
        return None


def is_stream(body: bytes, content_type: str | None) -> bool:
    """Return whether the response was streamed.

    The body takes precedence over its content type, because proxies and recorders rewrite headers.
    """
    start = body[:16].lstrip()
    if start.startswith(_STREAM_STARTS):
        return True
    if start.startswith(b"{"):  # one object is a plain answer; one object per line is a stream
        return parsed(body) is None and parsed(body.lstrip().split(b"\n", 1)[0]) is not None
    return (content_type or "").lower().startswith(_STREAMS) or start.startswith(b"[")


def wire_of(body: bytes) -> str | None:
    """Return the wire that the body fits, or None if it fits no wire or several."""
    try:
        return detect_body(body) if body else None
    except (ToolparityError, ValueError, RecursionError):
        return None


def mapping(item: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the member, which must be a mapping. Raises UnreadableSource."""
    value = item.get(key)
    if not isinstance(value, dict):
        raise UnreadableSource(f"invalid interaction: {key!r} is {'missing' if value is None else 'not a mapping'}")
    return value


def optional_mapping(item: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the member if it is a mapping, else an empty one."""
    value = item.get(key)
    return value if isinstance(value, dict) else {}


def status_of(response: dict[str, Any]) -> int | None:
    """Return the HTTP status from a number, a mapping with ``code``, or text like "200 OK"; else None."""
    status = response.get("status", response.get("status_code", response.get("code")))
    if isinstance(status, dict):
        status = status.get("code", status.get("status_code"))
    if isinstance(status, str):
        status = status.strip().partition(" ")[0]
    try:
        return int(status)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def method_of(request: dict[str, Any]) -> str | None:
    """Return the HTTP method in capitals, or None if the recorder kept none."""
    method = request.get("method")
    return method.upper() if isinstance(method, str) and method else None


def address_of(request: dict[str, Any]) -> str:
    """Return the address, which can be a pattern, with a separately kept query, or "" if there is none."""
    address = next((request[name] for name in _ADDRESSES if request.get(name)), "")
    query = request.get("query_string")
    return f"{address}?{query}" if address and query else str(address)
