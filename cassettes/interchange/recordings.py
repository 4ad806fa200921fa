"""Our recordings: JSON lines, one exchange a line, with the address and the headers under ``http``.

The other members are those that `sources.recordings` reads. A line without ``http`` has no address, so that no cassette
can be made of it.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import ToolparityError

from ..errors import UnreadableSource
from ..sources import http
from ..sources.bodies import from_base64
from ..sources.entries import mapping
from .members import extended, extension, headers_from, text_or_base64, without
from .model import CassetteContent, Interaction, Request, Response, grouped

NAME = "recordings"
SUFFIX = ".jsonl"

_MEMBERS = (
    *("id", "provider", "wire", "model", "stream", "status", "content_type", "request", "body", "body_encoding"),
    "http",
)


def recognizes(data: Any) -> bool:
    """Return whether these are lines of recordings."""
    return isinstance(data, list) and bool(data) and all(isinstance(row, dict) and "body" in row for row in data)


def items(data: Any) -> list[Any]:
    """Return the lines."""
    return list(data)


def read(data: Any) -> CassetteContent:
    """Return the content of parsed lines. Raises UnreadableSource."""
    content = CassetteContent([read_item(row) for row in data])
    if data and isinstance(data[0].get("http"), dict):
        content.rest = dict(data[0]["http"].get("file") or {})
    return content


def read_item(row: Any) -> Interaction:
    """Return one line. Raises UnreadableSource."""
    row = mapping(row, "a recording")
    sent = row.get("http")
    if not isinstance(sent, dict):
        raise UnreadableSource("the recording has no address", hint="only lines with a member http can be converted")
    if not isinstance(row.get("status"), int):
        raise UnreadableSource("the recording has no status")
    if not isinstance(sent.get("method"), str) or not isinstance(sent.get("uri"), str):
        raise UnreadableSource("the recording has no method or no address")
    request = row.get("request")
    body = sent.get("request_body")
    interaction = Interaction(
        Request(
            sent["method"],
            sent["uri"],
            headers_from(sent.get("request_headers")),
            from_base64(body) if body is not None else None if request is None else json_codec.encode(request),
        ),
        Response(row["status"], headers_from(sent.get("response_headers")), _response_body(row, sent)),
    )
    return extended(interaction, sent.get("rest"), NAME, without(row, *_MEMBERS))


def write(content: CassetteContent) -> bytes:
    """Return the lines."""
    rows = [write_item(number, item) for number, item in enumerate(content.interactions, 1)]
    if rows and content.rest:
        rows[0]["http"]["file"] = content.rest
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def write_item(number: int, interaction: Interaction) -> dict[str, Any]:
    """Return one line as plain data."""
    request, response = interaction.request, interaction.response
    headers = http.headers_of(response.headers)
    try:
        read = http.exchange(
            "",
            None,
            method=request.method,
            url=request.uri,
            request_headers={},
            request=request.body,
            status=response.status,
            headers=headers,
            body=response.body,
        )
        body, value = read.body or b"", read.request
        facts = {"provider": read.provider, "wire": read.wire, "model": read.model, "stream": read.stream}
    except ToolparityError:  # the body cannot be unpacked: it is written as it is
        body, value, facts = response.body, None, {}
    text, packed = text_or_base64(body)
    is_exact = value is not None and json_codec.encode(value) == request.body
    sent: dict[str, Any] = {
        "method": request.method,
        "uri": request.uri,
        "request_headers": grouped(request.headers),
        "response_headers": grouped(response.headers),
    }
    if request.body is not None and not is_exact:
        sent["request_body"] = base64.b64encode(request.body).decode()
    if body != response.body:
        sent["response_body"] = base64.b64encode(response.body).decode()
    beside = extension(interaction, NAME)
    return {
        "id": str(number),
        **facts,
        "status": response.status,
        "content_type": headers.get("content-type"),
        "request": value,
        "body": packed if text is None else text,
        **({"body_encoding": "base64"} if text is None else {}),
        "http": sent | ({"rest": beside} if beside else {}),
        **(interaction.rest.get(NAME) or {}),
    }


def _response_body(row: dict[str, Any], sent: dict[str, Any]) -> bytes:
    if sent.get("response_body") is not None:
        return from_base64(sent["response_body"])
    body = row.get("body") or ""
    if not isinstance(body, str):
        raise UnreadableSource("the body of the response is not text")
    return from_base64(body) if row.get("body_encoding") == "base64" else body.encode("utf-8", "surrogatepass")
