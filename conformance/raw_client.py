"""An HTTP client that keeps a reply as it arrived: its bytes, and why it ended early.

No SDK is used, because an SDK repairs, validates or drops parts of a reply before anything can be judged.
"""

from __future__ import annotations

import base64
import http.client
import ssl
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from io import BufferedReader
from urllib.parse import SplitResult

from msgspec import Struct
from msgspec.structs import replace

from toolparity.normalizer.errors import ToolparityError

#: Seconds without a byte of the reply. While a gateway in one process works on a long response, other clients wait.
TIMEOUT = 120.0
#: The headers whose values are credentials.
_OF_CREDENTIALS = ("authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie")
#: Replaces a credential in a reply.
REDACTED = b"[redacted]"
#: A shorter value is not a secret, and replacing it would change words of the reply.
_SHORTEST = 6
#: Gets the body of a reply as far as it has arrived.
OnBody = Callable[[bytes], None]
_LARGEST_READ = 1 << 16
_LARGEST_LINE = 1 << 16


def redacted(data: bytes, secrets: Iterable[str]) -> bytes:
    """Return data without secrets, the longest first, because one may be a part of another."""
    for secret in sorted(secrets, key=len, reverse=True):
        data = data.replace(secret.encode(), REDACTED) if len(secret) >= _SHORTEST else data
    return data


class Unreachable(ToolparityError):
    """No connection to the server could be opened."""


class Reply(Struct, frozen=True):
    """A raw reply. ``body``: what arrived of it. ``broken``: why it ended early, or "". ``status``: 0 if there is none.

    ``headers``: by their names in lower case. Credentials are replaced (see `RawClient`), so that it can be shown.
    """

    status: int
    body: bytes
    broken: str = ""
    headers: Mapping[str, str] = {}


class RawClient:
    """Connections to one server, for one thread. Connections are kept open between requests.

    ``headers``: added to every request, and ``authorization`` if it is not "". Servers repeat headers in their errors.
    In an error reply every value of ``headers`` is replaced. In any other reply only the credentials are, because a
    value such as a provider's name may be part of what is judged.
    """

    def __init__(
        self, server: SplitResult, headers: Mapping[str, str], *, authorization: str = "", timeout: float = TIMEOUT
    ) -> None:
        self._server = server
        self._headers = dict(headers)
        self._credentials = _credentials({"authorization": authorization, **headers})
        self._timeout = timeout
        self._connection: http.client.HTTPConnection | None = None

    def request(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str], on_body: OnBody | None = None
    ) -> Reply:
        """Send a request and return the reply. ``headers``: replace those of the client.

        ``on_body`` is called with the body as far as it has arrived, after each part of it.

        Raises Unreachable if the connection fails, and TimeoutError if the reply takes too long.
        """
        sent = {**self._headers, **headers}
        kept = self._connection is not None
        response = self._response(method, path, data, sent)
        if response is None and kept:  # the server may close a connection that was idle
            response = self._response(method, path, data, sent)
        if response is None:
            return Reply(0, b"", "the server closed the connection without a reply")
        return self._redacted(self._read(response, on_body))

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _response(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse | None:
        """Send a request and return its response; None if the server closed the connection without one."""
        try:
            connection = self._connected()
        except TimeoutError:
            raise
        except (http.client.HTTPException, OSError) as error:
            raise Unreachable(str(error) or type(error).__name__) from None
        try:
            connection.request(method, path, data, dict(headers))
            return connection.getresponse()
        except TimeoutError:
            self.close()
            raise
        except (http.client.HTTPException, OSError):
            self.close()
            return None

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            host, port = self._server.hostname or "", self._server.port
            connection = (
                http.client.HTTPSConnection(host, port, timeout=self._timeout, context=ssl.create_default_context())
                if self._server.scheme == "https"
                else http.client.HTTPConnection(host, port, timeout=self._timeout)
            )
            connection.connect()
            self._connection = connection
        return self._connection

    def _redacted(self, reply: Reply) -> Reply:
        secrets = self._credentials
        if reply.status >= 400:
            secrets = {*secrets, *self._headers.values()}
        body, headers = redacted(reply.body, secrets), dict(reply.headers)
        for secret in sorted(self._credentials, key=len, reverse=True):
            headers = {name: value.replace(secret, REDACTED.decode()) for name, value in headers.items()}
        return replace(reply, body=body, headers=headers)

    def _read(self, response: http.client.HTTPResponse, on_body: OnBody | None) -> Reply:
        body, broken = bytearray(), ""
        packed = response.headers.get("content-encoding", "").lower() == "gzip"  # some send it without being asked
        unpacked = zlib.decompressobj(wbits=31).decompress if packed else bytes
        try:
            for piece in _chunks(response) if response.chunked else iter(partial(response.read1, _LARGEST_READ), b""):
                body += unpacked(piece)
                if on_body is not None:
                    on_body(bytes(body))
            if not response.chunked and response.length:
                broken = f"the body ended early: {response.length} bytes are missing"
        except TimeoutError:
            self.close()
            raise
        except (http.client.HTTPException, OSError, ValueError, zlib.error) as error:
            broken = f"{type(error).__name__}: {error}"
        response.close()  # so that the connection can send the next request
        if broken or response.will_close:
            self.close()
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status, bytes(body), broken, headers)


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
    return {credential for credential in found if len(credential) >= _SHORTEST}


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the chunks of a response, and also what arrived of one that was cut.

    `HTTPResponse.read` loses what arrived before an error, and `read1` takes ten times as long for small chunks. Raises
    OSError, HTTPException, and ValueError for a chunk without a size.
    """
    source: BufferedReader = response.fp
    while size := int(source.readline(_LARGEST_LINE).partition(b";")[0], 16):
        chunk = source.read(size)
        yield chunk
        if len(chunk) < size or len(source.read(2)) < 2:
            raise http.client.IncompleteRead(chunk, size - len(chunk))
    while source.readline(_LARGEST_LINE) not in (b"\r\n", b"\n", b""):
        pass  # a trailer
