"""Installs libraries for the suite, each into a separate environment in the user's cache folder.

    $XDG_CACHE_HOME/toolparity/subjects/NAME              (~/.cache if it is not set) the pinned version
    $XDG_CACHE_HOME/toolparity/subjects/NAME==VERSION     another version

Each of them is a link to a folder in ``.environments``. The link is set when the folder is complete, so that an
interrupted installation is never used and an existing one is used until then.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from toolparity.normalizer.errors import MissingExtra

from ..errors import UnknownSubject
from .executable import TIMEOUT, Executable
from .installers import Report
from .peers import PEERS, Peer
from .runtimes import RUNTIMES

_MARK = "toolparity.json"
#: The timeout in seconds: importing such a library takes long on a slow disk.
_TIMEOUT = max(TIMEOUT, 60.0)
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!_-]*")


class Installed(Struct, frozen=True):
    """The marker of a complete environment, which is written last.

    ``pins``: the pinned versions that were installed; "" if it is another version.
    """

    version: str
    pins: str


class Library(NamedTuple):
    """A library, at its pinned version or at another ``version``."""

    peer: Peer
    version: str = ""

    @property
    def name(self) -> str:
        """The name of the subject: NAME or NAME==VERSION."""
        return f"{self.peer.name}=={self.version}" if self.version else self.peer.name

    @property
    def environment(self) -> str:
        """The name of the environment, which several subjects can share."""
        name = self.peer.shares or self.peer.name
        return f"{name}=={self.version}" if self.version else name

    @property
    def link(self) -> Path:
        """The path of the environment."""
        return home() / self.environment


def home() -> Path:
    """Return the folder that holds the environments."""
    return cache() / "subjects"


def cache() -> Path:
    """Return the folder of this project in the user's cache."""
    folder = os.environ.get("XDG_CACHE_HOME")
    return (Path(folder) if folder else Path.home() / ".cache") / "toolparity"


def is_library(name: str) -> bool:
    """Return whether the name is that of a library, with or without a version."""
    return name.partition("==")[0] in PEERS


def known(name: str) -> Library:
    """Return the library with a name: NAME or NAME==VERSION.

    Raises UnknownSubject with the names that can be installed, or for a malformed version.
    """
    peer, separator, version = name.partition("==")
    if peer not in PEERS:
        raise UnknownSubject(f"unknown library: {peer!r}", hint=f"one of {', '.join(PEERS)}")
    if separator and not _VERSION.fullmatch(version):
        raise UnknownSubject(f"{name}: {version!r} is not a version", hint=f"write {peer}==1.2.3")
    return Library(PEERS[peer], version)


def installed(name: str) -> Installed | None:
    """Return what is installed; None if nothing is."""
    try:
        return msgspec.json.decode((known(name).link / _MARK).read_bytes(), type=Installed)
    except (OSError, msgspec.DecodeError):
        return None


def other_versions() -> list[str]:
    """Return the names of the installed libraries at other versions than the pinned ones: NAME==VERSION."""
    names = sorted(path.name for path in home().glob("*==*"))
    return [name for name in names if is_library(name) and installed(name) is not None]


def outdated(name: str) -> bool:
    """Return whether the pinned versions have changed since the installation."""
    library, installation = known(name), installed(name)
    return installation is not None and not library.version and installation.pins != _pins(library)


def install(name: str, report: Report = lambda step: None) -> Installed:
    """Install a library anew. Another installation of the same library waits until this one ends.

    ``report`` gets a short text at each step. Raises MissingExtra with the error of pip or npm and what to do; an
    existing environment is then still there.
    """
    library = known(name)
    runtime = RUNTIMES[library.peer.runtime]
    with _lock(library, report):
        folder = Path(tempfile.mkdtemp(prefix=f"{library.environment}-", dir=_folders()))
        try:
            runtime.install(library.peer, library.version, folder, report)
            installation = Installed(runtime.version(library.peer, folder), _pins(library))
            (folder / _MARK).write_bytes(msgspec.json.encode(installation))
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, MissingExtra):
                raise MissingExtra(f"{name} cannot be installed: {error.what}", hint=error.hint) from None
            if isinstance(error, OSError):
                raise MissingExtra(f"{name} cannot be installed: {error}", where=str(folder)) from None
            raise
        _switch(library, folder)
    return installation


def remove(name: str) -> bool:
    """Remove the environment. Return whether there was one."""
    library = known(name)
    with _lock(library):
        if not library.link.exists():
            return False
        if library.link.is_symlink():
            library.link.unlink()
        else:  # of a release that did not use links
            shutil.rmtree(library.link)
        _tidy(library)
    return True


def peer(name: str) -> Executable:
    """Return the program of a library in its environment. Raises MissingExtra if it is not installed."""
    library = known(name)
    if installed(name) is None:
        raise MissingExtra(
            f"the library {name} is not installed for the suite", hint=f"run toolparity subjects install {name}"
        )
    command = RUNTIMES[library.peer.runtime].command(library.peer, library.link)
    return Executable(command, timeout=_TIMEOUT, name=library.name if library.version else "")


def _pins(library: Library) -> str:
    return "" if library.version else library.peer.pins.read_text("utf-8")


def _folders() -> Path:
    folder = home() / ".environments"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _switch(library: Library, folder: Path) -> None:
    """Make the link point to a complete environment, in one step, and remove the earlier ones."""
    if library.link.exists() and not library.link.is_symlink():  # of a release that did not use links
        shutil.rmtree(library.link)
    fresh = folder.with_name(f"{folder.name}.link")
    fresh.symlink_to(folder)
    fresh.replace(library.link)
    _tidy(library)


def _tidy(library: Library) -> None:
    """Remove the folders that no link points to: earlier ones, and those of interrupted installations."""
    current = library.link.resolve() if library.link.is_symlink() else None
    for path in _folders().glob(f"{library.environment}-*"):
        if path.name.rpartition("-")[0] != library.environment or path == current:
            continue
        if path.is_symlink():
            path.unlink()
        else:
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _lock(library: Library, report: Callable[[str], None] = lambda step: None) -> Iterator[None]:
    """Hold the lock of an environment. The operating system releases it if the process ends."""
    if sys.platform == "win32":  # programs can be tested on POSIX systems only
        yield
        return
    import fcntl

    with open(_folders() / f"{library.environment}.lock", "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("waiting for another installation of it to end")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
