"""Files with the audit of a part of the input. `merging` makes the audit of the whole input from them.

A part file is a zip archive with three members. ``records.jsonl`` has the records of the exchanges for the audit of
conversations, in the order of the input; each line is a list, see `prefixes`. ``audits.jsonl`` has the figures: the
first line counts all ranges whose places are absolute, and each further line counts one range whose places are numbered
within it. ``part.json`` describes the content: version, options and ranges. Equal audits give equal bytes.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO, TypeVar

import msgspec
from msgspec import Struct

from toolparity import __version__
from toolparity.cassettes.sources import FilePart, Problem
from toolparity.cassettes.sources.files import position_of
from toolparity.normalizer import json_codec

from ..conversations import ExchangeRecord
from ..errors import InvalidPart
from ..options import AuditOptions
from ..places import shift
from ..summary import Audit, PartAudit
from .prefixes import Completer, Shortener, ShortRecord

FORMAT, VERSION = "toolparity-audit-part", 2
#: How many records are in memory at a time when a part file is read.
BLOCK = 256
_PART, _AUDITS, _RECORDS = "part.json", "audits.jsonl", "records.jsonl"
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError)
_HINT = "pass files that toolparity audit part wrote"

T = TypeVar("T")


class ProblemKind(Struct):
    """The first of several similar problems in a file, and their number."""

    first: Problem
    count: int = 1


class Range(Struct):
    """A range of a file: the whole file if ``end`` is None, or bytes, or row groups of a Parquet file.

    ``is_last``: nothing of the file follows. ``size``: the size of the file in bytes, 0 if unknown. ``absolute``: the
    places are numbered from the start of the file. ``lines``: its number of lines or rows. ``blocks``: its number of
    lines in ``records.jsonl``.
    """

    path: str
    start: int = 0
    end: int | None = None
    is_last: bool = True
    size: int = 0
    absolute: bool = True
    lines: int = 0
    blocks: int = 0
    problems: list[ProblemKind] = []


class Share(Struct, frozen=True):
    """The share ``number`` of ``of`` shares of one input. ``input``: the digest of its list of parts."""

    number: int
    of: int
    input: str

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class _Version(Struct):
    """The members that every version of the format has."""

    format: str
    version: int
    toolparity: str


class PartDescription(Struct):
    """The content of ``part.json``."""

    format: str
    version: int
    toolparity: str
    options: AuditOptions
    share: Share | None
    ranges: list[Range]


class PartWriter:
    """Writes a part file. A context manager; the file is complete when it ends without an error.

    The parts of the input must be added in the order of `position_of` and, within a file, of their start.
    """

    def __init__(self, file: BinaryIO, options: AuditOptions, share: Share | None = None) -> None:
        self._options, self._share = options, share
        self._archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        self._records: IO[bytes] = self._archive.open(_RECORDS, "w", force_zip64=True)
        self._short = Shortener()
        self._ranges: list[Range] = []
        self._whole = Audit()
        self._relative: list[bytes] = []
        self._audit = self._whole

    def add(self, piece: FilePart, part: PartAudit) -> None:
        """Add the audit of a part of the input, which must not be used afterwards."""
        current = self._continued(piece)
        shift(part, current.lines if piece.before is None else 0)
        current.lines = part.lines + (current.lines if piece.before is None else piece.before)
        self._audit.merge(part.audit)
        for problem in part.problems:
            _group(current, problem)
        for start in range(0, len(part.records), BLOCK):
            block = [self._short(record) for record in part.records[start : start + BLOCK]]
            self._records.write(json_codec.encode(block) + b"\n")
            current.blocks += 1

    def unread(self, problem: Problem) -> None:
        """Add a file that cannot be read."""
        path = problem.source if problem.line is None else problem.source.rpartition("#")[0]
        if not self._ranges or self._ranges[-1].path != path:
            self._begin(Range(path))
        self._audit.unread(problem)
        _group(self._ranges[-1], problem)

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._records.close()
        if error is None:
            self._end()
            audits = [json_codec.encode(self._whole), *self._relative]
            self._archive.writestr(zipfile.ZipInfo(_AUDITS), b"\n".join(audits), zipfile.ZIP_DEFLATED, 1)
            description = PartDescription(FORMAT, VERSION, __version__, self._options, self._share, self._ranges)
            self._archive.writestr(zipfile.ZipInfo(_PART), json_codec.encode(description), zipfile.ZIP_DEFLATED, 1)
        self._archive.close()

    def _continued(self, piece: FilePart) -> Range:
        """Return the range that the piece continues, or a new one."""
        last = self._ranges[-1] if self._ranges else None
        if last is not None and last.path == piece.path and piece.start and last.end == piece.start:
            last.end, last.is_last = piece.end, piece.is_last
            return last
        if last is not None and last.path == piece.path and last.end is None and piece.before:
            return last  # a further block of lines of a compressed file
        return self._begin(
            Range(piece.path, piece.start, piece.end, piece.is_last, piece.size, piece.before is not None)
        )

    def _begin(self, new: Range) -> Range:
        last = self._ranges[-1] if self._ranges else None
        if last is not None and order_of(new) <= order_of(last):
            raise InvalidPart("the input contains this file twice", where=new.path, hint="pass each path once")
        self._end()
        self._ranges.append(new)
        self._audit = self._whole if new.absolute else Audit()
        return new

    def _end(self) -> None:
        if self._audit is not self._whole:
            self._relative.append(json_codec.encode(self._audit))
            self._audit = self._whole


def order_of(part_range: Range) -> tuple[object, int]:
    """Return the sort key of ranges: the order in which a directory is walked, then the position in the file."""
    return position_of(part_range.path), part_range.start


class PartFile:
    """Reads a part file. Raises InvalidPart if it is not one, is damaged, or has a newer format."""

    def __init__(self, name: str, file: Path | BinaryIO) -> None:
        self.name = name
        self._file = file
        with self._archive() as archive:
            data = archive.read(_PART)
            version = self._converted(data, _Version)
            if version.format != FORMAT or version.version != VERSION:
                what = f"format {version.format} {version.version} of toolparity {version.toolparity} is not supported"
                raise InvalidPart(what, where=name, hint=f"this version reads {FORMAT} {VERSION}")
            self.description = self._converted(data, PartDescription)

    def audits(self) -> Iterator[Audit]:
        """Yield the figures of all ranges with absolute places, then those of each other range."""
        with self._archive() as archive, archive.open(_AUDITS) as lines:
            for line in lines:
                yield self._converted(line, Audit)

    def blocks(self) -> Generator[list[ExchangeRecord], None, None]:
        """Yield the records of the exchanges, some at a time, in order."""
        complete = Completer()
        with self._archive() as archive, archive.open(_RECORDS) as lines:
            for line in lines:
                block = self._converted(line, list[ShortRecord])
                try:
                    yield [complete(short) for short in block]
                except ValueError as error:
                    raise self.damaged(str(error)) from None

    def damaged(self, what: str) -> InvalidPart:
        """Return the error of a part file whose members contradict each other."""
        return InvalidPart(f"damaged: {what}", where=self.name, hint=_HINT)

    @contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(self._file) as archive:
                yield archive
        except FileNotFoundError:
            raise InvalidPart("the file does not exist", where=self.name, hint=_HINT) from None
        except IsADirectoryError:
            raise InvalidPart("a directory, not a part file", where=self.name, hint=_HINT) from None
        except _DAMAGED as error:
            raise InvalidPart(f"not a part file, or damaged: {error}", where=self.name, hint=_HINT) from None

    def _converted(self, data: bytes, kind: type[T]) -> T:
        try:
            return _decoded(data, kind)
        except ValueError as error:
            raise InvalidPart(f"not a part file, or damaged: {error}", where=self.name, hint=_HINT) from None


def _decoded(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeError):  # a half surrogate pair
        value: Any = json_codec.decode(data)
        return msgspec.convert(value, kind)


def _group(current: Range, problem: Problem) -> None:
    for group in current.problems:
        if group.first.kind == problem.kind:
            group.count += 1
            return
    current.problems.append(ProblemKind(problem))
