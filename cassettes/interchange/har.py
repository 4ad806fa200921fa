"""HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/): ``log.entries`` of requests and responses.

Members that HAR derives from others are computed again and not compared: cookies, the query as pairs, sizes and the
redirect. A request body that is not UTF-8 is refused, because ``postData.text`` has no encoding.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ..errors import UnreadableSource
from ..sources.bodies import from_base64, spelled
from ..sources.entries import mapping, mappings
from ..sources.http import optional_mapping
from .members import (
    HAR_EXTENSION,
    UNKNOWN_TIME,
    combined,
    extended,
    extension,
    moment,
    nonempty,
    rfc3339,
    status_from,
    text_or_base64,
    uri_from,
    without,
)
from .model import CassetteContent, Headers, Interaction, Request, Response, first

NAME = "har"
SUFFIX = ".har"

_CREATOR = {"name": "toolparity", "version": "1"}
_UNMEASURED = {"time": 0, "cache": {}, "timings": {"send": 0, "wait": 0, "receive": 0}}
_DERIVED = ("cookies", "queryString", "headersSize", "bodySize", "redirectURL")
_HTTP = "HTTP/"


def recognizes(data: Any) -> bool:
    """Return whether this is the top of a HAR file of any tool but Polly.js."""
    log = data.get("log") if isinstance(data, dict) else None
    return isinstance(log, dict) and isinstance(log.get("entries"), list) and "_recordingName" not in log


def items(data: Any) -> list[Any]:
    """Return the entries as the file has them."""
    return list(data["log"]["entries"])


def read(data: Any, name: str = NAME) -> CassetteContent:
    """Return the content of a parsed file of the format ``name``. Raises UnreadableSource."""
    log = mapping(data.get("log"), "log")
    rest = without(log, "entries", "version", HAR_EXTENSION)
    if rest.get("creator") == _CREATOR:
        del rest["creator"]
    beside = log.get(HAR_EXTENSION) or {}
    interactions = [read_item(item, name) for item in items(data)]
    return CassetteContent(interactions, beside | ({name: rest} if rest else {}))


def read_item(item: Any, name: str = NAME) -> Interaction:
    """Return one entry of the format ``name``. Raises UnreadableSource."""
    item = mapping(item, "an entry")
    request, response = mapping(item.get("request"), "request"), mapping(item.get("response"), "response")
    posted, content = optional_mapping(request, "postData"), optional_mapping(response, "content")
    interaction = Interaction(
        Request(
            str(request.get("method") or "GET").upper(),
            uri_from(request),
            _headers(request),
            spelled(posted.get("text")),
        ),
        Response(
            status_from(response),
            _headers(response),
            _content(content),
            response.get("statusText"),
            str(response.get("httpVersion") or "").removeprefix(_HTTP) or None,
        ),
        rfc3339(moment(item.get("startedDateTime"))),
    )
    rest = {
        **{key: value for key, value in item.items() if _UNMEASURED.get(key, ...) != value},
        "request": without(request, "method", "url", "headers", "postData", *_DERIVED)
        | nonempty("postData", without(posted, "text", "mimeType")),
        "response": without(response, "status", "statusText", "httpVersion", "headers", "content", *_DERIVED)
        | nonempty("content", without(content, "text", "encoding", "mimeType", "size")),
    }
    if rest["request"].get("httpVersion") == response.get("httpVersion"):
        del rest["request"]["httpVersion"]
    kept = {key: value for key, value in rest.items() if value != {} and key not in ("startedDateTime", HAR_EXTENSION)}
    return extended(interaction, item.get(HAR_EXTENSION), name, kept)


def write(content: CassetteContent) -> bytes:
    """Return the text of a file. Raises UnreadableSource for what HAR cannot hold."""
    log = {"version": "1.2", "creator": _CREATOR, "entries": [write_item(item) for item in content.interactions]}
    return text_of(log, content, NAME)


def text_of(log: dict[str, Any], content: CassetteContent, name: str) -> bytes:
    """Return the text of a file with the other members of its content."""
    beside = without(content.rest, name)
    log = combined(log, {HAR_EXTENSION: beside} if beside else {}, content.rest.get(name))
    return json.dumps({"log": log}, indent=2, ensure_ascii=False).encode()


def write_item(interaction: Interaction, name: str = NAME) -> dict[str, Any]:
    """Return one entry of the format ``name``. Raises UnreadableSource for what HAR cannot hold."""
    request, response = interaction.request, interaction.response
    exact = moment(interaction.recorded_at)
    version = _HTTP + (response.version or "")
    text, packed = text_or_base64(response.body)
    members: dict[str, Any] = {
        "startedDateTime": rfc3339(exact or UNKNOWN_TIME),
        **_UNMEASURED,
        "request": {
            "method": request.method,
            "url": request.uri,
            "httpVersion": version,
            "cookies": [],
            "headers": [{"name": key, "value": value} for key, value in request.headers],
            "queryString": [{"name": key, "value": value} for key, value in _query(request.uri)],
            "headersSize": -1,
            "bodySize": len(request.body or b""),
            **({} if request.body is None else {"postData": _posted(request)}),
        },
        "response": {
            "status": response.status,
            "statusText": response.reason or "",
            "httpVersion": version,
            "cookies": [],
            "headers": [{"name": key, "value": value} for key, value in response.headers],
            "content": {
                "size": len(response.body),
                "mimeType": first(response.headers, "content-type") or "",
                **({"text": text} if packed is None else {"text": packed, "encoding": "base64"}),
            },
            "redirectURL": first(response.headers, "location") or "",
            "headersSize": -1,
            "bodySize": len(response.body),
        },
    }
    held = ["version", "recorded_at", *(["reason"] if response.reason is not None else [])]
    beside = extension(interaction, name, held)
    if response.reason is None:
        beside["reason"] = None
    return combined(members, {HAR_EXTENSION: beside} if beside else {}, interaction.rest.get(name))


def _headers(half: dict[str, Any]) -> Headers:
    return [(str(pair.get("name")), str(pair.get("value"))) for pair in mappings(half.get("headers"), "headers")]


def _content(content: dict[str, Any]) -> bytes:
    text = content.get("text")
    if content.get("encoding") == "base64":
        return from_base64(text or "")
    return spelled(text) or b""


def _posted(request: Request) -> dict[str, str]:
    try:
        text = (request.body or b"").decode("utf-8")
    except UnicodeDecodeError:
        raise UnreadableSource("the request body is not UTF-8, and HAR has no notation for it") from None
    return {"mimeType": first(request.headers, "content-type") or "", "text": text}


def _query(uri: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(uri).query, keep_blank_values=True)
    except ValueError:
        return []
