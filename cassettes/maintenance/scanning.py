"""Search for secrets in the cassettes of any project. The result has kinds and places, never a secret.

for scanned in map(scan_file, paths): scanned.found     # SecretLeak: kind, interaction, part, path, excerpt
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from toolparity.normalizer.errors import ToolparityError

from .. import interchange
from ..documents import Document
from ..errors import UnreadableSource
from ..interchange import vcrpy
from ..secrets import SecretLeak, scan
from ..secrets.allowed import of_project
from ..secrets.headers import TRACES
from . import files

#: Kinds that identify an account, a person or a request, but give no access.
_IDENTIFIERS = frozenset({"account or request id", "e-mail address", "masked key"})
_COMMENTS = "comments of the file"
_ACCOUNT_HEADERS = ("organization", "project", "workspace")


class ScannedFile(Struct):
    """The result for one file. ``error``: why it could not be scanned. ``skipped``: it is not a cassette."""

    path: str
    format: str | None = None
    interactions: int = 0
    found: list[SecretLeak] = field(default_factory=list)
    error: str | None = None
    skipped: bool = False

    @property
    def credentials(self) -> list[SecretLeak]:
        """What gives access, and bodies that cannot be read, which may hold anything."""
        return [leak for leak in self.found if level_of(leak) == "credential"]


def level_of(leak: SecretLeak) -> str:
    """Return "credential" or "identifier"."""
    if leak.kind in _IDENTIFIERS:
        return "identifier"
    identifies = any(part in leak.path for part in _ACCOUNT_HEADERS) or TRACES.search(leak.path) is not None
    return "identifier" if leak.kind == "header" and identifies else "credential"


def scan_file(file: tuple[str, bool]) -> ScannedFile:
    """Scan a file. One that was found in a directory and is not a cassette is skipped. Its content never raises."""
    path, found = file
    try:
        document, known = files.load(path)
    except ToolparityError as error:
        return ScannedFile(path, error=str(error), skipped=found and error.what == "not a cassette")
    try:
        leaks = scan(scannable(document, known), allow=of_project().with_marks(document.comments))
    except ToolparityError as error:
        return ScannedFile(path, known.name, error=str(error))
    return ScannedFile(path, known.name, len(known.items(document.data)), leaks)


def scannable(document: Document, known: interchange.Format) -> dict[str, Any]:
    """Return a file in the form that the scanner reads.

    Interactions that the format's reader refuses, such as gRPC calls in other notations, are scanned as plain data.
    """
    data = document.data
    comments = {_COMMENTS: document.comments} if document.comments else {}
    if known.name == vcrpy.NAME:
        items = [item if _has_halves(item) else {"interaction": item} for item in known.items(data)]
        return {**data, "interactions": items, **comments}
    try:
        content = known.read(data)
    except UnreadableSource:
        return {"file": data, "interactions": [], **comments}
    return {
        "interactions": [vcrpy.write_item(item) for item in content.interactions],
        "file": content.rest,
        **comments,
    }


def _has_halves(item: Any) -> bool:
    return isinstance(item, dict) and all(isinstance(item.get(half), dict) for half in ("request", "response"))
