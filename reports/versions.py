"""The history of a library: the outcome of each law on its released versions, and the releases that changed one.

`toolparity history NAME --json FILE` writes it: counts and case ids, without traffic.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from toolparity.normalizer import json_codec

FORMAT = "toolparity-history/1"

#: Passed and applicable cases.
Ratio = tuple[int, int]


class Version(Struct, frozen=True, omit_defaults=True):
    """A released version. ``not_tested``: the reason if it could not be tested; then it has no figures.

    ``cases``: the cases that pass under every law. ``laws``: law -> cases, of the laws with an applicable case.
    ``found``: the version was not selected, but the search for a change ran it, with the scenarios that differ only;
    then it has no figures either.
    """

    version: str
    not_tested: str = ""
    cases: Ratio = (0, 0)
    laws: dict[str, Ratio] = {}
    found: bool = False


class LawChange(Struct, frozen=True, omit_defaults=True):
    """A change of the cases that fail a law, between two tested versions, the second of which made it.

    ``broken``: cases that passed before and fail now. ``fixed``: cases that failed before and pass now. ``judged``:
    cases that fail now and were not judged before; ``unjudged``: cases that failed before and are not judged now.
    ``seen``: the selected version that shows the change. ``between``: how many releases between the two were not
    tested; 0: the two are neighbours. ``packages``: other packages with different versions in the two environments,
    name -> [before, after]; "" if absent.
    """

    law: str
    before: str
    after: str
    seen: str
    broken: list[str] = []
    fixed: list[str] = []
    judged: list[str] = []
    unjudged: list[str] = []
    between: int = 0
    packages: dict[str, tuple[str, str]] = {}


class LibraryHistory(Struct, frozen=True, omit_defaults=True, tag_field="format", tag=FORMAT):
    """The history of one library. ``versions`` and ``changes``: oldest first. ``date``: that of the run, in ISO 8601.

    ``rule``: which releases were selected, in words. ``releases``: how many there are in the range.
    ``notes``: release -> why it changed laws, if a person found out. ``newest``: the newest release on that date.
    """

    subject: str
    distribution: str
    toolparity: str
    date: str
    rule: str
    releases: int
    versions: list[Version]
    changes: list[LawChange]
    notes: dict[str, str] = {}
    newest: str = ""

    @property
    def tested(self) -> list[Version]:
        """The versions that were tested with all cases, oldest first."""
        return [version for version in self.versions if not version.not_tested and not version.found]

    @property
    def searched(self) -> list[Version]:
        """The versions that only the search for a change ran, oldest first."""
        return [version for version in self.versions if not version.not_tested and version.found]

    @property
    def laws(self) -> list[str]:
        """The laws with applicable cases in any version, in the order of their first occurrence."""
        return list(dict.fromkeys(law for version in self.tested for law in version.laws))


def write(history: LibraryHistory) -> bytes:
    """Encode a history as JSON. The same history gives the same bytes."""
    return json_codec.encode(history) + b"\n"


def read(data: bytes) -> LibraryHistory:
    """Decode a history from JSON. Raises msgspec.DecodeError for other data."""
    return msgspec.json.decode(data, type=LibraryHistory)
