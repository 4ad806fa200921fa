"""Instruction counts with valgrind's callgrind: they hardly depend on the load, but on the build of Python."""

from __future__ import annotations

import gc
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from .measure import Job


def build() -> str:
    """Return what the counts depend on: the build of Python and the version of msgspec."""
    return f"Python {sys.version}, msgspec {msgspec.__version__}"


def is_installed() -> bool:
    """Return whether valgrind is installed."""
    return shutil.which("valgrind") is not None


def run(jobs: Iterable[tuple[Job, int]]) -> None:
    """Run each job the given number of times, in the process whose instructions are counted.

    Between the jobs it calls `getsid`, on which valgrind writes what it has counted since the call before.
    """
    gc.collect()
    gc.freeze()  # the collector skips what was loaded before
    for job, times in jobs:
        os.getsid(0)
        for _ in range(times):
            job()
    os.getsid(0)


def counts(function: str, *arguments: Any) -> list[int]:
    """Return the instructions of each job, counted in a process that calls ``function`` with the arguments.

    ``function``: such as "benchmarks.growth:run"; it calls `run`. The arguments are pickled, because making traffic
    under valgrind would take longer than all counting. Raises RuntimeError if the process fails.
    """
    module, _, name = function.partition(":")
    with tempfile.TemporaryDirectory() as directory:
        output, pickled = Path(directory, "counts"), Path(directory, "arguments")
        pickled.write_bytes(pickle.dumps(arguments))
        valgrind = ["valgrind", "--tool=callgrind", "--dump-before=getsid", f"--callgrind-out-file={output}"]
        code = f"import pickle; from {module} import {name} as run; run(*pickle.load(open({str(pickled)!r}, 'rb')))"
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        command = [*valgrind, sys.executable, "-c", code]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if ran.returncode:
            raise RuntimeError(f"{function} ended with {ran.returncode}:\n{ran.stderr[-2000:]}")
        parts = sorted(Path(directory).glob("counts.*"), key=lambda part: int(part.suffix[1:]))[1:]  # of the jobs
        totals = [re.search(r"^totals: (\d+)", part.read_text(), re.MULTILINE) for part in parts]
    return [int(total[1]) for total in totals if total is not None]
