"""Runs reproductions, each in an environment that has its library and not this project.

    python -m docs.generate.confirm                       those of the published page: one for each library and law
    python -m docs.generate.confirm --reasons litellm     one for each reason of a failure of this library
    python -m docs.generate.confirm --number 60 --seed 1  a random sample of all published failures
    python -m docs.generate.confirm --number 60 --programs docs/reproductions/programs
                                                          the same, with each program and its response in a folder

A script is confirmed if it prints what the published results state: the accused value, or an error of the accused type.
One line is printed for each. The exit status is 0 if all are confirmed. ``--record`` writes the confirmed accusations
to docs/data/confirmed.json, in the place of the earlier ones of these libraries.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from docs.generate.peers import by_reason
from toolparity.conformance.cli.publish import FOLDER, RESULTS
from toolparity.conformance.reproductions import Accusation, accusations, confirmation, shortest
from toolparity.conformance.reproductions.running import available
from toolparity.reports.files import load


def sample(found: Sequence[Accusation], number: int, seed: int) -> list[Accusation]:
    """Return a random sample in which every library has its share: one of each in turn."""
    shuffled = random.Random(seed).sample(found, len(found))
    turns: dict[str, Iterator[Accusation]] = {
        name: iter([one for one in shuffled if one.result.subject == name])
        for name in dict.fromkeys(one.result.subject for one in shuffled)
    }
    drawn: list[Accusation] = []
    while turns and len(drawn) < number:
        for name in list(turns):
            one = next(turns[name], None)
            if one is None:
                del turns[name]
            elif len(drawn) < number:
                drawn.append(one)
    return drawn


def selected(options: argparse.Namespace) -> list[Accusation]:
    """Return the accusations that the options select."""
    found = list(accusations(load(FOLDER / RESULTS)))
    if options.number:
        chosen = sample(found, options.number, options.seed)
    elif options.reasons:
        chosen = [reason.accusation for reason in by_reason(found)]
    else:
        chosen = shortest(found)
    return [one for one in chosen if not options.names or one.result.subject in options.names]


def outcome(accusation: Accusation) -> tuple[str, str]:
    """Return "confirmed", "not confirmed" or "not installed", and what the script printed."""
    if not available(accusation.result.subject):
        return "not installed", ""
    confirmed, printed = confirmation.outcome(accusation)
    return "confirmed" if confirmed else "not confirmed", printed


def write_programs(chosen: Sequence[Accusation], folder: Path) -> None:
    """Write each program, with a number before its name, and the responses that they read, in the place of others."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for number, one in enumerate(chosen, 1):
        (folder / f"{number:02}.{one.script.name}").write_text(one.script.text, "utf-8")
        (folder / one.response.file).write_bytes(one.response.data)


def record(confirmed: Sequence[Accusation]) -> None:
    """Write the confirmed accusations of these libraries."""
    entries = [confirmation.entry(one) for one in confirmed]
    subjects = {entry["subject"] for entry in entries}
    kept = [entry for entry in json.loads(confirmation.RECORD.read_bytes()) if entry["subject"] not in subjects]
    unique = sorted({tuple(entry.items()) for entry in [*kept, *entries]})
    lines = ",\n".join(f" {json.dumps(dict(entry))}" for entry in unique)
    confirmation.RECORD.write_text(f"[\n{lines}\n]\n", "utf-8")


def main() -> int:
    """Run the scripts and print one line for each, then the counts."""
    parser = argparse.ArgumentParser(description="Run reproductions in environments without this project.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these libraries")
    parser.add_argument("--reasons", action="store_true", help="one script for each reason of a failure")
    parser.add_argument("--number", type=int, help="draw so many failures at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--programs", type=Path, metavar="FOLDER", help="write the programs and responses into a folder"
    )
    parser.add_argument("--record", action="store_true", help="write the confirmed accusations to confirmed.json")
    options = parser.parse_args()
    counts = dict.fromkeys(("confirmed", "not confirmed", "not installed"), 0)
    confirmed: list[Accusation] = []
    chosen = selected(options)
    if options.programs:
        write_programs(chosen, options.programs)
    for accusation in chosen:
        word, printed = outcome(accusation)
        counts[word] += 1
        confirmed += [accusation] * (word == "confirmed")
        place = f"{accusation.result.subject} {accusation.verdict.check} {accusation.result.case}"
        print(f"{word:14}{place}" + f"\n    {printed[:300]}" * (word == "not confirmed"), flush=True)
    if options.record:
        record(confirmed)
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    return int(counts["not confirmed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
