"""Record-through: a request without a recorded response goes to an upstream, and its exchange becomes a cassette.

The cassette is scrubbed, and then scanned for secrets, before it is written; an exchange that still has one passes to
the client but is not recorded. Neither are errors and incomplete responses. The next request with the same meaning gets
the recorded response, also in later runs.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import httpx2
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from toolparity import __version__
from toolparity.normalizer.errors import ToolparityError

from .. import emulation_marker
from ..emulated.script_player import ProviderRefusal
from ..errors import CassetteNotWritten, SecretsLeft
from ..library.files import CassettePath, file_for, place_of
from ..library.interactions import interaction, trimmed
from ..library.provenance import Provenance, now
from ..library.writing import save, scanned, scrubbed
from ..secrets import Scrubber, refuse
from ..secrets.scanner import secrets_in
from ..sources.decoding import response_of
from ..sources.recorders import exchange as exchange_of
from ..surfaces import Surface
from .addresses import Address
from .hosted import DIRECT
from .journal import JournalEntry
from .provider_format import refused
from .response_index import ResponseIndex

#: Header fields of a request that belong to its connection, or to this server.
_OF_A_CONNECTION = frozenset(
    ("host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "content-length")
) | frozenset(("accept-encoding", "x-toolparity-scenario", "x-toolparity-fault"))
#: Header fields of a response that do not describe the decoded body.
_OF_A_TRANSFER = frozenset(("connection", "keep-alive", "transfer-encoding", "content-encoding", "content-length"))
#: In seconds. Only connecting is limited: how long a response may take is for the client to decide.
_TIMEOUT = httpx2.Timeout(None, connect=30.0)


class Sent(NamedTuple):
    """A request, and what its address and body say about it."""

    request: Request
    address: Address
    surface: Surface
    body: bytes
    stream: bool


def scrubbed_body(sent: Sent) -> bytes:
    """Return the body of a request as a recording has it, with its secrets replaced."""
    clean = Scrubber().cassette({"interactions": [{"request": _request(sent, str(sent.request.url)), "response": {}}]})
    body = clean["interactions"][0]["request"]["body"]
    return body.encode() if isinstance(body, str) else bytes(body or b"")


class RecordThrough:
    """Sends requests to upstreams and records the exchanges.

    ``targets``: base URL by provider, without the path of the API; "" for the others. ``library``: where the cassettes
    are written.
    """

    def __init__(self, index: ResponseIndex, library: Path, targets: Mapping[str, str]) -> None:
        self._index = index
        self._library = library
        self._targets = targets
        self._turns: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()

    def has(self, sent: Sent) -> bool:
        """Return whether a request has an upstream. Addresses of clouds that host other models have none."""
        return sent.address.hosting is DIRECT and self._target(sent.surface) is not None

    def _target(self, surface: Surface) -> str | None:
        return self._targets.get(surface.provider, self._targets.get(""))

    async def answer(self, sent: Sent, entry: JournalEntry) -> Response | None:
        """Send a request and return the response; a stream passes as it arrives, and ends when it is recorded.

        Equal requests are sent one after the other. Return None for one that waited if there is a recording now.
        """
        turn = self._turns.setdefault(_key(sent), asyncio.Lock())
        waits = turn.locked()
        await turn.acquire()
        try:
            if waits and self._index.match(sent.surface, scrubbed_body(sent), stream=sent.stream) is not None:
                turn.release()
                return None
            return await self._passed(sent, entry, turn)
        except BaseException:
            turn.release()
            raise

    async def _passed(self, sent: Sent, entry: JournalEntry, turn: asyncio.Lock) -> Response:
        target = self._target(sent.surface) or ""
        entry.why = f"not recorded: passed to {target}"
        client = httpx2.AsyncClient(timeout=_TIMEOUT)
        headers = [(name, value) for name, value in sent.request.headers.items() if name not in _OF_A_CONNECTION]
        headers.append(("accept-encoding", "identity"))
        url = target.rstrip("/") + _path(sent)
        try:
            response = await client.send(
                client.build_request("POST", url, headers=headers, content=sent.body), stream=True
            )
        except httpx2.TransportError as error:  # its text may contain a header of the request
            await client.aclose()
            turn.release()
            entry.why = f"no response from {target}: {type(error).__name__}"
            return refused(sent.surface, ProviderRefusal("server_error", entry.why, status=502))
        return _Passing(self, sent, entry, _Exchange(client, response, turn))

    async def record(self, sent: Sent, entry: JournalEntry, response: httpx2.Response, body: bytes) -> None:
        """Write the cassette of an exchange, if it may be recorded, and note the result. Does not raise."""
        try:
            file = await asyncio.to_thread(self._written, sent, str(response.url), response, body)
            self._index.add(file)
            entry.cassette = f"{file.shown}#1"
            entry.why = f"{entry.why}, and recorded"
        except SecretsLeft:
            entry.why = f"{entry.why}, but not recorded: the scanner found a secret that the scrubber had left"
        except ToolparityError as error:
            entry.why = f"{entry.why}, but not recorded: {error.what}"

    def _written(self, sent: Sent, url: str, response: httpx2.Response, body: bytes) -> CassettePath:
        if not response.is_success:
            raise CassetteNotWritten(f"the status is {response.status_code}")
        if emulation_marker.HEADER in response.headers:
            raise CassetteNotWritten("the upstream emulates a provider")
        raw = {"request": _request(sent, url), "response": _response(response, body)}
        found_before = secrets_in({"interactions": [raw]})
        clean = Scrubber().cassette({"interactions": [raw]})["interactions"][0]
        exchange = replace(exchange_of("", None, clean), wire=sent.surface.wire, provider=sent.surface.provider)
        if not response_of(exchange, sent.surface.wire).complete:
            raise CassetteNotWritten("the response is incomplete")
        # Raises if the exchange cannot be replayed.
        interaction(exchange)
        kept = trimmed(clean)
        refuse({"interactions": [kept]}, found_before=found_before)
        provenance = Provenance(
            origin="imported",
            date=now(),
            provider=sent.surface.provider,
            wire=sent.surface.wire,
            stream=sent.stream,
            recorder=f"toolparity {__version__}",
            model=exchange.model,
            source=f"toolparity serve --upstream {urlsplit(url).scheme}://{urlsplit(url).netloc}",
        )
        name = "recorded-" + hashlib.sha256(kept["request"]["body"]).hexdigest()[:16]
        path = file_for(sent.surface.provider, sent.surface.wire, name, sent.stream, self._library)
        save(path, [kept], provenance, checks=(scrubbed, scanned))
        return place_of(path, self._library)


class _Exchange(NamedTuple):
    client: httpx2.AsyncClient
    response: httpx2.Response
    turn: asyncio.Lock


class _Passing(StreamingResponse):
    """The response of the upstream. Its end waits for the recording, so that a following request finds it."""

    def __init__(self, recorder: RecordThrough, sent: Sent, entry: JournalEntry, exchange: _Exchange) -> None:
        headers = {name: value for name, value in exchange.response.headers.items() if name not in _OF_A_TRANSFER}
        super().__init__(self._pieces(recorder, sent, entry), exchange.response.status_code, headers)
        self._exchange = exchange

    async def _pieces(self, recorder: RecordThrough, sent: Sent, entry: JournalEntry) -> AsyncIterator[bytes]:
        pieces = []
        async for piece in self._exchange.response.aiter_bytes():
            pieces.append(piece)
            yield piece
        await recorder.record(sent, entry, self._exchange.response, b"".join(pieces))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except httpx2.TransportError:
            return  # without the end of the body, the server closes the connection
        finally:
            await self._exchange.response.aclose()
            await self._exchange.client.aclose()
            self._exchange.turn.release()


def _key(sent: Sent) -> bytes:
    return hashlib.sha256(f"{sent.surface.name}\0{sent.stream}\0".encode() + sent.body).digest()


def _path(sent: Sent) -> str:
    """Return path and query without the base of the provider on this server."""
    path: str = sent.request.scope["raw_path"].decode("latin-1")
    base = f"/{sent.surface.provider}"
    if path.startswith(base + "/") and sent.address.path.startswith(base + "/"):
        path = path.removeprefix(base)
    return f"{path}?{sent.request.url.query}" if sent.request.url.query else path


def _request(sent: Sent, url: str) -> dict[str, Any]:
    headers: dict[str, list[str]] = {}
    for name, value in sent.request.headers.items():
        headers.setdefault(name, []).append(value)
    return {"method": "POST", "uri": url, "headers": headers, "body": sent.body}


def _response(response: httpx2.Response, body: bytes) -> dict[str, Any]:
    headers: dict[str, list[str]] = {}
    for name, value in response.headers.multi_items():
        if name not in _OF_A_TRANSFER:
            headers.setdefault(name, []).append(value)
    try:
        phrase = HTTPStatus(response.status_code).phrase
    except ValueError:
        phrase = ""
    return {
        "status": {"code": response.status_code, "message": phrase},
        "headers": headers,
        "body": {"string": body},
    }
