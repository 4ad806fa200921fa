"""Runs pip and npm: their progress, their output, and their errors with what to do about them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from toolparity.normalizer.errors import MissingExtra

#: Gets a short text at each step of an installation.
Report = Callable[[str], None]
#: Text in the output of an installer -> what to do about it.
_ADVICE = {
    "DO NOT MATCH THE HASHES": "the index serves other files than the pinned ones: check its address in pip's settings",
    "EINTEGRITY": "the registry serves other files than the pinned ones: check its address in npm's settings",
    "No matching distribution": "check the version, and the index in pip's settings (pip config list)",
    "ETARGET": "check the version, and the registry in npm's settings (npm config get registry)",
    "E404": "check the version, and the registry in npm's settings (npm config get registry)",
    "onnection": "check the network, and the proxy and the index in the settings of pip or npm",
    "ENOTFOUND": "check the network, and the proxy and the registry in npm's settings",
    "No space left": "free disk space, or set XDG_CACHE_HOME to a folder on another disk",
}
#: The lines with which pip and npm introduce an error.
_ERROR_LINE = re.compile(r"^(?:ERROR:|npm (?:error|ERR!))\s*")
#: At most so many characters of an installer's errors are reported.
_SHOWN = 600


def run_installer(command: Sequence[str], folder: Path | None = None, *, report: Report = lambda line: None) -> str:
    """Run an installer and return its output. Raises MissingExtra with its errors and what to do."""
    lines: list[str] = []
    with subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line)
                report(line)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise _failure(lines, process.returncode)
    return "".join(lines)


def query(command: Sequence[str]) -> str:
    """Run a command of pip or npm that installs nothing, and return its standard output.

    Raises MissingExtra as `run_installer` does.
    """
    done = subprocess.run(command, env=_environment(), capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise _failure(done.stderr.splitlines(), done.returncode)
    return done.stdout


def _environment() -> dict[str, str]:
    """Return the environment without the variables that make Python search other folders for packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def _failure(lines: Sequence[str], code: int) -> MissingExtra:
    """Return the error of an installer, from the line on for which there is advice, else its end."""
    errors = [_ERROR_LINE.sub("", line) for line in lines if _ERROR_LINE.match(line)] or lines[-5:]
    for mark, advice in _ADVICE.items():
        first = next((number for number, line in enumerate(errors) if mark in line), None)
        if first is not None:
            return MissingExtra(_one_line(errors[first:])[:_SHOWN], hint=advice)
    text = _one_line(errors)[-_SHOWN:] or f"exit code {code}"
    return MissingExtra(text, hint="run the command again, or read the log")


def _one_line(lines: Sequence[str]) -> str:
    return " ".join(" ".join(lines).split())
