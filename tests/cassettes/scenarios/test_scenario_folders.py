"""The user's own scenarios: recorded, checked by the laws, verified, and errors that name file and line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support import nested_pytest
from toolparity.cassettes import scripts
from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.library import files
from toolparity.cassettes.scenario_folder import VARIABLE
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main

pytestmark = pytest.mark.service("conformance/cases", "cassettes/scripts.py")

_PAGE = (Path(__file__).parents[3] / "docs" / "pages" / "scenarios.md").read_text("utf-8")
#: The example of the page.
EXAMPLE = re.findall(r"```toml\n(.*?)```", _PAGE, re.DOTALL)[0]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "scenarios"
    own.mkdir()
    (own / "refund.toml").write_text(EXAMPLE, "utf-8")
    yield own
    assert VARIABLE not in os.environ
    assert "parallel-three" in scripts.scripts()  # the shipped ones again


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_the_emulated_providers_play_a_scenario_that_is_not_recorded(folder: Path) -> None:
    result = _run("check", "--scenarios", "scenarios", "--surface", "openai.chat", "--surface", "xai.grpc", "--once")
    assert result.exit_code == 0, result.output
    assert "12 cases" in result.output


def test_a_recorded_scenario_is_checked_with_its_cassette(folder: Path) -> None:
    chosen = ("--wire", "openai.chat", "--provider", "openai")
    result = _run("record", "--scenarios", "scenarios", *chosen, "--into", "cassettes")
    assert result.exit_code == 0, result.output
    assert [place.name for place in files.find("cassettes")] == ["refund", "refund"]
    check = ("check", "--scenarios", "scenarios", "--surface", "openai.chat", "--mode", "plain", "--once")
    checked = _run(*check)
    assert checked.exit_code == 0, checked.output
    (plain,) = (place.path for place in files.find("cassettes") if not place.path.name.endswith(".stream.yaml"))
    plain.write_text(plain.read_text("utf-8").replace("get_order", "get_other"), "utf-8")
    files.forget()
    broken = _run(*check)
    assert broken.exit_code == 1, broken.output  # and not "new", which would not fail


def test_an_endpoint_is_verified_with_the_users_tools(folder: Path) -> None:
    script = scripts.read(folder / "refund.toml").script("refund")
    assert script is not None
    at = SURFACES["openai.chat"]
    with running({"refund": script}) as servers:
        options = ["--wire", at.wire, "--model", at.model, "--header", "Authorization: Bearer k", "--repetitions", "1"]
        result = _run("verify-endpoint", servers.base(at), *options, "--scenarios", "scenarios")
    assert result.exit_code == 0, result.output
    assert re.search(r"values +1/1 +1/1", result.output)


def test_a_project_names_its_folder_in_pyproject_for_commands_and_the_pytest_plug_in(folder: Path) -> None:
    Path("pyproject.toml").write_text(
        '[tool.toolparity]\nsubject = "normalizer"\nscenarios = "scenarios"\nsurfaces = ["openai.chat"]\n'
    )
    chosen = ("record", "--wire", "openai.chat", "--provider", "openai", "--plain", "--dry-run")
    assert "refund on openai.chat" in _run(*chosen).output
    shipped = _run(*chosen, "--scenarios", "shipped").output
    assert "refund on openai.chat" not in shipped
    assert "parallel-three on openai.chat" in shipped
    done = nested_pytest.run(Path.cwd(), "-q", "--co")
    assert "refund[openai.chat-plain-first]" in done.stdout, done.stdout + done.stderr
    assert "parallel-three" not in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "line_with", "problem"),
    [
        ('tool = "refund"\n', 'tol = "refund"\n', "tol = ", "unknown field `tol`"),
        ('description = "Refunds an order."', "description = 1", "description = 1", "Expected `str`, got `int`"),
        ("title =", "titel =", "titel", "unknown field `titel`"),
        ('result = "refunded"', "result = refunded", "result = refunded", "invalid TOML"),
        ("arguments = { number = 12 }\n", "", "[[rounds]]\nask", "needs either arguments or arguments_text"),
    ],
)
def test_a_mistake_is_reported_with_file_and_line(
    folder: Path, old: str, new: str, line_with: str, problem: str
) -> None:
    text = EXAMPLE.replace(old, new)
    assert text != EXAMPLE
    (folder / "refund.toml").write_text(text, "utf-8")
    line = text[: text.index(line_with)].count("\n") + 1
    result = _run("check", "--scenarios", "scenarios")
    assert result.exit_code == 4, result.output
    assert problem in result.output
    shown = re.search(r"refund\.toml:(\d+):", result.output)
    assert shown is not None, result.output
    assert int(shown[1]) == line, result.output
    assert "the documentation of scenarios" in result.output


def test_a_folder_without_scenarios_with_equal_asks_or_another_encoding_is_an_error(folder: Path) -> None:
    Path("empty").mkdir()
    for name, problem in (("none", "does not exist"), ("empty", "has no scenario")):
        result = _run("check", "--scenarios", name)
        assert (result.exit_code, problem in result.output) == (2, True), result.output
    (folder / "other.toml").write_text(EXAMPLE, "utf-8")
    assert "the first ask is that of other" in _run("record", "--scenarios", "scenarios", "--dry-run").output
    (folder / "other.toml").write_bytes(b"title = '\xff'")
    assert "the file is not UTF-8" in _run("record", "--scenarios", "scenarios", "--dry-run").output
