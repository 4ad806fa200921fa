"""The check of the extras: which extras a change concerns, what is resolved once, what counts as a failure."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CHECK: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "extras.py"), run_name="extras")
PROJECT = """
[project]
name = "toolparity"
requires-python = ">=3.11"
dependencies = ["click>=8"]
[project.optional-dependencies]
schemas = ["jsonschema>=4"]
turns = ["toolparity[schemas]", "docstring-parser>=0.17"]
log = ["sqlalchemy>=2"]
server = ["toolparity[log, turns]", "starlette>=1"]
tls = ["cryptography>=49"]
"""
BACKTRACKING = """\
Collecting boto3>=1.40 (from toolparity[sdks])
INFO: pip is looking at multiple versions of aiobotocore to determine which version is compatible.
"""
CONFLICT = """\
Collecting a
ERROR: Cannot install toolparity[s3]==0.1.0 because these package versions have conflicting dependencies.

The conflict is caused by:
    aiobotocore 3.0 depends on botocore<1.42
    boto3 1.43 depends on botocore>=1.43

To fix this you could try to:
1. loosen the range of package versions you've specified
"""


def changed(old: str, new: str) -> list[str]:
    before, now = (CHECK["project_of"](PROJECT.replace(old, text)) for text in (old, new))
    found: list[str] = CHECK["changed"](before, now)
    return found


@pytest.mark.parametrize(
    ("old", "new", "extras"),
    [
        ("cryptography>=49", "cryptography>=50", ["tls"]),
        ("jsonschema>=4", "jsonschema>=5", ["schemas", "turns", "server"]),
        ("log, turns", "turns,log", []),
        ("click>=8", "click>=9", ["schemas", "turns", "log", "server", "tls"]),
        (">=3.11", ">=3.12", ["schemas", "turns", "log", "server", "tls"]),
        ('tls = ["cry', 'web = ["toolparity[tls]"]\ntls = ["cry', ["web"]),
        ("[project]", "# a comment\n[project]", []),
    ],
)
def test_a_change_concerns_an_extra_and_those_that_refer_to_it(old: str, new: str, extras: list[str]) -> None:
    assert changed(old, new) == extras


def test_pairs_with_the_same_requirements_are_resolved_once_also_of_extras_that_refer_to_each_other() -> None:
    rows = CHECK["rows_of"](CHECK["project_of"](PROJECT), {"turns", "tls"}, pairs=True)
    same = {"schemas + turns": "turns"}
    labels = ["turns", "tls", "schemas + turns", "schemas + tls", "turns + log", "turns + server", "turns + tls"]
    labels += ["log + tls", "server + tls"]
    assert [(row.label, row.same_as) for row in rows] == [(label, same.get(label)) for label in labels]
    text = PROJECT.replace('schemas = ["', 'schemas = ["toolparity[turns]", "')
    assert CHECK["project_of"](text).extras["schemas"] == {"jsonschema>=4", "docstring-parser>=0.17"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Collecting a\nSuccessfully resolved\n", None),
        (BACKTRACKING, "backtracks at aiobotocore"),
        (BACKTRACKING.replace("is looking", "is still looking"), "backtracks at aiobotocore"),
        ("INFO: This is taking longer than usual. You might need to provide", "backtracks"),
    ],
)
def test_backtracking_is_found_in_the_output_of_pip(text: str, found: str | None) -> None:
    assert CHECK["backtracks"](text) == found


def test_the_reason_of_a_failure_is_without_downloads_and_advice() -> None:
    lines = CHECK["reason_of"](CONFLICT).splitlines()
    assert (lines[0].split()[0], lines[-1].split()[0], len(lines)) == ("ERROR:", "boto3", 5)
    assert CHECK["reason_of"]("Killed\n") == "Killed"
    releases = "".join(f"    boto3 1.{n} depends on botocore>=1.{n}\n" for n in range(50))
    long = CHECK["reason_of"](CONFLICT.replace("    aiobotocore", releases + "    aiobotocore")).splitlines()
    assert (long[0], long[-1]) == (lines[0], lines[-1])
    assert len(long) < 15


def test_the_table_has_seconds_and_results_of_each_tool() -> None:
    row, outcome = CHECK["Row"], CHECK["Outcome"]
    rows = [row("s3", ("s3",), None), row("s3 + tls", ("s3", "tls"), "s3")]
    outcomes = {("s3", "pip 23.2"): outcome("over 120 s", 120.04), ("s3", "uv 0.13"): outcome("ok", 0.91, 19)}
    assert CHECK["table_of"](rows, ["pip 23.2", "uv 0.13"], outcomes) == (
        "| extras | packages | pip 23.2 | uv 0.13 |\n"
        "|---|---|---|---|\n"
        "| s3 | 19 | **over 120 s**, 120.0 s | ok, 0.9 s |\n"
        "| s3 + tls | | as s3 | as s3 |"
    )


def test_an_unknown_extra_is_a_usage_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["extras", "s4"])
    with pytest.raises(SystemExit) as ended:
        CHECK["main"]()
    assert ended.value.code == 2
    assert "pyproject.toml has no extra s4; it has xai, " in capsys.readouterr().err
