"""The tables of agents.md: what each agent ran from responses of which nothing may run.

toolparity check pydantic-ai-agent --policy all --no-baseline --unreleased --json run.json    a real run
python -m docs.generate.agents run.json...              into agents.json
python -m docs.generate.agents --confirm run.json...    which cells the scripts confirm, into agents.json

A script needs only the library (`conformance/reproductions/`). A cell is confirmed if the script runs a tool in one of
its cases. A cell that accuses and is not confirmed is not published.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from docs.generate import DATA, agent_trials, filled
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cases.expected import Expected
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.reproductions import Accusation
from toolparity.conformance.reproductions.running import run as run_script
from toolparity.reports import results
from toolparity.reports.results import Result, Verdict

SEEN = DATA / "agents.json"
#: How many cases of a cell are tried, the shortest first.
_TRIES = 3
#: The kinds of responses, in the order of the columns.
KINDS = ("broken", "failed", "refused", "filtered", "cut", "invalid")


def kind(expected: Expected) -> str | None:
    """Return the kind of a response of which something must not run, or None. Without calls nothing can run."""
    if not expected.calls or expected.stop == "malformed_call":  # only one provider's own member says so
        return None
    if expected.failed or expected.stop == "error":
        return "failed"
    if not expected.complete:
        return "broken"
    if expected.stop in ("refusal", "content_filter"):
        return "refused" if expected.stop == "refusal" else "filtered"
    statuses = {call.status for call in expected.calls}
    return "cut" if "truncated" in statuses else "invalid" if "invalid" in statuses else None


class Counted(NamedTuple):
    """A case that the law `incomplete` judged. ``key``: "MODE KIND". ``ran``: something ran that must not."""

    key: str
    ran: bool
    case: Case
    number: int


def counted(found: Sequence[Result]) -> Iterator[Counted]:
    """Yield the cases of the table."""
    for result in found:
        scenario = scenarios()[result.scenario]
        verdict = next((one for one in result.verdicts if one.check == "incomplete"), None)
        if verdict is None:
            continue
        stream = result.mode == "stream"
        rounds = range(len(result.rounds)) if verdict.round is None else [verdict.round]
        for number in rounds:
            expected = scenario.expected(result.surface, number, stream=stream)
            if (name := kind(expected)) is not None:
                case = Case(result.scenario, result.surface, result.mode, result.policy)
                yield Counted(f"{result.mode} {name}", verdict.outcome in results.BROKEN, case, number)
                break


def updated(known: dict[str, dict[str, Any]], run: results.Run) -> dict[str, dict[str, Any]]:
    """Return the counts with those of a run: subject -> its version, and "MODE KIND" -> [ran, judged]."""
    for subject in run.subjects:
        judged, ran = Counter[str](), Counter[str]()
        for found in counted([result for result in run.results if result.subject == subject.name]):
            judged[found.key] += 1
            ran[found.key] += found.ran
        known[subject.name] = {"version": subject.version, **{key: [ran[key], judged[key]] for key in sorted(judged)}}
    return dict(sorted(known.items()))


def confirmed(known: dict[str, dict[str, Any]], run: results.Run) -> None:
    """Run the scripts of the shortest cases of each accusing cell, and note the case that confirms it."""
    for subject in run.subjects:
        cells: dict[str, list[Accusation]] = {}
        for found in counted([result for result in run.results if result.subject == subject.name]):
            if found.ran:
                cells.setdefault(found.key, []).append(_accusation(found, subject.name, subject.version))
        shown = known[subject.name]["confirmed"] = {}
        for key, accused in cells.items():
            shortest = sorted(accused, key=lambda one: one.size)[:_TRIES]
            if (one := next(filter(_ran, shortest), None)) is not None:
                shown[key] = f"{one.result.scenario}, {one.result.surface}"
            print(subject.name, key, shown.get(key, "NOT CONFIRMED"), flush=True)


def _accusation(found: Counted, name: str, version: str) -> Accusation:
    verdict = Verdict("incomplete", "fail", round=found.number, effect="executed")
    return Accusation(Result(name, *found.case, [verdict]), verdict, version)


def _ran(accusation: Accusation) -> bool:
    """Return whether the script runs a tool."""
    with TemporaryDirectory() as folder, suppress(subprocess.TimeoutExpired):
        return bool(run_script(accusation, Path(folder)).runs())
    return False


def table(known: dict[str, dict[str, Any]]) -> str:
    """Return the table."""
    head = f"| agent | form | {' | '.join(KINDS)} |\n|---|---|{'---|' * len(KINDS)}\n"
    return head + "".join(_row(name, mode, known[name]) for name in known for mode in ("plain", "stream"))


def _row(name: str, mode: str, counts: dict[str, Any]) -> str:
    cells = []
    for column in KINDS:
        ran, judged = counts.get(key := f"{mode} {column}") or (0, 0)
        shown = judged and (not ran or key in counts.get("confirmed", {}))
        cells.append(f"{ran} of {judged}" if shown else "")
    return f"| `{name}` {counts['version']} | {mode} | {' | '.join(cells)} |\n"


def cases(known: dict[str, dict[str, Any]]) -> str:
    """Return the list of the cases that confirm the cells."""
    lines = []
    for name, counts in known.items():
        cells = (f"{key}: `{case}`" for key, case in counts.get("confirmed", {}).items())
        lines.append(f"- `{name}`: {'; '.join(cells)}\n")
    return "".join(lines)


def files() -> dict[Path, str]:
    """Return the page."""
    known = json.loads(SEEN.read_text("utf-8"))
    ran = f"{table(known)}\nThe cases that confirm them:\n\n{cases(known)}"
    return filled("agents.md", {"what agents ran": ran, "side by side": agent_trials.table()})


def main(paths: Sequence[str]) -> None:
    """Add the figures of these runs, or what their scripts confirm."""
    known = json.loads(SEEN.read_text("utf-8")) if SEEN.exists() else {}
    for path in paths:
        if path == "--confirm":
            continue
        run = results.read(Path(path).read_bytes())
        if "--confirm" in paths:
            confirmed(known, run)
        else:
            known = updated(known, run)
    SEEN.write_text(json.dumps(known, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
