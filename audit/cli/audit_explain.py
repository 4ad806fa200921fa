"""`toolparity audit --explain`: prints how each file was read, from what the readers report, and judges nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NoReturn

import click
from msgspec import Struct, field

from toolparity.cassettes.cli import console, exits
from toolparity.cassettes.sources import Exchange, FilePart, PartReader, Problem, split_files
from toolparity.normalizer.model import Wire
from toolparity.reports.escape import cut
from toolparity.reports.terminal import Lines, Section, StyledText, Tone

from ..exchange import FAULTS, calls_read, decode

#: How many kinds of problems and of steps of a file are shown, and examples of each kind.
_KINDS, _EXAMPLES = 20, 3
_EXCERPT = 80


class _Left(Struct):
    """Places of one kind that were not read. ``shown``: the first of them, with their excerpts."""

    first: Problem
    count: int = 0
    shown: list[tuple[str, str]] = []


class _File(Struct):
    """What the readers reported about a file."""

    path: str
    part: FilePart | None = None
    rows: int = 0
    wires: Counter[str] = field(default_factory=Counter)
    steps: Counter[tuple[str, ...]] = field(default_factory=Counter)
    calls: int = 0
    counted: int = 0
    compared: int = 0
    left: dict[tuple[str, bool], _Left] = {}
    others: int = 0

    @property
    def exchanges(self) -> int:
        return self.wires.total()

    def add(self, item: Exchange | Problem) -> None:
        if isinstance(item, Problem):
            self._leave(item)
            return
        decoded = decode(item)
        self.wires[decoded.wire or "unknown wire"] += 1
        if item.steps in self.steps or len(self.steps) < _KINDS:
            self.steps[item.steps] += 1
        if decoded.response is not None:
            self.calls += calls_read(decoded.response)
        if item.calls is not None:
            self.compared += 1
            self.counted += item.calls
        for finding in decoded.findings:
            if finding.code in FAULTS:
                self._leave(Problem(item.source, f"{finding.code}: {finding.message}", line=item.line))

    def _leave(self, problem: Problem) -> None:
        if problem.kind not in self.left and len(self.left) == _KINDS:
            self.others += 1
            return
        left = self.left.setdefault(problem.kind, _Left(problem))
        left.count += 1
        if len(left.shown) < _EXAMPLES:
            left.shown.append((problem.location, problem.excerpt))


def explain(
    ctx: click.Context, paths: Iterable[str], *, wire: Wire | None, format: str | None, columns: tuple[str, ...]
) -> NoReturn:
    """Print how each file was read, and end the command with the exit code that its audit would have."""
    ran = faults = 0
    for file in _files(paths, wire, format, columns):
        console.show([_section(file)])
        ran += file.exchanges - file.wires["unknown wire"]
        faults += file.others + sum(left.count for left in file.left.values() if left.first.fault)
    ctx.exit(exits.code(faults=faults, ran=ran))


def _files(paths: Iterable[str], wire: Wire | None, format: str | None, columns: tuple[str, ...]) -> Iterator[_File]:
    """Read each file, also one that comes in parts because it is a pipe."""
    file: _File | None = None
    for part in split_files(paths, format=format, columns=columns):
        path = part.source if isinstance(part, Problem) else part.path
        if file is None or file.path != path:
            if file is not None:
                yield file
            file = _File(path)
        if isinstance(part, Problem):
            file.add(part)
            continue
        file.part = part
        reader = PartReader(part, wire, detailed=True)
        for item in reader:
            file.add(item)
        file.rows += reader.lines
    if file is not None:
        yield file


def _section(file: _File) -> Section:
    entries = [_entry("format", _format(file.part))] if file.part is not None else []
    if file.rows:
        entries.append(_entry("rows", f"{file.rows:,}"))
    wires = ", ".join(f"{name} {count:,}" for name, count in file.wires.most_common())
    entries.append(_entry("exchanges", f"{file.exchanges:,}" + (f": {wires}" if wires else "")))
    for steps, count in file.steps.most_common():
        entries.append(_entry("found by", f"{count:,}: {' > '.join(steps)}"))
    if file.exchanges:
        entries.append(_entry("calls", _calls(file), "bad" if file.counted > file.calls else None))
    scrub = _scrubber()
    for left in sorted(file.left.values(), key=lambda left: not left.first.fault):
        entries += _left(left, scrub)
    if file.others:
        entries.append(_entry("not read", f"{file.others:,} other places", "bad"))
    return Lines(file.path, entries)


def _format(part: FilePart) -> str:
    name = part.format if part.log is None else f"log ({part.log})"
    columns = f", columns {', '.join(part.columns)}" if part.columns else ""
    return f"{name}{columns}: {part.rule}" if part.rule else f"{name}{columns}"


def _calls(file: _File) -> str:
    if not file.compared:
        return f"{file.calls:,} read; not counted again, as the bodies are those of the wire"
    some = "" if file.compared == file.exchanges else f" of {file.compared:,} of the exchanges"
    return f"{file.calls:,} read; an independent count of the responses{some} finds at least {file.counted:,}"


def _scrubber() -> Callable[[str], str] | None:
    """Return what removes secrets from a text, or None without the extra ``conformance``, which has protobuf."""
    try:
        from toolparity.cassettes.secrets import Scrubber
    except ImportError:
        return None
    return Scrubber().text


def _left(left: _Left, scrub: Callable[[str], str] | None) -> Iterator[tuple[StyledText, str]]:
    """Yield the lines about one kind of places, short and scrubbed; without ``scrub``, no excerpt is shown."""
    is_fault, clean = left.first.fault, scrub or str
    text = f"{left.count:,}: {clean(left.first.what)}, first at {left.first.location}"
    yield _entry("not read" if is_fault else "skipped", text, "bad" if is_fault else None)
    for place, excerpt in left.shown:
        if excerpt and scrub is not None:
            yield _entry("", f"{place}: {cut(scrub(excerpt), _EXCERPT)}")
    if left.first.hint and is_fault:
        yield _entry("what to do", clean(left.first.hint))


def _entry(label: str, text: str, tone: Tone | None = None) -> tuple[StyledText, str]:
    return StyledText(f"  {label:<10}", tone), text
