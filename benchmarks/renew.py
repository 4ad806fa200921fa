"""Renew the figures and the page about speed: `python -m benchmarks.renew RECORDINGS [--only STEP]... [--fast]`.

It runs each benchmark of `STEPS` in a separate process and writes its file in `benchmarks/results`, and then
`docs/pages/benchmarks.md` from all files. The environments of the libraries have to be installed
(`toolparity subjects install`). Run it on a machine that does nothing else. ``--fast`` tries every step on a small part
of its input and writes into another folder, so that rough figures replace no measured ones.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from docs.generate import speed

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
#: The placeholders of the folder of recordings and of the file of results in the arguments of a step.
_RECORDINGS, _FILE = "RECORDINGS", "FILE"


class Step(NamedTuple):
    """A benchmark.

    ``arguments``: its module and arguments. ``size``: the option that determines how long it takes, with its value in a
    whole and in a fast run; the value is "" for an option without one.
    """

    name: str
    arguments: tuple[str, ...]
    size: str = ""
    whole: str = ""
    fast: str = ""

    def command(self, recordings: Path, into: Path, size: str) -> list[str]:
        """Return the command that writes the results of this step into a folder."""
        named = {_RECORDINGS: str(recordings), _FILE: str(into / f"{self.name}.json")}
        chosen = [self.size, size] if self.size and size else []
        return [sys.executable, "-m", *(named.get(each, each) for each in self.arguments), *chosen]


STEPS = (
    Step("recorded", ("benchmarks.recorded", _RECORDINGS, "--json", _FILE), "--turns", "9", "1"),
    Step("made", ("benchmarks", "--results", _FILE), "--turns", "100", "3"),
    Step("minimum", ("benchmarks.minimum", _RECORDINGS, "--json", _FILE), "--turns", "9", "1"),
    Step("fast_paths", ("benchmarks.fast_paths", _RECORDINGS, "--json", _FILE), "--every", "1", "20"),
    Step("peers", ("benchmarks.peers", _RECORDINGS, "--json", _FILE), "--count", "8", "1"),
    Step("turns", ("benchmarks.turns", "--log", "--json", _FILE), "--turns", "300", "20"),
    Step("bulk", ("benchmarks.bulk", _RECORDINGS, "--json", _FILE), "--size", "400MB", "1MB"),
    Step("instructions", ("benchmarks.instructions", "--update", "--results", _FILE), "--wire", "", "openai.chat"),
    Step("growth", ("benchmarks.growth", "--json", _FILE), "--only", "", "select"),
)


def main() -> int:
    """Run the steps. Returns the exit code of the first step that fails, else 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.renew", description=__doc__)
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--only", action="append", choices=[step.name for step in STEPS], help="this step; repeatable")
    parser.add_argument("--size", action="append", default=[], metavar="STEP=VALUE", help="the size of a step")
    parser.add_argument("--fast", action="store_true", help="small steps, to try the command")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="write results and page here")
    given = parser.parse_args()
    into = given.into or (Path(tempfile.mkdtemp(prefix="toolparity-renew-")) if given.fast else RESULTS)
    into.mkdir(parents=True, exist_ok=True)
    sizes = dict(each.split("=", 1) for each in given.size)
    if unknown := sizes.keys() - {step.name for step in STEPS}:
        parser.error(f"unknown steps: {', '.join(sorted(unknown))}")
    steps = [step for step in STEPS if not given.only or step.name in given.only]
    began = time.monotonic()
    for number, step in enumerate(steps, start=1):
        command = step.command(
            given.recordings.resolve(), into.resolve(), sizes.get(step.name, step.fast if given.fast else step.whole)
        )
        print(f"[{_clock(began)}] step {number} of {len(steps)}: {' '.join(command[1:])}", flush=True)
        if code := subprocess.run(command, cwd=ROOT, check=False).returncode:
            print(f"[{_clock(began)}] the step {step.name} failed with exit code {code}", file=sys.stderr)
            return code
    if given.only and into != RESULTS:
        return 0  # the page needs the results of all steps
    ((path, page),) = speed.files(into).items()
    path = path if into == RESULTS else into / path.name
    path.write_text(page, "utf-8")
    print(f"[{_clock(began)}] {path} is written", flush=True)
    return 0


def _clock(began: float) -> str:
    minutes, seconds = divmod(int(time.monotonic() - began), 60)
    return f"{minutes}:{seconds:02}"


if __name__ == "__main__":
    sys.exit(main())
