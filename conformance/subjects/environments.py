"""Installs libraries for the suite, each into a separate virtual environment in the user's cache folder.

    $XDG_CACHE_HOME/toolparity/subjects/NAME   (~/.cache if it is not set)

The settings of pip (an index, PIP_NO_INDEX, a proxy) apply here too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from toolparity.normalizer.errors import MissingExtra

from ..errors import UnknownSubject
from .executable import TIMEOUT, Executable
from .peers import PEERS, Peer

_MARK = "toolparity.json"
#: The timeout in seconds: importing such a library takes long on a slow disk.
_TIMEOUT = max(TIMEOUT, 60.0)


class Installed(Struct, frozen=True):
    """The marker of a complete environment, which is written last.

    ``pins``: the pinned versions that were installed.
    """

    version: str
    pins: str


def home() -> Path:
    """Return the folder that holds the environments."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "toolparity" / "subjects"


def known(name: str) -> Peer:
    """Return the library with a name. Raises UnknownSubject with the names that can be installed."""
    if name not in PEERS:
        raise UnknownSubject(f"unknown library: {name!r}", hint=f"one of {', '.join(PEERS)}")
    return PEERS[name]


def installed(name: str) -> Installed | None:
    """Return what is installed; None if nothing is, or if the installation was interrupted."""
    known(name)
    try:
        return msgspec.json.decode((home() / name / _MARK).read_bytes(), type=Installed)
    except (OSError, msgspec.DecodeError):
        return None


def outdated(name: str) -> bool:
    """Return whether the pinned versions have changed since the installation."""
    installation = installed(name)
    return installation is not None and installation.pins != known(name).pins.read_text("utf-8")


def install(name: str) -> Installed:
    """Create the environment anew.

    Raises MissingExtra with pip's error; the incomplete environment is removed.
    """
    peer = known(name)
    folder = home() / name
    remove(name)
    try:
        venv.create(folder, with_pip=True)
        _run([str(_python(folder)), "-m", "pip", "install", "--no-input", "--quiet", "-r", str(peer.pins)])
        script = f"from importlib import metadata; print(metadata.version({peer.distribution!r}))"
        installation = Installed(_run([str(_python(folder)), "-c", script]).strip(), peer.pins.read_text("utf-8"))
        (folder / _MARK).write_bytes(msgspec.json.encode(installation))
    except (OSError, subprocess.CalledProcessError) as error:
        remove(name)
        output = " ".join(str(getattr(error, "stderr", None) or error).split())
        raise MissingExtra(f"{name} cannot be installed: {output[-600:]}", where=str(folder)) from None
    return installation


def remove(name: str) -> bool:
    """Remove the environment. Return whether there was one."""
    known(name)
    folder = home() / name
    if not folder.exists():
        return False
    shutil.rmtree(folder)
    return True


def peer(name: str) -> Executable:
    """Return the program of a library in its environment. Raises MissingExtra if it is not installed."""
    if installed(name) is None:
        raise MissingExtra(
            f"the library {name} is not installed for the suite", hint=f"run toolparity subjects install {name}"
        )
    return Executable([str(_python(home() / name)), str(known(name).program)], timeout=_TIMEOUT)


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _run(command: Sequence[str]) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
