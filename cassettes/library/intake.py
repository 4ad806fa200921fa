"""Other projects' recordings taken into a library: vcrpy cassettes, HAR files, whatever `cassettes.sources` reads.

A file gives a cassette for each provider, wire and way of answering (plain, streamed) in it. What goes in is made anew
from what `cassettes.sources` made of the file: address, request, status, content type and body, no other header; then
it is scrubbed, and the scanner has to find nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from normalizer import __version__, jsontext
from normalizer.errors import CassetteNotWritten, ToolparityError, UnreadableSource
from normalizer.wires import WIRES

from ..sources import SUFFIXES, Exchange, read
from ..sources import Problem as Unread
from ..sources.files import walk
from . import files, gates
from .provenance import Provenance, now
from .writing import save

_GATES = (gates.scrubbed, gates.scanned)
_NO_SLUG = re.compile(r"[^a-z0-9]+")
#: xAI's chat service, its methods for one answer and for a streamed one, and the messages of these.
_SERVICE = "grpc://api.x.ai/xai_api.Chat/"


class Taken(Struct, frozen=True):
    """A cassette that was written, and from what."""

    path: str
    source: str
    told: Provenance
    interactions: int


class Left(Struct, frozen=True):
    """What was not taken in. ``fault``: the caller should know; else it is just of no wire that is known."""

    source: str
    what: str
    hint: str = ""
    fault: bool = True

    def __str__(self) -> str:
        return f"{self.source}: {self.what}" + (f" ({self.hint})" if self.hint else "")


class _Kind(NamedTuple):
    provider: str
    wire: str
    stream: bool


def take_in(
    paths: list[str], root: str | os.PathLike[str], *, note: str | None = None, force: bool = False
) -> Iterator[Taken | Left]:
    """Each cassette as soon as it is written, and everything that was left out, with the reason.

    ``note``: kept as given, for the licence and whose work it is. ``force``: a cassette that is there already is
    replaced; but never one that this run has written.
    """
    root = Path(root)
    written: set[Path] = set()
    for given in paths:
        for path, _ in walk(given, tuple(SUFFIXES)):
            source = os.path.relpath(path, os.path.dirname(os.path.abspath(given)))
            yield from _take_file(path, Path(source).as_posix(), root, note, force, written)


def _take_file(
    path: str, source: str, root: Path, note: str | None, force: bool, written: set[Path]
) -> Iterator[Taken | Left]:
    kinds: dict[_Kind, list[Exchange]] = {}
    for found in read(path):
        if isinstance(found, Unread):
            yield Left(found.source, found.what, found.hint, found.fault)
        elif not found.provider:
            yield Left(found.place, "no address: it could not be replayed", "take in cassettes or HAR files")
        elif found.wire not in WIRES:
            what = f"the wire {found.wire} is not known yet" if found.wire else "neither address nor body tells a wire"
            yield Left(found.place, what, fault=False)
        else:
            kinds.setdefault(_Kind(found.provider, found.wire, bool(found.stream)), []).append(found)
    for kind, exchanges in kinds.items():
        try:
            yield _write(kind, exchanges, source, root, note, force, written)
        except ToolparityError as error:
            yield Left(error.where or source, error.what, error.hint)


def _write(
    kind: _Kind,
    exchanges: list[Exchange],
    source: str,
    root: Path,
    note: str | None,
    force: bool,
    written: set[Path],
) -> Taken:
    from ..secrets import Scrubber

    name = slug(source)
    path = files.file_for(kind.provider, kind.wire, name, kind.stream, root)
    number = 1
    while path in written:
        number += 1
        path = files.file_for(kind.provider, kind.wire, f"{name}-{number}", kind.stream, root)
    if path.exists() and not force:
        raise CassetteNotWritten("there is a cassette already", where=os.fspath(path), hint="replace it with --force")
    interactions = [interaction(exchange) for exchange in exchanges]
    clean = Scrubber().cassette({"interactions": interactions})["interactions"]
    told = Provenance(
        origin="imported",
        date=_recorded(exchanges) or now(),
        provider=kind.provider,
        wire=kind.wire,
        stream=kind.stream,
        recorder=f"toolparity {__version__}",
        model=next((one.model for one in exchanges if one.model), None),
        source=source,
        note=note,
    )
    told = save(path, clean, told, gates=_GATES)
    written.add(path)
    return Taken(os.fspath(path), source, told, len(clean))


def slug(source: str) -> str:
    """A name for a cassette from the path of the file it comes from."""
    name = source.lower().removesuffix(".gz")
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return _NO_SLUG.sub("-", name).strip("-") or "unnamed"


def interaction(exchange: Exchange) -> dict[str, Any]:
    """An exchange as vcrpy writes it. Raises UnreadableSource where it does not tell where it was sent to."""
    if exchange.frames is not None:
        return _call(exchange, exchange.frames)
    if not exchange.url:
        raise UnreadableSource("no address: it could not be replayed", where=exchange.place)
    status = exchange.status or 200
    asked = exchange.request is not None
    body = exchange.body or b""
    return {
        "request": {
            "method": "POST" if asked else "GET",
            "uri": f"https://{exchange.url}",
            "headers": {"content-type": ["application/json"]} if asked else {},
            "body": jsontext.text(exchange.request) if asked else None,
        },
        "response": {
            "status": {"code": status, "message": _phrase(status)},
            "headers": {"content-type": [exchange.content_type]} if exchange.content_type else {},
            "body": {"string": body},
        },
    }


def _call(exchange: Exchange, frames: list[bytes]) -> dict[str, Any]:
    from google.protobuf.message import Message
    from xai_sdk.proto import chat_pb2

    from normalizer.wires.xai_grpc.proto import request_from

    from ..vcr_grpc import messages

    answers: type[Message] = chat_pb2.GetChatCompletionChunk if exchange.stream else chat_pb2.GetChatCompletionResponse
    asks: type[Message] = chat_pb2.GetCompletionsRequest
    sent = request_from(exchange.request or {}).SerializeToString(deterministic=True)
    request = {**messages.written(sent, asks), "type": messages.name_of(asks)}
    body = {"messages": [messages.written(one, answers) for one in frames], "type": messages.name_of(answers)}
    return {
        "request": {
            "method": "POST",
            "uri": _SERVICE + ("GetCompletionChunk" if exchange.stream else "GetCompletion"),
            "headers": {},
            "body": jsontext.text(request),
        },
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {},
            "trailers": {},
            "grpc": {"code": "OK", "details": "", "stream": bool(exchange.stream)},
            "body": {"string": jsontext.encode(body)},
        },
    }


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _recorded(exchanges: list[Exchange]) -> str | None:
    """When the source says that it was recorded, in UTC; null where it does not."""
    for exchange in exchanges:
        said = (exchange.provenance or {}).get("recorded_at")
        try:
            moment = datetime.fromisoformat(str(said))
        except ValueError:
            continue
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return None
