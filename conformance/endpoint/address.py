"""The addresses and headers of the requests to an endpoint."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

from msgspec import Struct

from toolparity.normalizer.wires.registry import spec

from .errors import EndpointFailed

_VERSION = re.compile(r"/v\d+(alpha|beta)?\d*$")


class Endpoint(Struct, frozen=True):
    """An endpoint of one wire. ``url``: the base URL without credentials. ``authorization``: from the URL, or "".

    The URL is the base URL that the wire's official SDK takes, or the complete URL of a request.
    """

    wire: str
    url: str
    authorization: str = ""

    @property
    def parts(self) -> SplitResult:
        return urlsplit(self.url)

    def path(self, model: str, *, stream: bool) -> str:
        """Return the path of a request, with the query that a stream needs."""
        facts = spec(self.wire)
        path = facts.stream_path if stream and facts.stream_path else facts.path
        base = self.parts.path
        if base.endswith(facts.path) and "{model}" not in facts.path:
            return base
        return self._below(base, path).replace("{model}", quote(model, safe="")) + facts.stream_query * stream

    @property
    def models_path(self) -> str:
        """The path of the list of models, or "" if the wire has none."""
        path, base = spec(self.wire).models_path, self.parts.path.removesuffix(spec(self.wire).path)
        return self._below(base, path) if path else ""

    def _below(self, base: str, path: str) -> str:
        """Return the path of a request below the base URL, which may or may not contain the version of the API."""
        facts = spec(self.wire)
        if facts.base_path:  # the SDK's base URL ends with the version
            return (base or facts.base_path) + path
        if _VERSION.search(base):
            return base + re.sub(r"^/v\d+", "", path)
        return base + (re.sub(r"^/v1(?=/)", facts.version, path) if facts.version else path)

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers of every request. ``key``: the API key, or "" for an endpoint without keys."""
        facts = spec(self.wire)
        headers = {"content-type": "application/json", **facts.headers}
        if self.authorization:
            headers["authorization"] = self.authorization
        elif key:
            headers[facts.key_header or "authorization"] = key if facts.key_header else f"Bearer {key}"
        return headers


def endpoint(url: str, wire: str) -> Endpoint:
    """Parse the URL of an endpoint. Raises EndpointFailed, with a message that never contains credentials."""
    try:
        parts = urlsplit(url.strip())
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise EndpointFailed(f"the URL is invalid: {error}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise EndpointFailed("the URL needs http or https and a host", hint="for example http://127.0.0.1:8000/v1")
    if parts.query:
        hint = "pass the base URL without it; a key is --api-key-env, or a header with --header"
        raise EndpointFailed("the URL has a query, which no request would have", hint=hint)
    place = f"[{host}]" if ":" in host else host
    base = urlunsplit((parts.scheme, place + (f":{port}" if port else ""), parts.path.rstrip("/"), "", ""))
    authorization = ""
    if parts.username is not None:
        pair = f"{parts.username}:{parts.password or ''}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return Endpoint(wire, base, authorization)


def wire_members(wire: str, *, stream: bool) -> Mapping[str, Any]:
    """Return the members that a request needs besides the conversation: for a stream, its usage, and required ones."""
    facts = spec(wire)
    members = dict(facts.members)
    if not facts.stream_path and (stream or facts.streams_by_default):
        members["stream"] = stream
    return {**members, **facts.stream_members} if stream else members
