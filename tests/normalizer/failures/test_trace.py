"""The reasons in not_applicable.toml: no test meets such a failure, and every failure is a known one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.support.proofs import failures_in
from toolparity.conformance.cases import coverage

HERE = Path(__file__).parent


def reasons() -> dict[str, str]:
    """Return the reason why no test here meets a failure, by its id."""
    table: dict[str, str] = tomllib.loads((HERE / "not_applicable.toml").read_text(encoding="utf-8"))["reasons"]
    return table


def failures_with_tests() -> set[str]:
    """Return the failures that scenarios guard against, or after which a test function of any folder is named."""
    texts = [path.read_text(encoding="utf-8") for path in HERE.parents[1].rglob("test_*.py")]
    names = re.findall(r"^ *(?:async )?def (test_[A-Z]\w*)", "\n".join(texts), re.MULTILINE)
    return {id for name in names for id in failures_in(name)} | coverage.trace().guards.keys()


def test_tests_and_reasons_name_known_failures_and_never_both_the_same() -> None:
    given = reasons()
    assert list(given) == sorted(given)
    assert sorted(failures_with_tests() & set(given)) == []
    assert sorted((failures_with_tests() | set(given)) - set(coverage.failures())) == []
