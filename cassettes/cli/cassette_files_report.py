"""Reports of `toolparity cassettes scan`, `scrub` and `check`, as sections for the terminal and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from toolparity.reports.terminal import Lines, Section, StyledText, Table, Tone, Value

from ..maintenance.checking import STEPS
from ..maintenance.scanning import ScannedFile, level_of
from ..maintenance.scrubbing import ScrubbedFile
from ..maintenance.secret_rules import TriedRule
from ..recorder.verify import VerifiedCassette
from ..secrets import SecretLeak
from ..secrets.scanner import allowing

# scan


def leaks(scanned: ScannedFile, level: str | None) -> list[SecretLeak]:
    """Return what was found at a level, or at all levels."""
    return [leak for leak in scanned.found if level in (None, level_of(leak))]


def scanned(results: list[ScannedFile], level: str | None) -> list[Section]:
    """Each file with its secrets, then the numbers by kind."""
    sections: list[Section] = []
    kinds: Counter[tuple[str, str]] = Counter()
    for result in results:
        found = leaks(result, level)
        kinds.update((level_of(leak), leak.kind) for leak in found)
        if found:
            sections.append(Lines(f"{result.path} ({result.format})", [_leak(leak) for leak in found]))
    with_any = sum(bool(leaks(result, level)) for result in results)
    interactions = sum(result.interactions for result in results)
    unread = sum(result.error is not None for result in results)
    headline = f"{with_any:,} of {len(results) - unread:,} cassettes hold secrets ({interactions:,} interactions)"
    rows: list[list[Value]] = [[kind, of_level, count] for (of_level, kind), count in sorted(kinds.items())]
    return [
        *sections,
        _unread([(result.path, result.error) for result in results]),
        Table("By kind", ["kind", "level", "found"], rows, 2),
        Lines("", [(StyledText(headline + _and_unread(unread), "bad" if with_any or unread else "good"), "")]),
        *([Lines("", [(StyledText(allowing(["value:…"]), "dim"), "")])] if with_any else []),
    ]


def scanned_json(results: list[ScannedFile], level: str | None) -> list[dict[str, Any]]:
    """One JSON object for each file."""
    return [
        {
            "path": result.path,
            "format": result.format,
            "interactions": result.interactions,
            "found": [{**msgspec.to_builtins(leak), "level": level_of(leak)} for leak in leaks(result, level)],
            "error": result.error,
        }
        for result in results
    ]


def _leak(leak: SecretLeak) -> tuple[StyledText, str]:
    tone: Tone = "bad" if level_of(leak) == "credential" else "warning"
    return StyledText(leak.kind, tone), f"{str(leak).removeprefix(f'{leak.kind} in ')}  {leak.entry}"


# secrets


def tried_rules(results: list[TriedRule], sources: dict[str, str]) -> list[Section]:
    """The rules whose secrets stay somewhere, with the reason, then the total for each rule set."""
    rows: list[list[Value]] = [
        [rule.rule, ", ".join(rule.kept[:3]) + (", …" if len(rule.kept) > 3 else ""), rule.reason or "unknown"]
        for rule in results
        if rule.kept
    ]
    lines = []
    for name, version in sources.items():
        own = [rule for rule in results if rule.rule.startswith(f"{name}/")]
        known, unknown = (
            sum(bool(rule.kept) and (rule.reason is None) is open_ for rule in own) for open_ in (False, True)
        )
        text = f"{len(own) - known - unknown:,} of {len(own):,} rules pass, {known:,} have a reason, {unknown:,} fail"
        lines.append((StyledText(f"{name} ({version})", "strong"), text))
    return [Table("Secrets that stay", ["rule", "contexts", "reason"], rows, 3), Lines("", lines)]


# scrub


def scrubbed(results: list[ScrubbedFile], *, written: bool) -> list[Section]:
    """Each file that changes, with its replacements, then the total."""
    entries = []
    for result in results:
        if not result.values or result.error is not None:
            continue
        counts = ", ".join(f"{kind}: {count:,}" for kind, count in sorted(result.counts.items()))
        addresses = f"; addresses changed: interaction {_numbers(result.addresses)}" if result.addresses else ""
        entries.append((StyledText(result.path, "strong"), f"{result.values:,} values ({counts}){addresses}"))
    word = "changed" if written else "would change"
    unread = sum(result.error is not None for result in results)
    headline = f"{len(entries):,} of {len(results) - unread:,} cassettes {word}{_and_unread(unread)}"
    is_good = not unread and (written or not entries)
    return [
        Lines("", entries),
        _unread([(result.path, result.error) for result in results]),
        Lines("", [(StyledText(headline, "good" if is_good else "bad"), "")]),
    ]


def scrubbed_json(results: list[ScrubbedFile]) -> list[dict[str, Any]]:
    """One JSON object for each file."""
    return [msgspec.to_builtins(result) for result in results]


def _numbers(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else "")


# check


def checked(verdicts: list[VerifiedCassette]) -> list[Section]:
    """The result of each step for each cassette, then all problems, and what was not checked."""
    names = [name for name, _, _ in STEPS]
    rows: list[list[Value]] = [
        [str(verdict.file.path), *(_mark(name, verdict) for name in names)] for verdict in verdicts
    ]
    problems = [(StyledText(str(problem), "bad"), "") for verdict in verdicts for problem in verdict.problems]
    open_ = Counter(f"{step}: {why}" for verdict in verdicts for step, why in verdict.open.items())
    well = sum(not verdict.problems for verdict in verdicts)
    headline = f"{well:,} of {len(verdicts):,} cassettes passed what can be checked without provenance"
    return [
        Table("", ["cassette", *names], rows, 1),
        Lines("Problems", problems),
        Lines(
            "Not checked", [(StyledText(what, "dim"), f"{count:,} cassettes") for what, count in sorted(open_.items())]
        ),
        Lines("", [(StyledText(headline, "good" if well == len(verdicts) else "bad"), "")]),
    ]


def checked_json(verdicts: list[VerifiedCassette]) -> list[dict[str, Any]]:
    """One JSON object for each cassette."""
    return [
        {
            "path": str(verdict.file.path),
            "passed": verdict.passed,
            "open": verdict.open,
            "problems": msgspec.to_builtins(verdict.problems),
        }
        for verdict in verdicts
    ]


def _mark(step: str, verdict: VerifiedCassette) -> StyledText:
    if any(problem.step == step for problem in verdict.problems):
        return StyledText("fail", "bad")
    return StyledText("pass", "good") if step in verdict.passed else StyledText("open", "dim")


def _and_unread(count: int) -> str:
    return f"; {count:,} not read or not written" if count else ""


def _unread(errors: list[tuple[str, str | None]]) -> Lines:
    return Lines(
        "Not read or not written",
        [(StyledText(path, "bad"), error.removeprefix(f"{path}: ")) for path, error in errors if error is not None],
    )
