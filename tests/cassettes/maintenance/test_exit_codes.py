"""Exit codes that the commands for cassettes of other projects share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cassettes.maintenance.test_maintenance import run

COMMANDS = [
    ("scan",),
    ("scrub",),
    ("check",),
    ("convert", "--to", "har", "--into", "out"),
    ("adopt", "--into", "out"),
    ("drift",),
]


@pytest.mark.thorough(keep=1, per="{command}")
@pytest.mark.parametrize("content", [None, "a: ["], ids=["missing", "not YAML"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_input_that_cannot_be_read_has_one_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], content: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "nope.yaml"
    if content is not None:
        path.write_text(content)
    assert run(*command, path).exit_code == 4
