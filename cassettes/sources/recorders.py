"""Entries of recorders of HTTP traffic: a request and its response, under the names of each recorder.

    {"request": {"method", "uri" | "url", "headers", "body"}, "response": {"status", "headers", "body"}}

vcrpy, VCR for Ruby and R, go-vcr, Betamax, req_cassette, HAR (also of Polly.js) and WireMock have this form; their
notations of bodies are in `bodies`. `_FLAT` lists the recorders whose entries have all members at one level.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ..errors import UnreadableSource
from . import http, wiremock
from .bodies import body_of, plain
from .http import address_of, headers_of, mapping, method_of, optional_mapping, status_of
from .model import Exchange


class _Flat(NamedTuple):
    """The members of an entry. Of ``marks``, which only this recorder has, an entry has at least two."""

    method: str
    address: tuple[str, ...]
    request_headers: str
    request: str
    status: str
    headers: tuple[str, ...]
    response: str
    marks: str


_FLAT = (
    # The test proxy of Azure's SDKs, its RecordEntry.cs
    _Flat(
        *("RequestMethod", ("RequestUri",), "RequestHeaders", "RequestBody"),
        *("StatusCode", ("ResponseHeaders",), "ResponseBody"),
        marks="RequestMethod RequestUri RequestHeaders RequestBody ResponseHeaders ResponseBody",
    ),
    # nock, its lib/recorder.js
    _Flat(
        *("method", ("scope", "path"), "reqheaders", "body"),
        *("status", ("rawHeaders", "headers"), "response"),
        marks="scope path reqheaders rawHeaders responseIsBinary",
    ),
)
#: Members of a request or a response that only WireMock and HAR have.
_MARKS = frozenset(("bodyPatterns", "jsonBody", "base64Body", "bodyAsBase64", "bodyFileName", "postData"))


def claims(item: dict[str, Any]) -> bool:
    """Return whether an object is an entry of a recorder, by members that nothing else has."""
    request, response = item.get("request"), item.get("response")
    if isinstance(request, dict) and isinstance(response, dict):
        return not _MARKS.isdisjoint((*request, *response)) or "mimeType" in optional_mapping(response, "content")
    return _flat(item) is not None


def exchange(source: str, line: int | None, item: dict[str, Any]) -> Exchange:
    """Read one entry. Raises UnreadableSource if it has another shape or keeps no body of the response."""
    request, response = _halves(source, item)
    headers = _headers(response)
    kind = optional_mapping(response, "content").get("mimeType")
    if kind:
        headers.setdefault("content-type", str(kind))
    body = body_of(response)
    if body is None and isinstance(response.get("content"), dict):
        raise UnreadableSource("the entry has no response body", hint="export the HAR with content")
    recorded_at = item.get("recorded_at", item.get("startedDateTime"))
    made = http.exchange(
        source,
        line,
        method=method_of(request),
        url=address_of(request),
        request_headers=_headers(request),
        request=body_of(request),
        status=status_of(response),
        headers=headers,
        body=body,
        provenance=None if recorded_at is None else {"recorded_at": str(recorded_at)},
    )
    http.count_calls(made)
    return made


def _halves(source: str, item: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the request and the response in the common form."""
    names = _flat(item)
    if names is None:
        return wiremock.halves(os.path.dirname(source), mapping(item, "request"), mapping(item, "response"))
    if names.response not in item:
        raise UnreadableSource(f"the entry has no response body: {names.response!r} is missing")
    address = "".join(str(item.get(name) or "") for name in names.address)
    return {
        "method": item.get(names.method),
        "uri": address,
        "headers": item.get(names.request_headers),
        "body": plain(item.get(names.request)),
    }, {
        "status": item.get(names.status),
        "headers": next((item[name] for name in names.headers if name in item), None),
        "body": plain(item[names.response]),
    }


def _flat(item: dict[str, Any]) -> _Flat | None:
    return next((names for names in _FLAT if sum(mark in item for mark in names.marks.split()) > 1), None)


def _headers(half: dict[str, Any]) -> dict[str, str]:
    """Return headers that are a mapping, a list of names and values, or a list of mappings of them (HAR)."""
    headers = half.get("headers")
    if isinstance(headers, list):
        pairs = [(one.get("name"), one.get("value")) for one in headers if isinstance(one, dict)]
        return headers_of(pairs or zip(headers[::2], headers[1::2], strict=False))
    return headers_of(headers.items()) if isinstance(headers, dict) else {}
