"""Outcomes in the user's cache, under the version and a digest of everything that decides a verdict."""

from __future__ import annotations

import functools
import gzip
import hashlib
import sys
from importlib import import_module
from pathlib import Path

import msgspec

from ...subjects import environments
from ...subjects.peers import PEERS
from ..judge import CaseFilter
from .measurement import Measurement

#: Package -> the files in it that decide a verdict. Of the programs, only that of the library counts.
_JUDGES = {
    "cassettes": ("emulated/**/*.py", "recorded/**/*", "scenarios/**/*"),
    "conformance": (
        "answer.py",
        "cases/**/*.py",
        "laws/**/*.py",
        "oracle/**/*.py",
        "runner/judge.py",
        "runner/status.py",
        "runner/withdrawn.py",
        "subjects/http_client_subject.py",
        "subjects/loopback.py",
        "subjects/peers/*.*",
    ),
}


def read(name: str, version: str, case_filter: CaseFilter) -> Measurement | None:
    """Return the outcome of a version of the library ``name``, or None if it is not kept."""
    try:
        data = gzip.decompress(_path(name, version, case_filter).read_bytes())
        return msgspec.json.decode(data, type=Measurement)
    except (OSError, EOFError, msgspec.DecodeError):
        return None


def write(name: str, measurement: Measurement, case_filter: CaseFilter) -> None:
    """Keep an outcome. An interrupted process leaves no part of a file under its name."""
    path = _path(name, measurement.version, case_filter)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".part")
    fresh.write_bytes(gzip.compress(msgspec.json.encode(measurement), mtime=0))
    fresh.replace(path)


def _path(name: str, version: str, case_filter: CaseFilter) -> Path:
    selected = hashlib.sha256(msgspec.json.encode(case_filter)).hexdigest()
    file = f"{version}-{suite_digest(name)[:16]}-{selected[:8]}.json.gz"
    return environments.cache() / "history" / name / file


@functools.cache
def suite_digest(name: str) -> str:
    """Return a digest of everything that decides a verdict on a library: these files, and the version of Python."""
    others = {peer.program.name for peer in PEERS.values() if peer.name != name} | {
        peer.pins.name for peer in PEERS.values()
    }
    digest = hashlib.sha256(f"{sys.version_info.major}.{sys.version_info.minor}".encode())
    for package, patterns in _JUDGES.items():
        folder = Path(import_module(f"toolparity.{package}").__path__[0])
        for path in sorted(path for pattern in patterns for path in folder.glob(pattern)):
            if path.is_file() and path.name not in others:
                named = f"{package}/{path.relative_to(folder).as_posix()}"
                digest.update(f"{named}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()
