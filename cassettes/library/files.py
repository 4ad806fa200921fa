"""Paths and loading of cassettes in a library: one file per scenario, wire and mode, each parsed once per process.

    <root>/<provider>/<wire>/<scenario>.yaml            plain responses
    <root>/<provider>/<wire>/<scenario>.stream.yaml     streamed responses

The shipped library is package data in `RECORDED`; every function accepts another root.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..errors import UnreadableCassette
from ..sources import Exchange
from ..sources import vcrpy as vcrpy_format
from ..surfaces import Surface, surface
from . import provenance, safe_yaml
from .provenance import Provenance, digest

if TYPE_CHECKING:
    from vcr.request import Request

#: Root of the shipped library.
RECORDED = Path(__file__).resolve().parent.parent / "recorded"

SUFFIX = ".yaml"
STREAM_SUFFIX = ".stream.yaml"
#: Limit in bytes on the total file size of the parsed cassettes that a process caches. The shipped library is an eighth
#: of it.
KEPT_BYTES = 64 * 1024 * 1024

_REQUEST = frozenset(("method", "uri", "body", "headers"))
_TEXT = (str, bytes)
_HALVES = ("request", "response")


class CassettePath(Struct, frozen=True):
    """A file of a library. ``name`` is the scenario according to the file name.

    ``provider``, ``wire`` and ``name`` are None if the path is not a valid cassette path.
    """

    root: Path
    path: Path
    provider: str | None
    wire: str | None
    name: str | None
    stream: bool

    @property
    def shown(self) -> str:
        """The path relative to the root, with forward slashes on every system."""
        return self.path.relative_to(self.root).as_posix()


class Cassette:
    """A parsed cassette. All callers of `load` share it, so its content must not be changed.

    ``interactions`` and ``metadata`` hold plain data as in the file. ``requests``, ``responses``, ``exchanges`` and the
    other properties are computed from them on first access.
    """

    def __init__(self, path: Path, content: Any) -> None:
        self.path = path
        where = os.fspath(path)
        if not isinstance(content, dict):
            raise UnreadableCassette("not a cassette: its top level is not a mapping", where=where)
        metadata = content.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise UnreadableCassette("its metadata is not a mapping", where=where)
        self.metadata: dict[str, Any] = metadata
        self.interactions: list[dict[str, Any]] = _interactions(content.get("interactions"), where)

    @cached_property
    def provenance(self) -> Provenance:
        """The provenance from the metadata. Raises InvalidProvenance."""
        return provenance.read(self.metadata.get(provenance.KEY), os.fspath(self.path))

    @cached_property
    def digest(self) -> str:
        """The digest of the interactions as loaded. The provenance holds the digest of the recording."""
        return digest(self.interactions)

    @cached_property
    def requests(self) -> list[Request]:
        """The requests as vcrpy objects. Raises UnreadableCassette if vcrpy cannot build one."""
        from vcr.request import Request

        requests = []
        for number, interaction in enumerate(self.interactions, 1):
            try:
                requests.append(Request(**interaction["request"]))
            except (TypeError, ValueError, LookupError, AttributeError) as error:
                raise self._no_vcrpy(number, "request", error) from None
        return requests

    @cached_property
    def responses(self) -> list[dict[str, Any]]:
        """The responses in vcrpy's form: the body's ``string`` is bytes."""
        from vcr.serializers.compat import convert_to_bytes

        responses = []
        for interaction in self.interactions:
            response = dict(interaction["response"])
            if isinstance(response.get("body"), dict):
                response["body"] = dict(response["body"])
            responses.append(convert_to_bytes(response))
        return responses

    @cached_property
    def exchanges(self) -> list[Exchange]:
        """The interactions as exchanges, not decoded yet. Raises UnreadableSource if one has another shape."""
        return [
            vcrpy_format.exchange(f"{self.path}#{number}", None, interaction)
            for number, interaction in enumerate(self.interactions, 1)
        ]

    def _no_vcrpy(self, number: int, what: str, error: Exception) -> UnreadableCassette:
        return UnreadableCassette(f"the {what} cannot be played: {error}", where=f"{self.path}#{number}")


def path_for(at: Surface | str, scenario: str, stream: bool, root: str | os.PathLike[str] | None = None) -> Path:
    """Return the path for a scenario on a surface. Raises UnknownSurface, or UnreadableCassette for an unsafe name."""
    at = surface(at) if isinstance(at, str) else at
    return file_for(at.provider, at.wire, scenario, stream, at.library if root is None else root)


def file_for(provider: str, wire: str, name: str, stream: bool, root: str | os.PathLike[str] | None = None) -> Path:
    """Return the path for a cassette. Raises UnreadableCassette for a name that could leave the library."""
    for part in (provider, wire, name):
        if not provenance.is_slug(part) or (part is name and name.endswith(".stream")):
            raise UnreadableCassette(
                f"{part!r} is not allowed in a path of the library",
                hint="use lower-case letters and digits, with single dots, dashes or underscores between them",
            )
    return _root(root) / provider / wire / (name + (STREAM_SUFFIX if stream else SUFFIX))


def find(root: str | os.PathLike[str] | None = None) -> list[CassettePath]:
    """Return every cassette below the root, sorted by path, without opening a file.

    Hidden files, such as unfinished recordings, are skipped; links to folders are not followed.
    """
    return sorted(_walk(_root(root)), key=lambda file: file.path)


def place_of(path: Path, root: Path) -> CassettePath:
    """Split the path of a file into a Place. Provider, wire and name are None if it is not a valid cassette path."""
    parts = path.relative_to(root).parts
    stream = parts[-1].endswith(STREAM_SUFFIX)
    name = parts[-1].removesuffix(STREAM_SUFFIX if stream else SUFFIX)
    if len(parts) != 3 or name == parts[-1]:
        return CassettePath(root, path, None, None, None, stream)
    return CassettePath(root, path, parts[0], parts[1], name, stream)


def provenance_of(path: str | os.PathLike[str]) -> Provenance:
    """Return the provenance, reading only the beginning of files that our recorder wrote.

    Other cassettes are read until the metadata is found. Raises UnreadableCassette, InvalidProvenance.
    """
    path = Path(path)
    cached = _kept.get(os.path.abspath(path))
    key = _key(path)
    if cached is not None and cached[0] == key:
        return cached[1].provenance
    where = os.fspath(path)
    try:
        with open(path, "rb") as file:
            metadata = safe_yaml.head(file, "metadata", where)
    except OSError as error:
        raise _unreadable(error, where) from None
    if metadata is not None and not isinstance(metadata, dict):
        raise UnreadableCassette("its metadata is not a mapping", where=where)
    return provenance.read((metadata or {}).get(provenance.KEY), where)


def load(path: str | os.PathLike[str]) -> Cassette:
    """Return the cassette, from the cache while the file is unchanged. Raises UnreadableCassette.

    Threads may call this.
    """
    with _lock:
        return _load(Path(path))


def _load(path: Path) -> Cassette:
    name = os.path.abspath(path)
    key = _key(path)
    cached = _kept.get(name)
    if cached is not None and cached[0] == key:
        _kept.move_to_end(name)
        return cached[1]
    where = os.fspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read(key[1])  # bytes appended since the stat belong to another version
    except OSError as error:
        raise _unreadable(error, where) from None
    loaded = Cassette(path, safe_yaml.load(data, where))
    _kept.pop(name, None)
    _kept[name] = (key, loaded)
    _make_room()
    return loaded


def exchanges(path: str | os.PathLike[str]) -> list[Exchange]:
    """Return the cassette's interactions as exchanges, not decoded yet. Raises UnreadableCassette, UnreadableSource."""
    return load(path).exchanges


def forget() -> None:
    """Clear the cache of parsed cassettes."""
    _kept.clear()


_Key = tuple[int, int, int]
_lock = threading.Lock()
_kept: OrderedDict[str, tuple[_Key, Cassette]] = OrderedDict()


def _make_room() -> None:
    """Evict the least recently used cassettes; keep the newest, however large it is."""
    size = sum(key[1] for key, _ in _kept.values())
    while size > KEPT_BYTES and len(_kept) > 1:
        size -= _kept.popitem(last=False)[1][0][1]


def _root(root: str | os.PathLike[str] | None) -> Path:
    return RECORDED if root is None else Path(root)


def _walk(root: Path) -> Iterator[CassettePath]:
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if name.endswith((SUFFIX, ".yml")) and not name.startswith("."):
                yield place_of(Path(folder, name), root)


def _key(path: Path) -> _Key:
    """Return what identifies a version of the file: mtime in nanoseconds, size in bytes, inode.

    Raises UnreadableCassette, without opening it, if the path is not a regular file or is too large.
    """
    where = os.fspath(path)
    try:
        stats = os.stat(path)
    except (OSError, ValueError) as error:
        raise _unreadable(error, where) from None
    if not stat.S_ISREG(stats.st_mode):
        raise UnreadableCassette("not a regular file", where=where)
    if stats.st_size > safe_yaml.MAX_BYTES:
        raise safe_yaml.too_large(stats.st_size, where)
    return stats.st_mtime_ns, stats.st_size, stats.st_ino


def _unreadable(error: OSError | ValueError, where: str) -> UnreadableCassette:
    if isinstance(error, FileNotFoundError):
        return UnreadableCassette("the cassette does not exist", where=where)
    return UnreadableCassette(f"cannot be read: {getattr(error, 'strerror', None) or error}", where=where)


def _interactions(value: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise UnreadableCassette("not a cassette: it has no list of interactions", where=where)
    for number, interaction in enumerate(value, 1):
        location = f"{where}#{number}"
        halves = [interaction.get(half) for half in _HALVES] if isinstance(interaction, dict) else [None]
        if not all(isinstance(half, dict) for half in halves):
            raise UnreadableCassette("invalid interaction: it needs a request and a response", where=location)
        request = interaction["request"]
        if request.keys() != _REQUEST or not isinstance(request["headers"], dict):
            raise UnreadableCassette(
                f"a request must have {', '.join(sorted(_REQUEST))}, and no other members", where=location
            )
        if not isinstance(request["method"], str) or not isinstance(request["uri"], str):
            raise UnreadableCassette("the request's method and uri must be text", where=location)
        for what in _misshapen(request, interaction["response"]):
            raise UnreadableCassette(f"invalid interaction: {what}", where=location)
    return value


def _misshapen(request: dict[str, Any], response: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the shape of an interaction: values that neither vcrpy nor our readers can use."""
    status, response_headers, body = response.get("status"), response.get("headers"), response.get("body")
    if not isinstance(status, dict) or type(status.get("code")) is not int:
        yield "the response's status must have a code that is a number"
    elif not 100 <= status["code"] <= 999:
        yield "the code of the response's status must have three digits"
    for half, headers in (
        ("request", request["headers"]),
        ("response", response_headers),
        ("trailer", response.get("trailers", {})),
    ):
        if not isinstance(headers, dict):
            yield f"the {half}'s headers are not a mapping"
        elif not all(isinstance(value, _TEXT) for values in headers.values() for value in _listed(values)):
            yield f"the value of one of the {half}'s headers is not text"
    if not isinstance(request["body"], (*_TEXT, NoneType)):
        yield "the request's body is not text"
    if not isinstance(body, dict) or not isinstance(body.get("string", 0), (*_TEXT, NoneType)):
        yield "the response's body must have a string that is text"
    if not isinstance(response.get("grpc", {}), dict):
        yield "the response's member grpc is not a mapping"


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
