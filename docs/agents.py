"""Writes the table of docs/agents.md: what each agent ran from responses of which nothing may run.

toolparity check pydantic-ai-agent --policy all --no-baseline --unreleased --json run.json    a real run
python docs/agents.py run.json...                                                             into agents.json
python docs/agents.py --confirm run.json...    which cells the direct programs confirm, into agents.json
python docs/agents.py                                                                         the page

A direct program uses only the library and the standard library: docs/reproductions/programs/agents. A cell is confirmed
if the program runs a tool in one of its cases. A cell that accuses and is not confirmed is not published.
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

from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cases.expected import Expected
from toolparity.conformance.cases.offered import offered_tools
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.cases.traffic import TrafficResponse, responses
from toolparity.conformance.subjects import environments
from toolparity.conformance.subjects.peers import PEERS
from toolparity.conformance.subjects.runtimes import RUNTIMES
from toolparity.reports import results
from toolparity.reports.results import Result

HERE = Path(__file__).resolve().parent
SEEN, PAGE = HERE / "agents.json", HERE / "agents.md"
PROGRAMS = HERE / "reproductions" / "programs" / "agents"
#: How many cases of a cell the direct program gets, the shortest first, and its longest time for one, in seconds.
_TRIES, _LONGEST = 3, 180
START, END = "<!-- what agents ran: begin -->\n", "<!-- what agents ran: end -->\n"
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
    """Run the direct program of each subject on a case of each accusing cell, and note the case that confirms it."""
    for subject in run.subjects:
        cells: dict[str, list[Counted]] = {}
        for found in counted([result for result in run.results if result.subject == subject.name]):
            if found.ran:
                cells.setdefault(found.key, []).append(found)
        shown = known[subject.name]["confirmed"] = {}
        for key, cases in cells.items():
            smallest = sorted(cases, key=lambda one: sum(map(len, _response(one).pieces)))[:_TRIES]
            if (one := next((one for one in smallest if _shown(subject.name, one)), None)) is not None:
                shown[key] = f"{one.case.scenario}, {one.case.surface}"
            print(subject.name, key, shown.get(key, "NOT CONFIRMED"), flush=True)


def _response(found: Counted) -> TrafficResponse:
    return responses(found.case.scenario, found.case.surface, found.case.mode)[found.number]


def _tools(found: Counted) -> list[str]:
    """Return the names of the tools that the suite gives to the agent."""
    case = found.case
    expected = scenarios()[case.scenario].expected(case.surface, found.number, stream=case.stream)
    return [tool.name for tool in offered_tools(_response(found).request, expected)]


def _shown(name: str, found: Counted) -> bool:
    """Return whether the direct program runs a tool of this case."""
    peer, response, surface = PEERS[name], _response(found), SURFACES[found.case.surface]
    start = RUNTIMES[peer.runtime].command(peer, environments.known(name).link)[:-1]
    program = PROGRAMS / f"{name.replace('-', '_')}{peer.program.suffix}"
    with TemporaryDirectory() as folder:
        body = Path(folder, "body")
        body.write_bytes(b"".join(response.pieces))
        told = [str(body), surface.wire, response.provider or surface.provider, found.case.mode, *_tools(found)]
        with suppress(subprocess.TimeoutExpired):
            done = subprocess.run(
                [*start, str(program), *told], capture_output=True, text=True, timeout=_LONGEST, check=False
            )
            return any(line.startswith("ran ") for line in done.stdout.splitlines())
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
        told = (f"{key}: `{case}`" for key, case in counts.get("confirmed", {}).items())
        lines.append(f"- `{name}`: {'; '.join(told)}\n")
    return "".join(lines)


def page() -> str:
    """Return the page with the current table."""
    before, _, rest = PAGE.read_text("utf-8").partition(START)
    after = rest.partition(END)[2]
    known = json.loads(SEEN.read_text("utf-8"))
    return f"{before}{START}\n{table(known)}\nThe cases that confirm them:\n\n{cases(known)}\n{END}{after}"


def main(paths: Sequence[str]) -> None:
    if not paths:
        PAGE.write_text(page(), "utf-8")
        return
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
