"""Confirms a random sample of the accusations with programs that use a library and the standard library only.

    toolparity check NAME... --policy all --no-baseline --unreleased --once --json run.json
    python docs/confirm.py run.json --number 60 --seed 1

Draws failures from a run, in turn of each library, and starts the library's direct program on the body of the case
(docs/reproductions/programs/NAME/direct.py or direct.mjs). An accusation is

    confirmed   if the program prints the accused result, and not the expected one; or an error, if it is of a refusal
    unfair      if it prints the expected result
    false       if it prints neither

Laws about something that a direct program does not print, such as a broken stream or another request, are not drawn.
The exit status is 0 if all are confirmed.
"""

from __future__ import annotations

import argparse
import json
import random
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.laws.matching import call_texts
from toolparity.conformance.subjects import environments
from toolparity.conformance.subjects.peers import PEERS
from toolparity.conformance.subjects.runtimes import RUNTIMES
from toolparity.normalizer import json_codec
from toolparity.reports import results
from toolparity.reports.results import BROKEN, Result, Verdict

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "reproductions" / "programs"
#: The laws whose accusations are about the calls or the error that a direct program prints.
DRAWN = ("conservation", "order", "arguments", "server-side")
_PAGES = runpy.run_path(str(HERE / "reproductions.py"), run_name="pages")


def accusations(run: results.Run) -> list[tuple[Result, Verdict]]:
    """Return the failures that a direct program can confirm."""
    return [
        (result, verdict)
        for result, verdict in run.verdicts()
        if verdict.outcome in BROKEN and verdict.check in DRAWN and _program(result.subject).exists()
    ]


def sample(found: list[tuple[Result, Verdict]], number: int, seed: int) -> list[tuple[Result, Verdict]]:
    """Return a random sample in which every library has its share: one of each in turn."""
    shuffled = random.Random(seed).sample(found, len(found))
    turns: dict[str, Iterator[tuple[Result, Verdict]]] = {
        name: iter([one for one in shuffled if one[0].subject == name])
        for name in dict.fromkeys(result.subject for result, _ in shuffled)
    }
    drawn: list[tuple[Result, Verdict]] = []
    while turns and len(drawn) < number:
        for name in list(turns):
            one = next(turns[name], None)
            if one is None:
                del turns[name]
            elif len(drawn) < number:
                drawn.append(one)
    return drawn


def printed(result: Result, verdict: Verdict) -> dict[str, Any]:
    """Run the direct program on the body of the case and return the object that it prints."""
    case = _case(result, verdict)
    with tempfile.TemporaryDirectory() as folder:
        for name, data in _PAGES["_body"](case).items():
            (Path(folder) / Path(name).name).write_bytes(data)
        tools = Path(folder) / f"{_PAGES['_stem'](case)}.tools.json"
        answer = _PAGES["_answer"](case.scenario, case.surface, case.mode, case.round)
        ask = _PAGES["_ask"](case)
        arguments = [str(Path(folder) / _PAGES["_file"](case)), ask.wire, ask.provider, result.mode]
        arguments += [str(tools) if tools.exists() else "-", str(answer.status)]
        done = subprocess.run(
            [*_command(result.subject), *arguments], capture_output=True, text=True, check=False, timeout=120
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"error": done.stderr.strip().splitlines()[-1]}


def judged(result: Result, verdict: Verdict, told: dict[str, Any]) -> str:
    """Return "confirmed", "unfair" or "false"."""
    report = result.rounds[verdict.round or 0]
    if report.error or told.get("error"):
        same = _type(report.error) == _type(told.get("error") or "")
        return "confirmed" if same else "false"
    calls = sorted(map(_call, told["calls"]))
    expected = scenarios()[result.scenario].expected(result.surface, verdict.round or 0, stream=result.mode == "stream")
    if calls == sorted(map(_plain, call_texts(expected.calls))):
        return "unfair"
    accused = sorted(map(_plain, report.calls))
    return "confirmed" if len(calls) == len(accused) and all(map(_alike, calls, accused)) else "false"


def _alike(call: str, accused: str) -> bool:
    """Return whether two calls are the same; a report shortens long ones."""
    return call == accused or (accused.endswith("…)") and call.startswith(accused.removesuffix("…)")))


def _type(error: str) -> str:
    """Return the type of an error, which precedes its message."""
    return error.partition(":")[0]


def _plain(text: str) -> str:
    """Return a call in the form of reports, without white space and escapes that differ between JSON texts."""
    name, _, arguments = text.partition("(")
    return f"{name}({_same(arguments.removesuffix(')'))})"


def _call(call: dict[str, Any]) -> str:
    told = call.get("arguments_text", call.get("arguments"))
    text = told if isinstance(told, str) else json_codec.text(told if told is not None else {})
    return f"{call['name'] or ''}({_same(text)})"


def _same(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return "".join(text.split())


def _case(result: Result, verdict: Verdict) -> Any:
    place = (result.scenario, result.surface, result.mode, verdict.round or 0)
    return _PAGES["Case"](result.subject, verdict.check, "", *place, "")


def _program(name: str) -> Path:
    node = name in PEERS and PEERS[name].runtime == "node"
    return PROGRAMS / name / ("direct.mjs" if node else "direct.py")


def _command(name: str) -> list[str]:
    """Return the command that starts a direct program in the library's environment."""
    if name not in PEERS:
        return [sys.executable, str(_program(name))]
    library = environments.known(name)
    start = RUNTIMES[library.peer.runtime].command(library.peer, library.link)
    return [*start[:-1], str(_program(name))]


def main() -> int:
    """Draw, run and print one line for each accusation, then the counts."""
    parser = argparse.ArgumentParser(description="Confirm a random sample of accusations.")
    parser.add_argument("run", type=Path, nargs="+")
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = [one for path in options.run for one in accusations(results.read(path.read_bytes()))]
    counts = dict.fromkeys(("confirmed", "unfair", "false"), 0)
    for result, verdict in sample(found, options.number, options.seed):
        told = printed(result, verdict)
        word = judged(result, verdict, told)
        counts[word] += 1
        place = f"{result.subject} {verdict.check} {result.scenario} {result.surface} {result.mode}"
        print(f"{word:10}{place}" + ("" if word == "confirmed" else f"\n    {json.dumps(told)[:300]}"), flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.items()), f"(seed {options.seed})")
    return int(counts["confirmed"] < sum(counts.values()))


if __name__ == "__main__":
    sys.exit(main())
