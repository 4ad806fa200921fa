"""Import of other projects' recordings into a library, from any format that `cassettes.sources` reads.

A file yields one cassette per provider, wire and mode (plain or streamed). `interactions` rebuilds each exchange from
its method, address, body and content type; no other header is kept. Exchanges that do not decode, and those that an
emulated provider answered, are refused. The cassette is scrubbed, and then the scanner must find no secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from hashlib import sha256
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from toolparity import __version__
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.wires.registry import is_wire

from .. import emulation_marker
from ..errors import CassetteNotWritten
from ..sources import SUFFIXES, Exchange, FilePart, PartReader, split_files
from ..sources import Problem as Unread
from ..sources.files import opened
from . import files, safe_yaml
from .interactions import interaction, trimmed
from .provenance import KEY, Provenance, now
from .writing import save, scanned, scrubbed

_CHECKS = (scrubbed, scanned)
_NO_SLUG = re.compile(r"[^a-z0-9]+")
#: Characters. A file name has at most 255 bytes, and the draft of a cassette adds some.
_LONGEST_NAME = 150
#: Allowed values of a response's emulation marker: our server replayed the response of a real provider.
_REAL = frozenset(("live", "imported"))


class Imported(Struct, frozen=True):
    """A cassette that was written, and its source."""

    path: str
    source: str
    provenance: Provenance
    interactions: int


class Skipped(Struct, frozen=True):
    """Input that was not imported. ``fault``: the caller should act; otherwise its wire is only unsupported.

    ``source``: the first location in the file. ``count``: number of locations with the same reason.
    """

    source: str
    what: str
    hint: str = ""
    fault: bool = True
    count: int = 1

    def __str__(self) -> str:
        times = f", {self.count:,} times" if self.count > 1 else ""
        return f"{self.source}: {self.what}{times}" + (f" ({self.hint})" if self.hint else "")


class _Kind(NamedTuple):
    provider: str
    wire: str
    stream: bool


class _Library(NamedTuple):
    """The folder of the cassettes and the options of an import. ``written``: the cassettes that it wrote."""

    root: Path
    note: str | None
    force: bool
    written: set[Path]


class _Converted(NamedTuple):
    kind: _Kind
    exchange: Exchange
    interaction: dict[str, Any]


def import_files(
    paths: list[str],
    root: str | os.PathLike[str],
    *,
    note: str | None = None,
    force: bool = False,
    whole: Callable[[str], list[dict[str, Any]]] | None = None,
) -> Iterator[Imported | Skipped]:
    """Yield each cassette as soon as it is written, and everything skipped, once per reason and file.

    ``note`` is stored in the provenance as given (licence, author). ``force`` replaces existing cassettes, but never
    one that the same run wrote. ``whole``: reads the interactions of a file in vcrpy's form. Then each file becomes one
    cassette with all its interactions as they are; a file that would become several, or lose one, is skipped.
    """
    library = _Library(Path(root), note, force, set())
    for start in paths:
        for path, parts in groupby(split_files([start]), key=_path):
            source = os.path.relpath(path, os.path.dirname(os.path.abspath(start)))
            import_file = _import_file if whole is None else partial(_adopt_file, whole)
            yield from import_file(path, parts, Path(source).as_posix(), library)


def _path(part: FilePart | Unread) -> str:
    if isinstance(part, FilePart):
        return part.path
    return part.source if part.line is None else part.source.rpartition("#")[0]


def _exchanges(parts: Iterable[FilePart | Unread]) -> Iterator[Exchange | Unread]:
    for part in parts:
        yield from [part] if isinstance(part, Unread) else PartReader(part)


def _import_file(
    path: str, parts: Iterable[FilePart | Unread], source: str, library: _Library
) -> Iterator[Imported | Skipped]:
    """Import a file as one cassette for each provider, wire and mode."""
    kinds: dict[_Kind, list[_Converted]] = {}
    skipped: dict[tuple[str, str, bool], Skipped] = {}
    emulated = _is_emulated(path)
    for item in _exchanges(parts):
        converted = _converted(item, emulated)
        if isinstance(converted, _Converted):
            kinds.setdefault(converted.kind, []).append(converted)
            continue
        reason = (converted.what, converted.hint, converted.fault)
        first = skipped.get(reason)
        skipped[reason] = converted if first is None else replace(first, count=first.count + 1)
    yield from skipped.values()
    for kind, exchanges in kinds.items():
        try:
            yield _write(kind, exchanges, source, library)
        except ToolparityError as error:
            yield Skipped(error.where or source, error.what, error.hint)
        except OSError as error:
            yield Skipped(source, f"cannot be written: {error.strerror or error}")


def _adopt_file(
    interactions_of: Callable[[str], list[dict[str, Any]]],
    path: str,
    parts: Iterable[FilePart | Unread],
    source: str,
    library: _Library,
) -> Iterator[Imported | Skipped]:
    """Import a file as one cassette. The exchanges show what it is, the interactions are those of the file."""
    emulated = _is_emulated(path)
    converted = [_converted(item, emulated) for item in _exchanges(parts)]
    skipped = next((item for item in converted if isinstance(item, Skipped)), None)
    kinds = {item.kind for item in converted if isinstance(item, _Converted)}
    if skipped is not None:
        yield skipped
        return
    if len(kinds) != 1:
        names = ", ".join(sorted(f"{kind.provider} {kind.wire} {_MODES[kind.stream]}" for kind in kinds))
        what = f"the file is not one cassette: {names}" if kinds else "no exchange of a known wire"
        yield Skipped(source, what, "toolparity cassettes import makes one cassette for each")
        return
    try:
        items = interactions_of(path)
        adopted = [
            item._replace(interaction={"request": half["request"], "response": half["response"]})
            for item, half in zip([item for item in converted if isinstance(item, _Converted)], items, strict=True)
        ]
        yield _write(kinds.pop(), adopted, source, library, keep_headers=True)
    except ToolparityError as error:
        yield Skipped(error.where or source, error.what, error.hint)
    except OSError as error:
        yield Skipped(source, f"cannot be written: {error.strerror or error}")


_MODES = {False: "plain", True: "streamed"}


def _converted(item: Exchange | Unread, emulated: bool) -> _Converted | Skipped:
    if isinstance(item, Unread):
        return Skipped(item.location, item.what, item.hint, item.fault)
    if not item.provider:
        return Skipped(item.location, "no address: the exchange cannot be replayed", "import cassettes or HAR files")
    if not is_wire(item.wire):
        what = f"unsupported wire: {item.wire}" if item.wire else "neither the address nor the body shows a wire"
        return Skipped(item.location, what, fault=False)
    if emulated or (item.origin is not None and item.origin not in _REAL):
        what = "the response comes from an emulated provider, but imports must come from real ones"
        return Skipped(item.location, what, "copy the cassette itself: it keeps its provenance")
    try:
        kind = _Kind(item.provider, item.wire, bool(item.stream))
        return _Converted(kind, item, interaction(item))
    except ToolparityError as error:
        return Skipped(item.location, error.what, error.hint)
    except Exception as error:  # one exchange never stops the others
        return Skipped(item.location, f"it cannot be decoded: {type(error).__name__}: {error}"[:500])


def _is_emulated(path: str) -> bool:
    """Return whether the cassette's provenance says emulated: a serializer may have dropped the response markers."""
    if not os.path.isfile(path):
        return False
    try:
        with opened(path) as file:
            data = file.read_all()
        metadata = safe_yaml.head(BytesIO(data), "metadata", path) if KEY.encode() in data else None
    except ToolparityError:
        return False
    provenance = metadata.get(KEY) if isinstance(metadata, dict) else None
    return isinstance(provenance, dict) and provenance.get("origin") == emulation_marker.EMULATED


def _write(
    kind: _Kind, converted: list[_Converted], source: str, library: _Library, *, keep_headers: bool = False
) -> Imported:
    from ..secrets import Scrubber

    name = slug(source)
    path = files.file_for(kind.provider, kind.wire, name, kind.stream, library.root)
    number = 1
    while path in library.written:
        number += 1
        path = files.file_for(kind.provider, kind.wire, f"{name}-{number}", kind.stream, library.root)
    if path.exists() and not library.force:
        raise CassetteNotWritten("the cassette already exists", where=os.fspath(path), hint="replace it with --force")
    exchanges = [item.exchange for item in converted]
    model = next((item.model for item in exchanges if item.model), None)
    # One pass: a credential in a header is also replaced in the name of the model.
    clean = Scrubber().cassette({"model": model, "interactions": [item.interaction for item in converted]})
    provenance = Provenance(
        origin="imported",
        date=_recorded(exchanges) or now(),
        provider=kind.provider,
        wire=kind.wire,
        stream=kind.stream,
        recorder=f"toolparity {__version__}",
        model=clean["model"],
        source=source,
        note=library.note,
    )
    interactions = clean["interactions"] if keep_headers else [trimmed(item) for item in clean["interactions"]]
    provenance = save(path, interactions, provenance, checks=_CHECKS)
    library.written.add(path)
    return Imported(os.fspath(path), source, provenance, len(clean["interactions"]))


def slug(source: str) -> str:
    """Return a cassette name made from the path of its source. A long one is cut and ends in a digest of the whole."""
    name = source.lower().removesuffix(".gz")
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    name = _NO_SLUG.sub("-", name).strip("-") or "unnamed"
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME].rstrip('-')}-{sha256(name.encode()).hexdigest()[:8]}"


def _recorded(exchanges: list[Exchange]) -> str | None:
    """Return the UTC time of the recording, or None if the source does not contain one."""
    moments = (_moment(str((exchange.provenance or {}).get("recorded_at"))) for exchange in exchanges)
    return next((moment for moment in moments if moment is not None), None)


def _moment(text: str) -> str | None:
    """Parse ISO 8601, or the date format of HTTP and of VCR for Ruby."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return parse(text).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        except (ValueError, OverflowError):
            continue
    return None
