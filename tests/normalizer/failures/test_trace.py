"""Every known failure of the classes below has a test named after it or a reason in not_applicable.toml; never both."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.support.proofs import failures_in

HERE = Path(__file__).parent
CATALOGUES = [HERE.parents[2] / "shared" / name for name in ("failures.md", "failures3.md")]
pytestmark = pytest.mark.recorded
#: The classes of the catalogue: what decoding, the writing of requests and acting on the calls answer for.
CLASSES = frozenset(
    """
    index id name whole-in-one parse args sse stream terminal finish server-tools responses custom-tools legacy
    truncation early-finish numbers unicode usage refusal robustness errors repair history results thinking
    translate tool-choice policy text-mode server-parse execution cancel peer-pinned
    identity incomplete server form schema params textmode
    """.split()  # noqa: SIM905 - a list of words reads better so
)
_ID = re.compile(r"[A-Z][A-Z0-9]*-[0-9]+")


def catalogue() -> dict[str, str]:
    """Class by id, of every row."""
    if not all(path.is_file() for path in CATALOGUES):
        pytest.skip("the catalogue of failures is not part of this repository")
    lines = (line for path in CATALOGUES for line in path.read_text(encoding="utf-8").splitlines())
    rows = [line.split("|") for line in lines if line.startswith("|")]
    return {row[1].strip(): row[2].strip() for row in rows if len(row) > 3 and _ID.fullmatch(row[1].strip())}


def covered() -> set[str]:
    """The ids that test functions of any folder are named after."""
    found = set()
    for path in HERE.parent.rglob("test_*.py"):
        for name in re.findall(r"^ *(?:async )?def (test_[A-Z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found |= failures_in(name)
    return found


def reasons() -> dict[str, str]:
    """Why nothing here meets a failure, by id."""
    table: dict[str, dict[str, str]] = tomllib.loads((HERE / "not_applicable.toml").read_text(encoding="utf-8"))
    assert list(table) == ["reasons"]
    return table["reasons"]


def test_the_catalogue_is_read_completely() -> None:
    known = catalogue()
    assert len(known) > 150
    assert {"IDX-01", "SSE-01", "TERM-01", "REP-03"} <= set(known)


def test_every_failure_of_these_classes_has_a_test_or_a_reason() -> None:
    concerned = {id for id, kind in catalogue().items() if kind in CLASSES}
    missing = sorted(concerned - covered() - set(reasons()))
    assert missing == []


def test_no_failure_has_both_a_test_and_a_reason() -> None:
    assert sorted(covered() & set(reasons())) == []


def test_every_reason_and_every_test_names_a_failure_that_is_known() -> None:
    known = set(catalogue())
    assert sorted(set(reasons()) - known) == []
    assert sorted(covered() - known) == []


def test_reasons_are_sorted_and_say_something() -> None:
    given = reasons()
    assert list(given) == sorted(given)
    assert all(len(reason.split()) >= 5 for reason in given.values())
