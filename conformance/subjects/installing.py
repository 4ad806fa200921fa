"""Libraries installed for the suite: each in a virtual environment of its own in the user's cache folder.

    $XDG_CACHE_HOME/toolparity/subjects/NAME   (~/.cache where it is not set)

What pip is told otherwise (an index, PIP_NO_INDEX, a proxy) holds here too.
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

from toolparity.normalizer.errors import MissingExtra, UnknownSubject

from .executable import TIMEOUT, Executable
from .peers import PEERS, Peer

_MARK = "toolparity.json"
#: Seconds for the first word: importing such a library takes long on a slow disk.
_PATIENCE = max(TIMEOUT, 60.0)


class Installed(Struct, frozen=True):
    """Written last: an environment without it is none. ``pins``: the versions that were asked for."""

    version: str
    pins: str


def home() -> Path:
    """The folder that holds the environments."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "toolparity" / "subjects"


def known(name: str) -> Peer:
    """Raises UnknownSubject, which says what can be installed."""
    if name not in PEERS:
        raise UnknownSubject(f"no library called {name!r} can be installed", hint=f"one of {', '.join(PEERS)}")
    return PEERS[name]


def installed(name: str) -> Installed | None:
    """What is installed; null where nothing is, or where the installation did not come to its end."""
    known(name)
    try:
        return msgspec.json.decode((home() / name / _MARK).read_bytes(), type=Installed)
    except (OSError, msgspec.DecodeError):
        return None


def outdated(name: str) -> bool:
    """Whether other versions are pinned by now."""
    found = installed(name)
    return found is not None and found.pins != known(name).pins.read_text("utf-8")


def install(name: str) -> Installed:
    """Make the environment anew. Raises MissingExtra with what pip complained of; then nothing is left behind."""
    peer = known(name)
    folder = home() / name
    remove(name)
    try:
        venv.create(folder, with_pip=True)
        _run([str(_python(folder)), "-m", "pip", "install", "--no-input", "--quiet", "-r", str(peer.pins)])
        asked = f"from importlib import metadata; print(metadata.version({peer.distribution!r}))"
        made = Installed(_run([str(_python(folder)), "-c", asked]).strip(), peer.pins.read_text("utf-8"))
        (folder / _MARK).write_bytes(msgspec.json.encode(made))
    except (OSError, subprocess.CalledProcessError) as error:
        remove(name)
        told = " ".join(str(getattr(error, "stderr", None) or error).split())
        raise MissingExtra(f"{name} cannot be installed: {told[-600:]}", where=str(folder)) from None
    return made


def remove(name: str) -> bool:
    """Whether anything was there."""
    known(name)
    folder = home() / name
    if not folder.exists():
        return False
    shutil.rmtree(folder)
    return True


def peer(name: str) -> Executable:
    """The program of a library in its environment. Raises MissingExtra where it is not installed."""
    if installed(name) is None:
        raise MissingExtra(
            f"the library {name} is not installed for the suite", hint=f"toolparity subjects install {name}"
        )
    return Executable([str(_python(home() / name)), str(known(name).program)], timeout=_PATIENCE)


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _run(command: Sequence[str]) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return done.stdout
