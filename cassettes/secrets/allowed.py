"""The allow-list: values that only look like secrets. The scrubber leaves them and the scanner does not refuse them.

    [tool.toolparity.allow-secrets]            # in pyproject.toml, or in a file: allow-secrets = "allowed.toml",
                                               # with this table, or with the entries alone
    "value:k3fq:38" = "a branch of the data set"   # one value, as the refusal prints it
    "hf_dataset_*" = "branches of the data set"    # a pattern of whole values

A comment of a cassette can hold an entry for this file: ``# toolparity: allow-secret value:k3fq:38 a branch``.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from toolparity.turns.secrets.placeholder import placeholder

from ..errors import InvalidAllowList

_MARK = re.compile(r"toolparity: allow-secret[ \t]+(\S+)[ \t]+(\S[^\r\n]*)")
#: The literal characters that a pattern needs: fewer match secrets by chance.
_LEAST = 3


def entry_of(value: str) -> str:
    """Return the entry that allows one value. It reveals as much of the value as its placeholder does."""
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return f"value:{placeholder(digest)[-4:]}:{len(value)}"


class AllowList:
    """Entries and their reasons. Raises InvalidAllowList for an entry without a reason, or that allows almost all."""

    def __init__(self, entries: Mapping[str, Any], where: str = "") -> None:
        for entry, reason in entries.items():
            if not isinstance(reason, str) or not reason.strip():
                raise InvalidAllowList(f'"{entry}" has no reason', where=where, hint='write "ENTRY" = "reason"')
            if len(re.sub(r"[*?\[\]]", "", entry)) < _LEAST:
                raise InvalidAllowList(f'"{entry}" allows almost any value', where=where)
        self._entries = frozenset(entries)
        self._patterns = [entry for entry in entries if not entry.startswith("value:")]

    def allows(self, value: str, *, by_pattern: bool = True) -> bool:
        """Return whether a value is allowed. ``by_pattern``: not only as this one value."""
        if not self._entries:
            return False
        return entry_of(value) in self._entries or (
            by_pattern and any(fnmatchcase(value, pattern) for pattern in self._patterns)
        )

    def with_marks(self, comments: str) -> AllowList:
        """Return the list with the entries in the comments of a file."""
        marks = dict(_MARK.findall(comments))
        return AllowList({**dict.fromkeys(self._entries, "as before"), **marks}) if marks else self


def of_project() -> AllowList:
    """Return the list of the nearest pyproject.toml, above the working directory. Raises InvalidAllowList."""
    folder = Path.cwd()
    for parent in (folder, *folder.parents):
        path = parent / "pyproject.toml"
        if path.is_file():
            return _read(path, path.stat().st_mtime_ns)
    return AllowList({})


@lru_cache(maxsize=8)
def _read(path: Path, changed: int) -> AllowList:
    table = _table(_toml(path))
    if isinstance(table, str):
        path = path.parent / table
        document = _toml(path)
        table = _table(document) if isinstance(document.get("tool"), dict) else document
    if not isinstance(table, dict):
        what = "allow-secrets must be a table of entries and reasons, or the name of a file with one"
        raise InvalidAllowList(what, where=str(path))
    return AllowList(table, str(path))


def _table(document: dict[str, Any]) -> Any:
    return document.get("tool", {}).get("toolparity", {}).get("allow-secrets", {})


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidAllowList(f"the file cannot be read: {error}", where=str(path)) from None
