"""Merges part files into the audit of the whole input.

The ranges of all files are put into the order of the input. The audit of conversations then takes the records in that
order, as in a run on one machine, so the result does not depend on how the input was cut. A few records of each file
are in memory at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, zip_longest
from typing import NoReturn

from msgspec import Struct

from toolparity.cassettes.sources import Problem, moved
from toolparity.cassettes.workers import rare_collections

from ..conversations import ConversationAudit, ExchangeRecord
from ..conversations.audit import FINDINGS_KEPT
from ..errors import InvalidPart
from ..options import AuditOptions
from ..places import problem_at, shift
from ..summary import Audit, PartAudit
from .part_files import PartFile, Range, order_of


class MergedAudit(Struct, frozen=True):
    """The audit of the whole input, and the options with which all parts were made."""

    audit: Audit
    options: AuditOptions


class _Located(Struct):
    """A range and the file that holds it. ``offset``: the number of lines before it, if its places need it."""

    part: PartFile
    range: Range
    offset: int = 0


def merge_parts(
    parts: Sequence[PartFile],
    *,
    kept: int = FINDINGS_KEPT,
    on_problem: Callable[[Problem, int], None] = lambda problem, count: None,
    on_progress: Callable[[int], None] = lambda ranges: None,
) -> MergedAudit:
    """Merge part files, whatever their order.

    ``kept``: how many findings of each code about conversations are kept with their places.
    ``on_problem`` is called with the first of similar places in a file that could not be read, and their number, in the
    order of the input. ``on_progress`` is called with the number of ranges that were merged.

    Raises InvalidPart if the files were made with different options or versions, overlap, or do not hold the whole
    input.
    """
    if not parts:
        raise InvalidPart("no part files", hint="pass at least one")
    options = _common_options(parts)
    _check_shares(parts)
    ranges = _in_order(parts)
    whole = _merged_figures(parts, ranges)
    conversations = ConversationAudit(kept)
    with rare_collections():
        for located, records in _with_records(parts, ranges):
            for record in records:
                conversations.add(record)
            for problem in located.range.problems:
                on_problem(problem_at(problem.first, located.offset), problem.count)
            on_progress(1)
    whole.conversations = conversations.finish()
    return MergedAudit(whole, options)


def _common_options(parts: Sequence[PartFile]) -> AuditOptions:
    first = parts[0]
    for part in parts[1:]:
        for name in ("toolparity", "options"):
            expected, value = getattr(first.description, name), getattr(part.description, name)
            if value != expected:
                what = f"made with {_difference(value, expected)}, but {first.name} with {_difference(expected, value)}"
                raise InvalidPart(what, where=part.name, hint="make all parts with the same version and options")
    return first.description.options


def _difference(value: AuditOptions | str, other: AuditOptions | str) -> str:
    if isinstance(value, str):
        return f"toolparity {value}"
    names = [name for name in value.__struct_fields__ if getattr(value, name) != getattr(other, name)]
    return ", ".join(f"{name} {getattr(value, name)}" for name in names)


def _check_shares(parts: Sequence[PartFile]) -> None:
    """Raise InvalidPart if a share of an input is missing or was passed twice."""
    shares: dict[tuple[str, int], dict[int, PartFile]] = {}
    of: dict[int, str] = {}
    for part in parts:
        share = part.description.share
        if share is None:
            continue
        other = of.setdefault(share.of, share.input)
        if other != share.input:
            what = f"share {share} of another input than the other shares"
            raise InvalidPart(what, where=part.name, hint="the paths, and their files, must be the same for all shares")
        known = shares.setdefault((share.input, share.of), {})
        if share.number in known:
            twice = known[share.number].name
            raise InvalidPart(f"share {share} was passed twice: also in {twice}", where=part.name, hint="remove one")
        known[share.number] = part
    for (_, total), known in shares.items():
        missing = [f"{n}/{total}" for n in range(1, total + 1) if n not in known]
        if missing:
            names = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
            raise InvalidPart(f"{len(missing)} of {total} shares are missing: {names}", hint="pass every part file")


def _in_order(parts: Sequence[PartFile]) -> list[_Located]:
    """Return the ranges in the order of the input, with their offsets. Raises InvalidPart if they do not fit."""
    ranges = [_Located(part, part_range) for part in parts for part_range in part.description.ranges]
    ranges.sort(key=lambda located: order_of(located.range))
    for path, of_file in groupby(ranges, key=lambda located: located.range.path):
        last: _Located | None = None
        lines = 0
        for located in of_file:
            _check_neighbours(path, last, located)
            if not located.range.absolute:
                located.offset = lines
            lines += located.range.lines
            last = located
        if last is not None and not last.range.is_last:
            _missing(path, f"from {last.range.end:,} to its end")
    return ranges


def _check_neighbours(path: str, last: _Located | None, located: _Located) -> None:
    if last is None:
        if located.range.start:
            _missing(path, f"from 0 to {located.range.start:,}")
        return
    if last.range.size != located.range.size:
        sizes = f"{last.range.size:,} bytes in {last.part.name}, {located.range.size:,} here"
        what = f"{path} changed between the parts: {sizes}"
        raise InvalidPart(what, where=located.part.name, hint="make the parts again")
    end = last.range.end
    if end is None or located.range.start < end:
        what = f"{last.part.name} holds the same range of {path}"
        raise InvalidPart(what, where=located.part.name, hint="was a part passed twice? The ranges must not overlap")
    if located.range.start > end:
        _missing(path, f"from {end:,} to {located.range.start:,}")


def _missing(path: str, where: str) -> NoReturn:
    raise InvalidPart(f"no part holds the range {where}", where=path, hint="was a part file forgotten?")


def _merged_figures(parts: Sequence[PartFile], ranges: list[_Located]) -> Audit:
    offsets: dict[str, list[int]] = {part.name: [0] for part in parts}  # the first line has absolute places
    for located in ranges:
        if not located.range.absolute:
            offsets[located.part.name].append(located.offset)
    whole = Audit()
    for part in parts:
        for audit, offset in zip_longest(part.audits(), offsets[part.name]):
            if audit is None or offset is None:
                raise part.damaged("the number of its audits is not that of its ranges")
            shift(PartAudit(audit), offset)
            whole.merge(audit)
    return whole


def _with_records(
    parts: Sequence[PartFile], ranges: list[_Located]
) -> Iterator[tuple[_Located, Iterator[ExchangeRecord]]]:
    """Yield each range with its records. A part file is open from its first range to its last one."""
    blocks = {part.name: part.blocks() for part in parts}
    left = Counter(located.part.name for located in ranges)
    for located in ranges:
        name = located.part.name
        yield located, _records(located, blocks[name])
        left[name] -= 1
        if not left[name]:
            if next(blocks[name], None) is not None:
                raise located.part.damaged("it has more records than its ranges")
            blocks[name].close()


def _records(located: _Located, blocks: Iterator[list[ExchangeRecord]]) -> Iterator[ExchangeRecord]:
    for _ in range(located.range.blocks):
        block = next(blocks, None)
        if block is None:
            raise located.part.damaged("it has fewer records than its ranges")
        for record in block:
            if located.offset:
                record.place = moved(record.place, located.offset)
            yield record
