"""Atomic writing of cassettes: the old file remains until the new one is on disk and has passed every check.

The text is readable vcrpy YAML: metadata first, members in a fixed order, bodies as block literals. It is ASCII because
vcrpy reads files in the machine's encoding; other characters are escaped in quoted strings.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from toolparity.normalizer.errors import ToolparityError

from .. import structured
from ..errors import CassetteNotWritten, SecretsLeft
from ..regular_files import must_be_regular
from . import files, locks, safe_yaml
from .locks import locked
from .provenance import KEY, Provenance, digest
from .provenance import read as parse_provenance

if yaml.__with_libyaml__:
    _BaseDumper: Any = yaml.CSafeDumper
else:  # pure Python fallback
    _BaseDumper = yaml.SafeDumper

#: A check of the new cassette before it replaces the old one: takes its path, raises ToolparityError to refuse it.
Check = Callable[[Path], None]

#: The format version that vcrpy writes.
_FORMAT_VERSION = 1
#: Members in writing order. Others follow in alphabetical order, and the body comes last.
_REQUEST_ORDER = ("method", "uri", "headers")
_RESPONSE_ORDER = ("status", "headers")
_LAST = "body"
_WORTH_A_BLOCK = 60
#: The suffix of drafts, and the number of bytes of a name to which it can be added.
_DRAFT = ".tmp"
_LONGEST_NAME = 200


class _Dumper(_BaseDumper):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, text: str) -> Any:
    # libyaml falls back to quotes for text that no block can hold: \r and similar, trailing spaces
    block = "\n" in text or (len(text) > _WORTH_A_BLOCK and '"' in text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if block else None)


_Dumper.add_representer(str, _text)


def interaction(request: Any, response: Mapping[str, Any]) -> dict[str, Any]:
    """Return vcrpy's request and response as the plain data to write. Raises CassetteNotWritten for other values."""
    headers = {_header_name(name): [value] for name, value in request.headers.items()}
    members = {
        "method": request.method,
        "uri": request.uri,
        "headers": {name: headers[name] for name in sorted(headers, key=str.lower)},
        "body": request.body if structured.is_structured(request.body) else request.body_bytes,
    }
    return {"request": _request(members), "response": _response(response)}


def _header_name(name: str | bytes) -> str:
    """Return a name as text. requests passes some as bytes, such as that of basic authentication."""
    return name.decode("latin-1") if isinstance(name, bytes) else name


def text_of(interactions: list[dict[str, Any]], metadata: Mapping[str, Any]) -> bytes:
    """Return the content of the file, without checking anything."""
    content = {"metadata": dict(metadata), "version": _FORMAT_VERSION, "interactions": interactions}
    return dump(content if metadata else {name: content[name] for name in ("version", "interactions")})


def dump(content: Mapping[str, Any]) -> bytes:
    """Return plain data as readable YAML in ASCII, with its members in their order."""
    written: bytes = yaml.dump(
        content,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=False,
        width=2**30,
        line_break="\n",
        encoding="ascii",
    )
    return written


def save(
    path: str | os.PathLike[str],
    interactions: Iterable[Mapping[str, Any]],
    provenance: Provenance,
    *,
    metadata: Mapping[str, Any] | None = None,
    checks: Iterable[Check] = (),
    may_replace: Check | None = None,
) -> Provenance:
    """Write a cassette atomically; return its provenance with digest and seal.

    ``interactions``: plain data, each a ``request`` and a ``response``. ``metadata``: other members beside our own. The
    text is parsed again and must have the same digest before any check runs. ``may_replace``: see `replace`. Raises
    InvalidProvenance, CassetteNotWritten, and whatever a check raises. In every case, even if the process is killed,
    the file at ``path`` is the complete old one or the complete new one.
    """
    path = Path(path)
    plain = [{"request": _request(pair["request"]), "response": _response(pair["response"])} for pair in interactions]
    provenance = msgspec.structs.replace(provenance, digest=digest(plain))
    provenance = msgspec.structs.replace(provenance, seal=provenance.sealing)
    provenance = parse_provenance(provenance.as_metadata(), os.fspath(path))
    text = text_of(plain, {KEY: provenance.as_metadata(), **_beside(metadata)})
    if len(text) > safe_yaml.MAX_BYTES:
        raise safe_yaml.too_large(len(text), os.fspath(path))
    read_back = safe_yaml.load(text, os.fspath(path))
    if digest(read_back["interactions"]) != provenance.digest:
        raise CassetteNotWritten("the written text reads back as other data", where=os.fspath(path))
    replace(path, text, checks, may_replace)
    return provenance


def replace(path: Path, content: bytes, checks: Iterable[Check] = (), may_replace: Check | None = None) -> None:
    """Replace a file atomically, or keep the old one. Raises CassetteNotWritten, and whatever a check raises.

    ``may_replace`` runs last, on ``path`` itself, and decides whether the file that is there then may be replaced. A
    lock keeps our other writers out between this check and the replacement.
    """
    try:
        must_be_regular(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _draft(path) as (draft, descriptor, closing):
            _write(descriptor, content)
            os.fsync(descriptor)
            _run_checks(checks, draft, path)
            with locked(path.parent):
                if may_replace is not None:
                    may_replace(path)
                closing.close()  # Windows moves no open file
                os.replace(draft, path)
        _sync(path.parent)
    except ToolparityError:
        raise
    except OSError as error:
        raise CassetteNotWritten(f"cannot be written: {error.strerror or error}", where=os.fspath(path)) from error


def not_live(path: Path) -> None:
    """Refuse to replace a live cassette, or one whose origin is unknown, by an emulated recording.

    A damaged recording can be fixed, a lost one cannot. A path without a file passes. Raises CassetteNotWritten.
    """
    if not os.path.lexists(path):
        return
    where = os.fspath(path)
    hint = "restore it from version control, or delete it first"
    try:
        existing = files.provenance_of(path)
        if existing.seal is not None and existing.seal != existing.sealing:
            raise CassetteNotWritten("its provenance was changed", where=where)
    except ToolparityError as error:
        what = f"the existing file was not replaced, because it may be a live recording: {error.what}"
        raise CassetteNotWritten(what, where=where, hint=hint) from None
    if existing.origin == "live":
        what = "an emulated recording does not replace a live one"
        raise CassetteNotWritten(what, where=where, hint="delete it first, or use --live")


def scrubbed(path: Path) -> None:
    """Require that scrubbing again changes nothing. Raises SecretsLeft."""
    from ..secrets import Scrubber

    interactions = files.load(path).interactions
    scrubber = Scrubber()
    if digest(scrubber.cassette({"interactions": interactions})["interactions"]) != digest(interactions):
        raise SecretsLeft(f"the scrubber would still change it: {scrubber.report}", where=os.fspath(path))


def scanned(path: Path) -> None:
    """Require that the scanner finds no secret. Raises SecretsLeft."""
    from ..secrets.scanner import refuse

    loaded = files.load(path)
    refuse({"metadata": loaded.metadata, "interactions": loaded.interactions}, where=os.fspath(path))


class Persister:
    """For vcrpy: ``VCR().register_persister(Persister(...))``. Reads with `files.load`, writes with `save`.

    The provenance comes from the cassette's metadata, where the recorder puts it, or from ``provenance``; the digest is
    filled in here. Only YAML is written: vcrpy's serializer is ignored.
    """

    def __init__(self, *checks: Check, provenance: Provenance | None = None) -> None:
        self._checks = checks
        self._provenance = provenance

    def load_cassette(self, cassette_path: str | os.PathLike[str], serializer: Any = None) -> tuple[Any, ...]:
        """Return requests, responses, metadata. Raises vcrpy's CassetteNotFoundError, and UnreadableCassette."""
        from vcr.persisters.filesystem import CassetteNotFoundError
        from vcr.request import Request

        if not os.path.exists(cassette_path):
            raise CassetteNotFoundError()
        loaded = files.load(cassette_path)
        # vcrpy's filters change requests in place, so copy them; vcrpy copies responses itself.
        requests = [Request(r.method, r.uri, r.body, dict(r.headers)) for r in loaded.requests]
        return requests, list(loaded.responses), dict(loaded.metadata)

    def save_cassette(
        self, cassette_path: str | os.PathLike[str], cassette_dict: Mapping[str, Any], serializer: Any = None
    ) -> None:
        """Write vcrpy's cassette. Raises whatever `save` raises."""
        metadata = dict(cassette_dict.get("metadata") or {})
        members = metadata.pop(KEY, None)
        if members is None and self._provenance is not None:
            members = self._provenance.as_metadata()
        provenance = parse_provenance(members, os.fspath(cassette_path), written=False)
        pairs = zip(cassette_dict["requests"], cassette_dict["responses"], strict=True)
        interactions = [interaction(request, response) for request, response in pairs]
        save(cassette_path, interactions, provenance, metadata=metadata, checks=self._checks)


def _beside(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: _plain(value) for name, value in (metadata or {}).items() if name != KEY}


def _request(request: Mapping[str, Any]) -> dict[str, Any]:
    members = _ordered(request, _REQUEST_ORDER)
    members[_LAST] = _body(members.get(_LAST))
    return members


def _response(response: Mapping[str, Any]) -> dict[str, Any]:
    members = _ordered(response, _RESPONSE_ORDER)
    body = members.get(_LAST)
    members[_LAST] = {**body, "string": _body(body["string"])} if isinstance(body, dict) and "string" in body else body
    return members


def _ordered(half: Mapping[str, Any], first: tuple[str, ...]) -> dict[str, Any]:
    names = [name for name in first if name in half]
    names += sorted(name for name in half if name not in first and name != _LAST)
    members = {name: _plain(half[name]) for name in [*names, _LAST] if name in half}
    if isinstance(members.get("headers"), dict):
        members["headers"] = {name: members["headers"][name] for name in sorted(members["headers"], key=str.lower)}
    return members


def _body(body: Any) -> Any:
    """Decode UTF-8 bytes to text, as vcrpy does when it writes; it reads them back as bytes."""
    if not isinstance(body, bytes):
        return body
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body


def _plain(value: Any) -> Any:
    """Return plain data that every YAML reader restores; instances of subclasses (HTTPStatus) become the base type."""
    if value is None or isinstance(value, (bool, bytes)):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return {_name(name): _plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    raise CassetteNotWritten(f"unsupported type in a cassette: {type(value).__name__}")


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise CassetteNotWritten(f"a member's name must be text, got {type(name).__name__}")
    return str.__str__(name)


def _draft_prefix(path: Path) -> str:
    """Return how the names of a cassette's drafts begin. They fit where the name of the cassette just fits."""
    name = path.name
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}."


@contextlib.contextmanager
def _draft(path: Path) -> Iterator[tuple[Path, int, contextlib.ExitStack]]:
    """Create a draft beside the cassette, locked while its writer lives. Removed on exit unless it was moved.

    The lock of the folder keeps others from sweeping the draft before it is locked, or after it is closed to be moved.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    with locked(path.parent):
        _sweep(path)
        draft = Path(tempfile.mktemp(_DRAFT, _draft_prefix(path), path.parent))
        descriptor = os.open(draft, flags, 0o666)
        locks.acquire(descriptor)
    closing = contextlib.ExitStack()
    closing.callback(os.close, descriptor)
    try:
        yield draft, descriptor, closing
    finally:
        closing.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)


def _sweep(path: Path) -> None:
    """Remove drafts that killed recordings left behind, that is, drafts that no process has locked."""
    start = _draft_prefix(path)
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    for name in os.listdir(path.parent):
        if not (name.startswith(start) and name.endswith(_DRAFT)):
            continue
        with contextlib.suppress(OSError):
            descriptor = os.open(path.parent / name, flags)
            try:
                locks.acquire(descriptor, wait=False)
            finally:
                os.close(descriptor)
            os.unlink(path.parent / name)


def _write(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _run_checks(checks: Iterable[Check], draft: Path, path: Path) -> None:
    for check in checks:
        try:
            check(draft)
        except ToolparityError as error:
            error.where = error.where.replace(os.fspath(draft), os.fspath(path))
            raise


def _sync(folder: Path) -> None:
    """Sync the folder, so that the new name survives a power failure. Some file systems do not support it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
