"""What a new cassette has to pass before it takes the old one's place: each gets its path, and raises to refuse it."""

from __future__ import annotations

import os
from pathlib import Path

from normalizer.errors import SecretsLeft

from . import files
from .digest import digest


def scrubbed(path: Path) -> None:
    """Scrubbing it once more changes nothing. Raises SecretsLeft."""
    from ..secrets import Scrubber

    interactions = files.load(path).interactions
    scrubber = Scrubber()
    if digest(scrubber.cassette({"interactions": interactions})["interactions"]) != digest(interactions):
        raise SecretsLeft(f"the scrubber would still change it: {scrubber.report}", where=os.fspath(path))


def scanned(path: Path) -> None:
    """The scanner finds no secret. Raises SecretsLeft."""
    from ..secrets.scanner import refuse

    loaded = files.load(path)
    refuse({"metadata": loaded.metadata, "interactions": loaded.interactions}, where=os.fspath(path))


def replays(path: Path) -> None:
    """It plays through the official SDK with the network cut, all of it. Raises ReplayFailed."""
    from ..recorder.replay import replay

    replay(path)
