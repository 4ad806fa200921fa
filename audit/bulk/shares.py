"""The audit of a part of the input, written to a file: a share of the input, or all of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from toolparity.cassettes.regular_files import must_be_regular
from toolparity.cassettes.sources import FilePart, Problem, split_files
from toolparity.cassettes.sources.files import is_folder, position_of
from toolparity.cassettes.workers import rare_collections
from toolparity.normalizer import json_codec
from toolparity.reports.files import ReportNotWritten

from ..errors import InvalidPart
from ..options import AuditOptions
from ..summary import audit_part
from .parallel import PART_BYTES, in_parts
from .part_files import PartWriter, Share


class WrittenPart(Struct):
    """What a part file counts: exchanges, and faults (see `Audit`)."""

    exchanges: int = 0
    faults: int = 0


def write_part(
    target: Path,
    paths: Iterable[str],
    options: AuditOptions,
    *,
    share: tuple[int, int] | None = None,
    jobs: int = 0,
    on_problem: Callable[[Problem], None] = lambda problem: None,
    on_progress: Callable[[int], None] = lambda weight: None,
) -> WrittenPart:
    """Audit files and directories, and write the result to a part file. An existing file is replaced at the end.

    ``share``: the number of the share, from 1, and the number of shares; by default all of the input. The shares of an
    input are about equal in bytes. The other parameters are those of `audit_paths`. Raises InvalidPart if the input
    cannot be divided or contains a file twice, ReportNotWritten if the file cannot be written.
    """
    pieces: Iterable[FilePart | Problem]
    if share is None:
        drawn, pieces = (
            None,
            split_files(in_walk_order(paths), PART_BYTES, options.format, options.columns, unpack=True),
        )
    else:
        drawn, pieces = _share(in_walk_order(paths), options, *share)
    written = WrittenPart()
    work = partial(audit_part, wire=options.wire, policy=options.policy, limit=options.limit)
    with rare_collections(), _replaced(target) as file, PartWriter(file, options, drawn) as writer:
        for result in in_parts(work, pieces, jobs):
            if isinstance(result, Problem):
                writer.unread(result)
                on_problem(result)
                written.faults += result.fault
                continue
            piece, part = result
            written.exchanges += part.audit.exchanges
            written.faults += part.audit.faults
            for problem in part.problems:
                on_problem(problem)
            writer.add(piece, part)
            on_progress(piece.weight)
    return written


def in_walk_order(paths: Iterable[str]) -> list[str]:
    """Return paths of files and directories in the order in which a directory that contains them all is walked."""
    return sorted(paths, key=lambda path: position_of(f"{path.rstrip('/')}/" if is_folder(path) else path))


def _share(paths: list[str], options: AuditOptions, number: int, of: int) -> tuple[Share, Iterator[FilePart | Problem]]:
    """Return a share of the input, which are pieces one after another, with a digest of the list of all pieces."""
    digest = blake2b(digest_size=16)
    total = 0
    for piece in _pieces(paths, options):
        digest.update(json_codec.encode(piece))
        total += _weight(piece)
    return Share(number, of, digest.hexdigest()), _drawn(_pieces(paths, options), number, of, total)


def _pieces(paths: list[str], options: AuditOptions) -> Iterator[FilePart | Problem]:
    for piece in split_files(paths, PART_BYTES, options.format, options.columns):
        if isinstance(piece, FilePart) and piece.content is not None:
            raise InvalidPart(
                "neither a pipe nor a database can be divided into shares", where=piece.path, hint="export files"
            )
        yield piece


def _drawn(pieces: Iterable[FilePart | Problem], number: int, of: int, total: int) -> Iterator[FilePart | Problem]:
    position = 0
    for piece in pieces:
        if position * of // max(total, 1) == number - 1:
            yield piece
        position += _weight(piece)


def _weight(piece: FilePart | Problem) -> int:
    """Return the weight of a piece in a share. It is positive, so that every piece belongs to a share."""
    return 1 if isinstance(piece, Problem) else max(piece.weight, 1)


@contextmanager
def _replaced(target: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces ``target`` if no error occurs. Raises ReportNotWritten."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        must_be_regular(target)
        with temporary.open("wb") as file:
            yield file
        temporary.replace(target)
    except OSError as error:
        raise ReportNotWritten(error.strerror or str(error), where=str(target)) from None
    finally:
        temporary.unlink(missing_ok=True)
