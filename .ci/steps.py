"""Run the steps of `.ci/run` and hold each to its budget of processor time.

    python .ci/steps.py [NAME…]       # all steps of .ci/steps.toml, or the named ones

The steps of the table run one after the other. Those that are marked ``beside`` use one core and run in their order
beside the others, from the first one that is not marked ``alone`` on. All steps run, also after one has failed. A step
fails if its command does, or if it takes half as much processor time again as its budget: processes that it leaves to
itself count, too. Wall time depends on the machine and is only shown. Exit code 1 if any step failed; how its output
ended is printed again at the end.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
#: How much more processor time than its budget a step may take.
TOLERANCE = 1.5
#: How many lines of a failed step's output are printed again at the end.
_LINES = 60
#: How long a step waits for the processes that its command leaves behind, in seconds.
_PATIENCE = 10
#: Linux: orphans of this process's descendants become its children, so that their time is counted.
_PR_SET_CHILD_SUBREAPER = 36


class Step(NamedTuple):
    """A step: its command for bash, and its budget of processor time in seconds."""

    name: str
    run: str
    budget: float
    alone: bool = False
    beside: bool = False


class Done(NamedTuple):
    """How a step ended. ``memory``: the largest resident memory of one of its processes, in MB."""

    step: Step
    code: int
    wall: float
    processor: float
    memory: int
    output: bytes = b""

    @property
    def problem(self) -> str:
        if self.code:
            return f"exit code {self.code}"
        if self.processor > TOLERANCE * self.step.budget:
            return f"over its budget by {100 * self.processor / self.step.budget - 100:.0f} %"
        return ""


def table(path: Path = HERE / "steps.toml") -> list[Step]:
    return [Step(**entry) for entry in tomllib.loads(path.read_text("utf-8"))["step"]]


def run(step: Step, *, show: bool = True) -> Done:
    """Run a step in a process that waits for all its descendants, and measure them. ``show``: print its output now."""
    started = time.monotonic()
    output = bytearray()
    with tempfile.TemporaryFile("w+") as report:
        command = [sys.executable, __file__, "--measure", str(report.fileno()), step.run]
        with subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[report.fileno()],
        ) as process:
            assert process.stdout
            while piece := os.read(process.stdout.fileno(), 1 << 16):
                output += piece
                if show:
                    sys.stdout.buffer.write(piece)
                    sys.stdout.flush()
        report.seek(0)
        processor, memory = (report.read() or "0 0").split()
    ended = time.monotonic() - started
    return Done(step, process.returncode, ended, float(processor), int(memory), bytes(output))


def measure(report: int, command: str) -> int:
    """Run a command with bash, wait for it and for what it leaves behind, and write time and memory to a file."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", command])
    ended = 0
    while ended != process.pid:  # orphans are reaped at once: a test may look whether one has ended
        ended, status = os.wait()
    process.returncode = code = os.waitstatus_to_exitcode(status)
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.05)
        except ChildProcessError:
            break
    while left := _children():  # those of a process that ends become children of this one
        for pid in left:
            print(f"the step leaves a process, which ends now: {pid}", file=sys.stderr)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    import resource  # not on Windows, where tests read this file

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    os.write(report, f"{used.ru_utime + used.ru_stime:.1f} {used.ru_maxrss // 1024}".encode())
    return code


def _children() -> list[int]:
    """Return the processes that this one has to wait for. On Linux, they include orphans of its descendants."""
    lists = Path("/proc/self/task").glob("*/children") if sys.platform == "linux" else ()
    return [int(pid) for path in lists for pid in path.read_text().split()]


def show(text: str) -> None:
    print(text, flush=True)


def minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def all_steps(steps: Sequence[Step], started: float) -> list[Done]:
    done: list[Done] = []
    aside = [step for step in steps if step.beside]

    def run_aside() -> None:
        """Run steps beside others, and print the output of each when it has ended."""
        for step in aside:
            ended = run(step, show=False)
            header = f"\n== {step.name}: {step.run.strip()}  [ended {minutes(time.monotonic() - started)}]\n"
            sys.stdout.buffer.write(header.encode() + ended.output)
            sys.stdout.flush()
            done.append(ended)

    thread = threading.Thread(target=run_aside)
    for step in steps:
        if step.beside:
            continue
        if not (step.alone or thread.is_alive() or thread.ident):
            thread.start()
        show(f"\n== {step.name}: {step.run.strip()}  [{minutes(time.monotonic() - started)}]")
        done.append(run(step))
    if aside and not thread.ident:
        thread.start()
    if thread.ident:
        thread.join()
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", nargs=2, metavar=("FD", "COMMAND"), help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these steps")
    arguments = parser.parse_args()
    if arguments.measure:
        return measure(int(arguments.measure[0]), arguments.measure[1])
    steps = table()
    if unknown := set(arguments.names) - {step.name for step in steps}:
        parser.error(f"no such step: {', '.join(sorted(unknown))}; steps: {', '.join(step.name for step in steps)}")
    started = time.monotonic()
    chosen = [step for step in steps if not arguments.names or step.name in arguments.names]
    done = all_steps(chosen, started)
    for each in done:
        if each.problem:
            show(f"\n== How {each.step.name} ended: {each.problem}")
            sys.stdout.buffer.write(b"".join(each.output.splitlines(keepends=True)[-_LINES:]))
            sys.stdout.flush()
    show("\n== Steps, the slowest first (seconds; MB of the largest process)")
    show(f"{'step':<18} {'wall':>6} {'processor':>10} {'budget':>7} {'memory':>7}")
    for each in sorted(done, key=lambda each: -each.processor):
        show(
            f"{each.step.name:<18} {each.wall:6.0f} {each.processor:10.0f} {each.step.budget:7g} {each.memory:7}"
            f"  {each.problem}".rstrip()
        )
    failed = [each.step.name for each in done if each.problem]
    failed += sorted({step.name for step in chosen} - {each.step.name for each in done})  # could not be run
    show(f"\n{minutes(time.monotonic() - started)} in all; " + (f"failed: {', '.join(failed)}" if failed else "passed"))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
