"""The cassettes of a project: files of any known format below some paths."""

from __future__ import annotations

import os
from collections.abc import Iterator

from .. import documents, interchange
from ..documents import Document
from ..errors import UnreadableSource
from ..library import safe_yaml
from ..sources.files import opened

_IGNORED = frozenset(("__pycache__", "node_modules"))


def find(paths: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield each file that may be a cassette, and whether it was found in a directory, in a stable order."""
    for path in paths:
        if not os.path.isdir(path):
            yield path, False
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _IGNORED)
            for name in sorted(names):
                if name.lower().endswith(documents.SUFFIXES) and not name.startswith("."):
                    yield os.path.join(folder, name), True


def load(path: str) -> tuple[Document, interchange.Format]:
    """Return a cassette and its format. Raises UnreadableSource if it is unreadable or has no known format."""
    with opened(path) as file:
        if file.compressed:
            raise UnreadableSource("the file is compressed", where=path, hint="unpack it first")
        if (file.size or 0) > safe_yaml.MAX_BYTES:
            raise safe_yaml.too_large(file.size or 0, path)
        data = file.read_all()
    try:
        document = documents.load(data, path)
        return document, interchange.format_of(document.data)
    except UnreadableSource as error:
        error.where = error.where or path
        raise
