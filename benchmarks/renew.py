"""Renew the figures and the page about speed: `python -m benchmarks.renew RECORDINGS`.

It runs the benchmarks of made traffic, of recorded traffic and of libraries one after the other, writes their files in
`benchmarks/results`, and writes `docs/benchmarks.md` from them. The environments of the libraries have to be installed
(`toolparity subjects install`). Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"


def main() -> int:
    """Run every step. Returns the exit code of the first step that fails, else 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.renew", description=__doc__)
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--fast", action="store_true", help="fewer turns, to try the command")
    given = parser.parse_args()
    fast = ["--fast"] if given.fast else []
    steps = [
        ["benchmarks", *fast, "--results", str(RESULTS / "made.json")],
        ["benchmarks.recorded", str(given.recordings), "--json", str(RESULTS / "recorded.json")],
        ["benchmarks.minimum", str(given.recordings), "--json", str(RESULTS / "minimum.json")],
        ["benchmarks.fast_paths", str(given.recordings), "--json", str(RESULTS / "fast_paths.json")],
        ["benchmarks.peers", str(given.recordings), "--json", str(RESULTS / "peers.json")],
    ]
    for step in steps:
        print("python -m", *step, flush=True)
        code = subprocess.run([sys.executable, "-m", *step], cwd=HERE.parent, check=False).returncode
        if code:
            return code
    written = subprocess.run([sys.executable, "docs/speed.py"], cwd=HERE.parent, check=True, capture_output=True)
    (HERE.parent / "docs" / "benchmarks.md").write_bytes(written.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
