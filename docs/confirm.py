"""Confirms a random sample of the accusations with programs that use a library and the standard library only.

    toolparity check NAME... --policy all --no-baseline --unreleased --once --json run.json
    python docs/confirm.py run.json --number 60 --seed 1 --record

Draws failures from a run, in turn of each library, and starts the library's direct program on the body of the case
(docs/reproductions/programs/NAME/direct.py or direct.mjs). An accusation is

    confirmed   if the program prints the accused result, and not the expected one; or an error, if it is of a refusal
    unfair      if it prints the expected result
    false       if it prints neither

Laws that compare two responses or judge the next request are not drawn. ``--record`` writes the confirmed accusations
to docs/reproductions/confirmed.json, in the place of the earlier ones of these libraries. The exit status is 0 if all
are confirmed.
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

from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.laws.matching import call_texts
from toolparity.conformance.subjects import environments
from toolparity.conformance.subjects.peers import PEERS
from toolparity.conformance.subjects.peers.stops import stop_of
from toolparity.conformance.subjects.runtimes import RUNTIMES
from toolparity.normalizer import json_codec
from toolparity.reports import results
from toolparity.reports.results import BROKEN, Result, Verdict, brief

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "reproductions" / "programs"
CONFIRMED = HERE / "reproductions" / "confirmed.json"
#: The laws about what a direct program prints: the calls, the text, the stop reason, the token counts, or an error.
DRAWN = ("conservation", "order", "arguments", "server-side", "stop", "usage", "incomplete", "any-cut")
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
    case = _PAGES["case_of"](result, verdict)
    answer, surface = _PAGES["_answer"](case), SURFACES[case.surface]
    with tempfile.TemporaryDirectory() as folder:
        for name, data in _PAGES["_body"](case).items():
            (Path(folder) / Path(name).name).write_bytes(data)
        tools = Path(folder) / f"{_PAGES['_stem'](case)}.tools.json"
        arguments = [str(Path(folder) / _PAGES["_file"](case)), surface.wire, answer.provider or surface.provider]
        arguments += [result.mode, str(tools) if tools.exists() else "-", str(answer.status)]
        done = subprocess.run(
            [*_command(result.subject), *arguments], capture_output=True, text=True, check=False, timeout=120
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"error": done.stderr.strip().splitlines()[-1]}


def judged(result: Result, verdict: Verdict, output: dict[str, Any]) -> str:
    """Return "confirmed", "unfair" or "false"."""
    report = result.rounds[verdict.round or 0]
    if report.error or output.get("error"):
        same = _type(report.error) == _type(output.get("error") or "")
        return "confirmed" if same else "false"
    if verdict.check in ("incomplete", "any-cut") and verdict.effect == "misreported":
        accused = verdict.reason.startswith("a complete response")  # is it accused of a break, or of none?
        return "confirmed" if _shows_break(output) is accused else "unfair"
    if verdict.check in ("stop", "usage") or _is_about_text(verdict) or verdict.reason.endswith("provider's id"):
        return _compared(*_sides(verdict, output))
    calls = list(map(_call, output["calls"]))
    expected = scenarios()[result.scenario].expected(result.surface, verdict.round or 0, stream=result.mode == "stream")
    if verdict.check != "order" and _all_alike(calls, call_texts(expected.calls)):
        return "unfair"
    return "confirmed" if _all_alike(calls, report.calls) else "false"


def _compared(expected: str, accused: str, printed: list[str]) -> str:
    """Return the word for a value. ``printed``: what the program prints; several values for the ids of the calls."""
    if accused in printed:
        return "confirmed"
    return "unfair" if expected in printed else "false"


def _sides(verdict: Verdict, output: dict[str, Any]) -> tuple[str, str, list[str]]:
    """Return the expected value, the accused one and the printed ones."""
    expected, accused = verdict.expected, verdict.got
    if verdict.check == "stop":
        return expected, accused, [_stop(output)]
    if verdict.check == "usage":
        count = verdict.reason.partition(" ")[0]
        expected, accused = (_count(side, count) for side in (expected, accused))
        return expected, accused, [_shown((output["usage"] or {}).get(count))]
    if _is_about_text(verdict):
        return expected, accused, [brief(output["text"] or "")]
    return expected, accused, [str(call.get("id")) for call in output["calls"]]


def _shows_break(output: dict[str, Any]) -> bool:
    """Return whether a program prints that a stream broke: as its state, or as the end of a library that has one."""
    if output.get("complete") is not None:
        return not output["complete"]
    return "stop" in output and _stop(output) in ("unknown", "error")


def _is_about_text(verdict: Verdict) -> bool:
    """Return whether a verdict compares the text of the answer, and not its calls."""
    return " text" in verdict.reason and verdict.check in ("conservation", "any-cut")


def _stop(output: dict[str, Any]) -> str:
    """Return the canonical stop reason of what a program prints."""
    beside = {name: output.get(name) for name in ("calls", "refusal", "approval")}
    return stop_of(output.get("stop"), **beside)


def _count(side: str, name: str) -> str:
    """Return one token count of a verdict's side, which has all counts or only this one."""
    return _shown(json.loads(side).get(name)) if side.startswith("{") else side


def _shown(count: int | None) -> str:
    return "" if count is None else str(count)


def _all_alike(calls: list[str], accused: list[str]) -> bool:
    """Return whether both lists have the same calls, in any order."""
    left = list(calls)
    for text in accused:
        same = next((call for call in left if _alike(call, text)), None)
        if same is None:
            return False
        left.remove(same)
    return not left


def _alike(call: str, accused: str) -> bool:
    """Return whether two calls are the same. A report shortens long ones."""
    if accused.endswith("...)"):
        return "".join(call.split()).startswith("".join(accused.removesuffix("...)").split()))
    return _plain(call) == _plain(accused)


def _type(error: str) -> str:
    """Return the type of an error, which precedes its message."""
    return error.partition(":")[0]


def _plain(text: str) -> str:
    """Return a call in the form of reports, without white space and escapes that differ between JSON texts."""
    name, _, arguments = text.partition("(")
    return f"{name}({_same(arguments.removesuffix(')'))})"


def _call(call: dict[str, Any]) -> str:
    arguments = call.get("arguments_text", call.get("arguments"))
    text = arguments if isinstance(arguments, str) else json_codec.text(arguments if arguments is not None else {})
    return f"{call['name'] or ''}({text})"


def _same(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return "".join(text.split())


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


def _entry(result: Result, verdict: Verdict, version: str) -> dict[str, Any]:
    """Return a line of confirmed.json."""
    place = {"scenario": result.scenario, "surface": result.surface, "mode": result.mode, "round": verdict.round or 0}
    return {"subject": result.subject, "version": version, "law": verdict.check, **place}


def _order(entry: dict[str, Any]) -> list[Any]:
    return list(entry.values())


def main() -> int:
    """Draw, run and print one line for each accusation, then the counts."""
    parser = argparse.ArgumentParser(description="Confirm a random sample of accusations.")
    parser.add_argument("run", type=Path, nargs="+")
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true", help="write the confirmed accusations to confirmed.json")
    options = parser.parse_args()
    runs = [results.read(path.read_bytes()) for path in options.run]
    found = [one for run in runs for one in accusations(run)]
    versions = {subject.name: subject.version for run in runs for subject in run.subjects}
    counts = dict.fromkeys(("confirmed", "unfair", "false"), 0)
    confirmed: list[dict[str, Any]] = []
    for result, verdict in sample(found, options.number, options.seed):
        output = printed(result, verdict)
        word = judged(result, verdict, output)
        counts[word] += 1
        if word == "confirmed":
            confirmed.append(_entry(result, verdict, versions[result.subject]))
        place = f"{result.subject} {verdict.check} {result.scenario} {result.surface} {result.mode}"
        print(f"{word:10}{place}" + ("" if word == "confirmed" else f"\n    {json.dumps(output)[:300]}"), flush=True)
    if options.record:
        kept = [entry for entry in json.loads(CONFIRMED.read_bytes()) if entry["subject"] not in versions]
        lines = ",\n".join(f" {json.dumps(entry)}" for entry in sorted([*kept, *confirmed], key=_order))
        CONFIRMED.write_text(f"[\n{lines}\n]\n", "utf-8")
    print(", ".join(f"{count} {word}" for word, count in counts.items()), f"(seed {options.seed})")
    return int(counts["confirmed"] < sum(counts.values()))


if __name__ == "__main__":
    sys.exit(main())
