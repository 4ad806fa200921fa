"""Whether the script of a failure shows it: by running the script, or by the record of an earlier run."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from toolparity.reports.results import brief

from ..subjects import distribution_of, environments
from ..subjects.peers import PEERS
from .accusations import Accusation
from .comparison import confirms
from .output import Output
from .running import run

#: The confirmed failures, in a checkout of this project. `python -m docs.generate.confirm --record` writes the file.
RECORD = Path(__file__).resolve().parents[2] / "docs" / "data" / "confirmed.json"


def unconfirmed(accusation: Accusation) -> str:
    """Return why a failure is not confirmed, or "" if it is.

    The script runs if the library is installed in the version of the results. If it is not, the record decides.
    """
    subject, version = accusation.result.subject, accusation.version
    if installed_version(subject) == version:
        return _shown(accusation)
    if entry(accusation) in _recorded():
        return ""
    return f"its script was not run, because {subject} {version} is not installed: run {_install(accusation)}"


def outcome(accusation: Accusation) -> tuple[bool, str]:
    """Run the script. Return whether it shows the failure, and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            output = run(accusation, Path(folder))
        except subprocess.TimeoutExpired:
            return False, "the script did not end"
    return confirms(accusation, output), _printed(output)


def entry(accusation: Accusation) -> dict[str, Any]:
    """Return the entry of a failure in the record."""
    result, verdict = accusation.result, accusation.verdict
    place = {"scenario": result.scenario, "surface": result.surface, "mode": result.mode, "round": verdict.round or 0}
    return {"subject": result.subject, "version": accusation.version, "law": verdict.check, **place}


def installed_version(subject: str) -> str:
    """Return the version in which the library of a subject is installed, or ""."""
    if subject in PEERS:
        installed = environments.installed(subject)
        return "" if installed is None else installed.version
    try:
        return importlib.metadata.version(distribution_of(subject))
    except importlib.metadata.PackageNotFoundError:
        return ""


def _install(accusation: Accusation) -> str:
    """Return the command that installs the library in the version of the results."""
    subject, version = accusation.result.subject, accusation.version
    if subject not in PEERS:
        return accusation.script.install
    return f"toolparity subjects install {subject}" + f"=={version}" * (PEERS[subject].pinned != version)


def _shown(accusation: Accusation) -> str:
    confirmed, printed = outcome(accusation)
    return "" if confirmed else f"its script does not show it; it printed {brief(printed)}"


def _printed(output: Output) -> str:
    return json.dumps(output.values) if output.values else output.error[-300:]


@cache
def _recorded() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(RECORD.read_bytes()) if RECORD.exists() else []
    return entries
