"""The client in front of the gateway: it sends one request and keeps the raw reply (`RawClient`)."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

from msgspec import Struct

from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.registry import spec

from ..raw_client import REDACTED, TIMEOUT, OnBody, RawClient, Reply, Unreachable
from .errors import GatewayFailed

__all__ = ["KEY", "REDACTED", "TIMEOUT", "Address", "Client", "Reply", "address", "auth_headers", "curl"]


class Address(Struct, frozen=True):
    """The base URL of a gateway, without credentials and without /v1. ``authorization``: from the URL, or ""."""

    url: str
    authorization: str = ""

    @property
    def parts(self) -> SplitResult:
        return urlsplit(self.url)


def address(url: str) -> Address:
    """Parse a gateway's URL. Raises GatewayFailed, with a message that never contains credentials."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise GatewayFailed(f"the gateway's URL is invalid: {error}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise GatewayFailed("the gateway's URL needs http or https and a host", hint="http://127.0.0.1:4000")
    place = f"[{host}]" if ":" in host else host
    base = urlunsplit((parts.scheme, place + (f":{port}" if port else ""), _without_v1(parts.path), "", ""))
    authorization = ""
    if parts.username is not None:
        pair = f"{parts.username}:{parts.password or ''}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return Address(base, authorization)


def _without_v1(path: str) -> str:
    return path.rstrip("/").removesuffix("/v1")


class Client(RawClient):
    """Connections to one gateway, for one thread. ``headers``: added to every request."""

    def __init__(self, target: Address, headers: Mapping[str, str], *, timeout: float = TIMEOUT) -> None:
        super().__init__(target.parts, headers, authorization=target.authorization, timeout=timeout)
        self.target = target

    def url(self, wire: str) -> str:
        """Return the URL for requests of a wire."""
        return self.target.url + _path(wire)

    def send(self, wire: str, body: Any, headers: Mapping[str, str], on_body: OnBody | None = None) -> Reply:
        """Send a request and return the reply. ``on_body``: as in `RawClient.request`.

        Raises GatewayFailed if the connection fails, and TimeoutError if the reply takes too long.
        """
        return self.ask(_path(wire), body, headers, on_body)

    def ask(self, path: str, body: Any, headers: Mapping[str, str], on_body: OnBody | None = None) -> Reply:
        """Send a request to a path; without a body, a GET request. Raises as `send` does."""
        sent = {"content-type": "application/json", **auth_headers(self.target), **self._headers, **headers}
        method, data = ("GET", None) if body is None else ("POST", json_codec.encode(body))
        try:
            return self.request(method, self.target.parts.path + path, data, sent, on_body)
        except Unreachable as error:
            reason = f"the gateway cannot be reached: {error.what}"
            raise GatewayFailed(reason, where=self.target.url, hint="is it running?") from None


def auth_headers(target: Address) -> dict[str, str]:
    """Return the headers with which clients of the wires authenticate. The key is not a secret."""
    authorization = target.authorization or f"Bearer {KEY}"
    return {"authorization": authorization, "x-api-key": KEY, "anthropic-version": "2023-06-01"}


#: The key that the client sends if the caller names no other one.
KEY = "sk-toolparity"


def curl(url: str, body: Any, headers: Mapping[str, str]) -> str:
    """Return the request as a command for a shell; without a body, a GET request."""
    lines = ["curl", "-sN", url, "-H", "content-type: application/json"]
    for name, value in headers.items():
        lines += ["-H", f"{name}: {value}"]
    return shlex.join([*lines, "-d", json_codec.text(body)] if body is not None else lines)


def _path(wire: str) -> str:
    facts = spec(wire)
    return facts.base_path + facts.path
