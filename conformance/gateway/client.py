"""The client in front of the gateway: it sends one request and keeps the raw reply.

No SDK is used, because an SDK repairs, validates or drops parts of a reply before anything can be judged.
"""

from __future__ import annotations

import base64
import http.client
import shlex
import ssl
from collections.abc import Mapping
from io import BufferedReader
from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

from msgspec import Struct
from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.registry import spec

from .errors import GatewayFailed

#: Seconds without a byte of the reply. While a gateway in one process works on a long response, other clients wait.
TIMEOUT = 120.0
#: The headers whose values are credentials.
_OF_CREDENTIALS = ("authorization", "proxy-authorization", "x-api-key", "api-key", "cookie")
#: Replaces a credential in a reply.
REDACTED = b"[redacted]"
_LARGEST_READ = 1 << 16
_LARGEST_LINE = 1 << 16


class Reply(Struct, frozen=True):
    """A raw reply. ``body``: what arrived of it. ``broken``: why it ended early, or "". ``status``: 0 if there is none.

    Credentials in it are replaced (see `Client`), so that it can be shown.
    """

    status: int
    body: bytes
    broken: str = ""


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


class Client:
    """Connections to one gateway, for one thread.

    ``headers``: added to every request. Connections are kept open between requests.

    Gateways repeat headers in their errors. In an error reply every value of ``headers`` is replaced. In any other
    reply only the credentials are, because a value such as a provider's name may be part of what is judged.
    """

    def __init__(self, target: Address, headers: Mapping[str, str], *, timeout: float = TIMEOUT) -> None:
        self.target = target
        self._headers = dict(headers)
        self._credentials = _credentials({"authorization": target.authorization, **headers})
        self._timeout = timeout
        self._connection: http.client.HTTPConnection | None = None

    def url(self, wire: str) -> str:
        """Return the URL for requests of a wire."""
        return self.target.url + _path(wire)

    def send(self, wire: str, body: Any, headers: Mapping[str, str]) -> Reply:
        """Send a request and return the reply.

        Raises GatewayFailed if the connection fails, and TimeoutError if the reply takes too long.
        """
        data = json_codec.encode(body)
        sent = {"content-type": "application/json", **auth_headers(self.target), **self._headers, **headers}
        path = self.target.parts.path + _path(wire)
        kept = self._connection is not None
        response = self._request(path, data, sent)
        if response is None and kept:  # the gateway may close a connection that was idle
            response = self._request(path, data, sent)
        if response is None:
            return Reply(0, b"", "the gateway closed the connection without a reply")
        return self._redacted(self._read(response))

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _request(self, path: str, data: bytes, headers: Mapping[str, str]) -> http.client.HTTPResponse | None:
        """Send a request and return its response; None if the gateway closed the connection without one."""
        try:
            connection = self._connected()
        except TimeoutError:
            raise
        except (http.client.HTTPException, OSError) as error:
            raise _unreachable(self.target, error) from None
        try:
            connection.request("POST", path, data, dict(headers))
            return connection.getresponse()
        except TimeoutError:
            self.close()
            raise
        except (http.client.HTTPException, OSError):
            self.close()
            return None

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            parts = self.target.parts
            host = parts.hostname or ""
            connection = (
                http.client.HTTPSConnection(
                    host, parts.port, timeout=self._timeout, context=ssl.create_default_context()
                )
                if parts.scheme == "https"
                else http.client.HTTPConnection(host, parts.port, timeout=self._timeout)
            )
            connection.connect()
            self._connection = connection
        return self._connection

    def _redacted(self, reply: Reply) -> Reply:
        secrets = self._credentials
        if reply.status >= 400:
            secrets = {*secrets, *(value for value in self._headers.values() if value)}
        body = reply.body
        for secret in sorted(secrets, key=len, reverse=True):
            body = body.replace(secret.encode(), REDACTED)
        return reply if body is reply.body else replace(reply, body=body)

    def _read(self, response: http.client.HTTPResponse) -> Reply:
        body, broken = bytearray(), ""
        try:
            if response.chunked:
                _read_chunks(response, body)
            else:
                while piece := response.read1(_LARGEST_READ):
                    body += piece
                if response.length:
                    broken = f"the body ended early: {response.length} bytes are missing"
        except TimeoutError:
            self.close()
            raise
        except (http.client.HTTPException, OSError, ValueError) as error:
            broken = f"{type(error).__name__}: {error}"
        response.close()  # so that the connection can send the next request
        if broken or response.will_close:
            self.close()
        return Reply(response.status, bytes(body), broken)


def _credentials(headers: Mapping[str, str]) -> set[str]:
    """Return the credentials in headers, each as it is sent and as the caller wrote it."""
    found: set[str] = set()
    for name, value in headers.items():
        if name.lower() not in _OF_CREDENTIALS:
            continue
        scheme, _, credential = value.rpartition(" ")
        found.add(credential)
        if scheme.lower() == "basic":
            name_and_password = base64.b64decode(credential).decode("utf-8", "replace")
            found.add(name_and_password.partition(":")[2])
    return found - {""}


def _read_chunks(response: http.client.HTTPResponse, body: bytearray) -> None:
    """Append the chunks of a response to ``body``.

    `HTTPResponse.read` loses what arrived before an error, and `read1` takes ten times as long for small chunks. Raises
    OSError, HTTPException, and ValueError for a chunk without a size.
    """
    source: BufferedReader = response.fp
    while size := int(source.readline(_LARGEST_LINE).partition(b";")[0], 16):
        chunk = source.read(size)
        body += chunk
        if len(chunk) < size or len(source.read(2)) < 2:
            raise http.client.IncompleteRead(chunk, size - len(chunk))
    while source.readline(_LARGEST_LINE) not in (b"\r\n", b"\n", b""):
        pass  # a trailer


def auth_headers(target: Address) -> dict[str, str]:
    """Return the headers with which clients of the wires authenticate. The key is not a secret."""
    authorization = target.authorization or f"Bearer {KEY}"
    return {"authorization": authorization, "x-api-key": KEY, "anthropic-version": "2023-06-01"}


#: The key that the client sends if the caller names no other one.
KEY = "sk-toolparity"


def curl(url: str, body: Any, headers: Mapping[str, str]) -> str:
    """Return the request as a command for a shell."""
    lines = ["curl", "-sN", url, "-H", "content-type: application/json"]
    for name, value in headers.items():
        lines += ["-H", f"{name}: {value}"]
    return shlex.join([*lines, "-d", json_codec.text(body)])


def _path(wire: str) -> str:
    facts = spec(wire)
    return facts.base_path + facts.path


def _unreachable(target: Address, error: Exception) -> GatewayFailed:
    reason = str(error) or type(error).__name__
    return GatewayFailed(f"the gateway cannot be reached: {reason}", where=target.url, hint="is it running?")
