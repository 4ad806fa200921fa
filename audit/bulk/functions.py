"""Audits of large input on any engine for distributed work: split it, map its parts, and merge the results.

    options = AuditOptions(policy="first")
    results = engine.map(lambda part: map_part(part, options), split(["s3://bucket/logs/"], options))
    report = merge(results)
    print(report.text())

Parts and results can be pickled, and the results may arrive in any order. The report is that of `toolparity audit` on
one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from toolparity.cassettes.sources import FilePart, Problem, split_files
from toolparity.reports import terminal

from ..options import AuditOptions
from ..report import as_json, sections
from ..summary import Audit, audit_part
from .merging import MergedAudit, merge_parts
from .part_files import PartFile, PartWriter
from .shares import in_walk_order

#: A part of the input, or a file that cannot be read.
Part = FilePart | Problem

#: The approximate size of a part of a file, in bytes.
PART_BYTES = 64 * 1024 * 1024

_DEFAULT = AuditOptions()


class Report:
    """The audit of the whole input. ``audit``: its figures. ``options``: those of the parts."""

    def __init__(self, merged: MergedAudit) -> None:
        self.audit: Audit = merged.audit
        self.options = merged.options

    def text(self, width: int = 120) -> str:
        """Return the report for a terminal with ``width`` columns."""
        return terminal.render(sections(self.audit, self.options.limit), width=width, colour=False)

    def json(self) -> dict[str, Any]:
        """Return the report as JSON values, as `toolparity audit --json` prints them."""
        return as_json(self.audit, self.options.policy, self.options.limit)

    def html(self) -> bytes:
        """Return the report as a page."""
        from ..pages.audit import render

        return render(self.json())


def split(paths: Iterable[str], options: AuditOptions = _DEFAULT, part_bytes: int = PART_BYTES) -> Iterator[Part]:
    """Yield the parts of files and directories, reading only the beginning of each file.

    Files of plain JSON lines and Parquet files are cut into parts of about ``part_bytes`` bytes; every other file is
    one part.
    """
    yield from split_files(in_walk_order(paths), part_bytes, options.format, options.columns)


def map_part(part: Part, options: AuditOptions = _DEFAULT) -> bytes:
    """Audit one part. Return the result for `merge`: the content of a part file (see docs/pages/bulk.md).

    The size of the result is a few percent of the size of the part.
    """
    file = BytesIO()
    with PartWriter(file, options) as writer:
        if isinstance(part, Problem):
            writer.unread(part)
        else:
            writer.add(part, audit_part(part, options.wire, options.policy, options.limit))
    return file.getvalue()


def merge(
    results: Iterable[bytes | Path], on_problem: Callable[[Problem, int], None] = lambda problem, count: None
) -> Report:
    """Merge the results of all parts, in any order: results of `map_part`, or paths of part files.

    Results in memory are kept in a temporary directory until all have arrived. ``on_problem`` is called with the first
    of similar places in a file that could not be read, and their number.

    Raises InvalidPart if results overlap, are missing, or were made with different options or versions.
    """
    with TemporaryDirectory(prefix="toolparity-") as folder:
        parts: list[PartFile] = []
        for number, result in enumerate(results, 1):
            if isinstance(result, bytes):
                path = Path(folder, str(number))
                path.write_bytes(result)
                parts.append(PartFile(f"result {number}", path))
            else:
                parts.append(PartFile(str(result), result))
        return Report(merge_parts(parts, on_problem=on_problem))


__all__ = ["AuditOptions", "Part", "Report", "map_part", "merge", "split"]
