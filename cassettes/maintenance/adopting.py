"""Adoption of cassettes by a library: see `library.importer.import_files` and its ``whole``."""

from __future__ import annotations

from typing import Any

from ..interchange.vcrpy import write_item
from . import files


def interactions_of(path: str) -> list[dict[str, Any]]:
    """Return the interactions of a cassette of any format in vcrpy's form. Raises UnreadableSource."""
    document, known = files.load(path)
    return [write_item(item) for item in known.read(document.data).interactions]
