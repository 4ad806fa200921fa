"""Checks that a new cassette must pass before it replaces the old one. Each takes a path and raises to refuse it."""

from __future__ import annotations

import os
from pathlib import Path

from toolparity.normalizer.errors import ToolparityError

from ..errors import CassetteNotWritten, SecretsLeft
from . import files
from .digest import digest


def makes_room(path: Path) -> None:
    """Refuse to replace a live cassette, or one whose origin is unknown, by an emulated recording.

    A damaged recording can be fixed, a lost one cannot. A path without a file passes. Raises CassetteNotWritten.
    """
    if not os.path.lexists(path):
        return
    where = os.fspath(path)
    hint = "restore it from version control, or delete it first"
    try:
        told = files.provenance_of(path)
        if told.seal is not None and told.seal != told.sealing:
            raise CassetteNotWritten("its provenance was changed", where=where)
    except ToolparityError as error:
        what = f"what stands there does not tell whether it is live, and is not replaced: {error.what}"
        raise CassetteNotWritten(what, where=where, hint=hint) from None
    if told.origin == "live":
        what = "a live recording is not replaced by an emulated one"
        raise CassetteNotWritten(what, where=where, hint="delete it first, or use --live")


def scrubbed(path: Path) -> None:
    """Require that scrubbing again changes nothing. Raises SecretsLeft."""
    from ..secrets import Scrubber

    interactions = files.load(path).interactions
    scrubber = Scrubber()
    if digest(scrubber.cassette({"interactions": interactions})["interactions"]) != digest(interactions):
        raise SecretsLeft(f"the scrubber would still change it: {scrubber.report}", where=os.fspath(path))


def scanned(path: Path) -> None:
    """Require that the scanner finds no secret. Raises SecretsLeft."""
    from ..secrets.scanner import refuse

    loaded = files.load(path)
    refuse({"metadata": loaded.metadata, "interactions": loaded.interactions}, where=os.fspath(path))


def replays(path: Path) -> None:
    """Require that the official SDK can replay every interaction with the network cut. Raises ReplayFailed."""
    from ..recorder.replay import replay

    replay(path)
