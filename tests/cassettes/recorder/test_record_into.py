"""A recording goes into a folder of the user, whose path is shown; an identical one does not change the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolparity.cassettes.library import RECORDED, files
from toolparity.cli import main

ONE = ("text-only", "--provider", "xai", "--wire", "openai.chat", "--plain")


def record(*arguments: str, env: dict[str, str | None] | None = None) -> Result:
    environment = {"TOOLPARITY_RAN_BY": "Tests", "TOOLPARITY_CASSETTES": None, **(env or {})}
    return CliRunner().invoke(main, ["record", *ONE, *arguments], env=environment)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shipped() -> dict[Path, int]:
    return {place.path: place.path.stat().st_mtime_ns for place in files.find()}


def test_without_into_cassettes_go_to_a_local_folder_whose_path_is_shown(here: Path) -> None:
    before = shipped()
    result = record("--rerecord")
    assert result.exit_code == 0, result.output
    assert [place.shown for place in files.find(here / "cassettes")] == ["xai/openai.chat/text-only.yaml"]
    assert shipped() == before
    assert f"recording into {here / 'cassettes'}" in result.stderr
    assert "cassettes/xai/openai.chat/text-only.yaml" in result.stderr
    assert str(here / "cassettes") in result.stdout


def test_the_environment_variable_selects_the_library(here: Path) -> None:
    result = record(env={"TOOLPARITY_CASSETTES": str(here / "mine")})
    assert result.exit_code == 0, result.output
    assert len(files.find(here / "mine")) == 1
    assert not (here / "cassettes").exists()


def test_recording_into_the_package_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(RECORDED.parents[1])
    result = record()
    assert result.exit_code == 2
    assert "its library is --into cassettes/recorded" in result.stderr


def test_a_library_that_cannot_be_created_is_an_error_before_any_request(here: Path) -> None:
    (here / "file").write_text("")
    result = record("--into", str(here / "file" / "below"))
    assert result.exit_code == 2
    assert "below' cannot be written: " in result.stderr
    assert "recording into" not in result.stderr


def test_an_identical_recording_does_not_change_the_file_and_shows_the_path(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record()
    (place,) = files.find(here / "cassettes")
    before = place.path.read_bytes()
    monkeypatch.setattr("toolparity.cassettes.recorder.record.now", lambda: "2031-01-02T03:04:05Z")
    for arguments, status in (((), "kept"), (("--rerecord",), "same")):
        result = record(*arguments)
        assert f"plain: {status}" in result.stderr
        assert all(str(here / "cassettes") in text for text in (result.stdout, result.stderr))
    assert place.path.read_bytes() == before
