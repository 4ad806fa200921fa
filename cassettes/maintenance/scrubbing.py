"""Scrubbing of the cassettes of any project, where they are or as copies.

Only the values that hold secrets change; the rest of a file stays as it is, byte for byte, and so does a file without
secrets. Placeholders have the length of the secret, and equal secrets get equal ones. The result is read again before
it is written: it must have the same shape, no body may have become empty or stopped being JSON, and the scanner must
find no credential in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import ToolparityError

from .. import documents
from ..errors import CassetteNotWritten
from ..library.writing import replace
from ..secrets import SecretLeak, scan
from ..secrets.scanner import allowing
from . import files
from .scanning import level_of, scannable
from .trees import TreeScrubber

_ADDRESSES = ("uri", "url")


class ScrubbedFile(Struct):
    """The result for one file.

    ``counts``: replacements by kind. ``values``: how many values of the file changed. ``addresses``: interactions,
    counted from 1, whose address changed, so that a request with the original one does not match. ``left``: what the
    scanner still finds. ``written``: where the result is, None if nothing was written.
    """

    path: str
    format: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    values: int = 0
    addresses: list[int] = field(default_factory=list)
    left: list[SecretLeak] = field(default_factory=list)
    written: str | None = None
    error: str | None = None
    skipped: bool = False


class ScrubJob(Struct, frozen=True):
    """A file to scrub. ``found``: in a directory. ``target``: where to write; None if only the report is wanted.

    ``clashes``: another file of the run is written to the same target, so that this one is refused.
    """

    path: str
    found: bool = False
    target: str | None = None
    clashes: bool = False


def scrub_file(job: ScrubJob) -> ScrubbedFile:
    """Scrub a file. Never raises because of its content; an unreadable file stays as it is."""
    result = ScrubbedFile(job.path)
    try:
        document, known = files.load(job.path)
    except ToolparityError as error:
        result.error, result.skipped = str(error), job.found and error.what == "not a cassette"
        return result
    result.format = known.name
    try:
        if job.clashes:
            hint = "scrub the folders one by one, each into its own"
            raise CassetteNotWritten(f"another file is written to {job.target}", where=job.path, hint=hint)
        text, result.counts, changed = scrubbed_text(document, job.path)
        result.values = len(changed)
        result.addresses = list(_addresses(changed))
        result.left = scan(scannable(documents.load(_encoded(text), job.path), known))
        credentials = [leak for leak in result.left if level_of(leak) == "credential"]
        if credentials:
            what = f"the scanner still finds {len(credentials):,} credentials: {credentials[0]}"
            hint = f"the file is unchanged; {allowing([credentials[0].entry])}"
            raise CassetteNotWritten(what, where=job.path, hint=hint)
        if job.target is not None:
            result.written = _written(job, text, bool(changed))
    except ToolparityError as error:
        result.error = str(error)
    return result


def scrubbed_text(document: documents.Document, where: str) -> tuple[str, dict[str, int], list[documents.Path]]:
    """Return the text without secrets, the replacements by kind, and the places of the changed values.

    Raises CassetteNotWritten if the result would not have the shape of the original.
    """
    scrubber = TreeScrubber()
    data = scrubber.scrub(document.data)
    try:
        changed = dict(documents.changes(document.data, data))
    except ValueError as error:
        raise CassetteNotWritten(str(error), where=where) from None
    text = document.replaced(changed)
    if documents.load(_encoded(text), where).data != data:
        raise CassetteNotWritten("the scrubbed text reads back as other data", where=where)
    for path, new in changed.items():
        if _is_damaged(_at(document.data, path), new):
            place = ".".join(map(str, path))
            raise CassetteNotWritten(f"scrubbing would damage the value at {place}", where=where)
    return text, dict(scrubber.counts), list(changed)


def _is_damaged(old: Any, new: Any) -> bool:
    """Return whether a value became empty, or was JSON and is not any more."""
    if not new:
        return bool(old)
    value = _json(old)
    return value is not None and not _is_alike(value, _json(new))


def _json(text: Any) -> Any:
    if not isinstance(text, str | bytes) or text[:1] not in ("{", "[", b"{", b"["):
        return None
    try:
        return json_codec.decode(text if isinstance(text, bytes) else _encoded(text))
    except (ValueError, RecursionError):
        return None


def _is_alike(old: Any, new: Any) -> bool:
    if isinstance(old, dict):
        return isinstance(new, dict) and len(old) == len(new) and all(map(_is_alike, old.values(), new.values()))
    if isinstance(old, list):
        return isinstance(new, list) and len(old) == len(new) and all(map(_is_alike, old, new))
    return type(old) is type(new)


def _at(data: Any, path: documents.Path) -> Any:
    for step in path:
        data = data[step]
    return data


def _addresses(changed: list[documents.Path]) -> Iterator[int]:
    numbers = {next(step for step in path if isinstance(step, int)) + 1 for path in changed if path[-1] in _ADDRESSES}
    yield from sorted(numbers)


def _written(job: ScrubJob, text: str, changed: bool) -> str | None:
    target = os.path.realpath(str(job.target))
    if not changed and target == os.path.realpath(job.path):
        return None
    replace(Path(target), _encoded(text))
    return str(job.target)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
