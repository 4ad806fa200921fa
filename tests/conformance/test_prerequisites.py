"""What the suite needs and does not have is a fault of the suite, and never a pass."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolparity.cli import main
from toolparity.conformance.cases import traffic
from toolparity.conformance.cases.case import Case
from toolparity.conformance.errors import UnknownSubject
from toolparity.conformance.runner import baseline, judge
from toolparity.conformance.subjects import SUBJECTS, subject
from toolparity.conformance.subjects.reference import Reference
from toolparity.normalizer.errors import MissingExtra


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture
def without_cassettes(tmp_path: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traffic, "path_for", lambda surface, scenario, *, stream: tmp_path / f"{scenario}.yaml")
        patch.setattr(traffic, "RECORDED", tmp_path)
        traffic.responses.cache_clear()
        yield
    traffic.responses.cache_clear()


@pytest.mark.usefixtures("without_cassettes")
def test_a_cassette_that_is_missing_is_an_error_of_each_case() -> None:
    (verdict,) = judge.Judge(Reference()).result(Case("single-call", "openai.chat", "plain", "all")).verdicts
    assert (verdict.outcome, verdict.check) == ("error", "conservation")
    assert "toolparity record single-call --provider openai --wire openai.chat" in verdict.reason


@pytest.mark.usefixtures("without_cassettes")
@pytest.mark.parametrize("command", [("check", "normalizer", "--scenario", "single-call"), ("smoke", "normalizer")])
def test_a_cassette_that_is_missing_ends_a_run_with_4(command: tuple[str, ...]) -> None:
    result = run(*command)
    assert result.exit_code == 4
    assert "no cassette of this scenario" in result.output


@pytest.mark.usefixtures("without_cassettes")
def test_a_baseline_excuses_no_fault(tmp_path: Path) -> None:
    (tmp_path / "known.yaml").write_text("- {check: '*'}\n")
    result = run("check", "normalizer", "--scenario", "single-call", "--baseline", str(tmp_path / "known.yaml"))
    assert result.exit_code == 4


@pytest.mark.parametrize("name", ["openai-sdk", "anthropic-sdk", "xai-sdk", "cohere-sdk", "ollama-sdk", "boto3"])
def test_an_sdk_that_is_not_installed_is_told_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = SUBJECTS[name].partition(":")[0]
    sdk = name.replace("-sdk", "") if name != "xai-sdk" else "xai_sdk"
    monkeypatch.delitem(sys.modules, f"toolparity.conformance.subjects.{module}", raising=False)
    for loaded in [one for one in sys.modules if one.partition(".")[0] == sdk]:
        monkeypatch.setitem(sys.modules, loaded, None)
    monkeypatch.setitem(sys.modules, sdk, None)
    with pytest.raises(MissingExtra, match=f"{name} needs a package that is not installed"):
        subject(name)
    assert run("check", name).exit_code == 4


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import nothing_of_the_kind", "ModuleNotFoundError"),
        ("def f(:", "SyntaxError"),
        ("raise RuntimeError('no key')", "RuntimeError: no key"),
        ("", "has no attribute 'Subject'"),
        ("class Subject:\n    def __init__(self): raise KeyError('token')", "cannot be instantiated: KeyError"),
        ("class Subject: ...", "has no method read"),
        ("class Subject:\n    claims = ['answers']\n    def read(self, ask): ...", "has no method next_request"),
        ("class Subject:\n    claims = ['magic']\n    def read(self, ask): ...", "has unknown claims: magic"),
        ("class Subject:\n    providers = 'openai'\n    def read(self, ask): ...", "a list of names"),
        ("class Subject:\n    input = 'ether'\n    def read(self, ask): ...", "has an unknown input: 'ether'"),
        ("Subject = 5", "cannot be instantiated"),
    ],
)
def test_a_subject_that_cannot_be_had_ends_every_command_with_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    name = f"odd_{told.encode().hex()}"
    (tmp_path / f"{name}.py").write_text(text)
    with pytest.raises(UnknownSubject):
        subject(f"{name}:Subject")
    result = run("check", f"{name}:Subject", "--scenario", "single-call")
    assert result.exit_code == 4
    assert told in result.output
    assert run("smoke", f"{name}:Subject").exit_code == 4


def test_a_subject_is_found_where_the_command_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "standing_here.py").write_text("class Subject:\n    wires = []\n    def read(self, ask): ...\n")
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    assert subject("standing_here:Subject").name == "standing_here:Subject"


def test_nothing_that_ran_is_no_pass() -> None:
    assert run("check", "normalizer", "--scenario", "no-such-scenario").exit_code == 2
    assert run("check", "xai-sdk", "--scenario", "single-call", "--wire", "openai.chat").exit_code == 5


def test_the_known_failures_of_somebodys_own_subject_are_written_where_he_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "one_of_ours.py").write_text(
        "class Subject:\n    wires = ['openai.chat']\n    def read(self, ask): return {'calls': []}\n"
    )
    chosen = ("one_of_ours:Subject", "--scenario", "single-call", "--update-baseline")
    nowhere = run("check", *chosen)
    assert nowhere.exit_code == 2
    assert "--update-baseline needs --baseline FILE for one_of_ours:Subject" in nowhere.output
    file = tmp_path / "known.yaml"
    assert run("check", *chosen, "--baseline", str(file)).exit_code == 0
    assert "check: conservation" in file.read_text()
    assert run("check", "normalizer", *chosen, "--baseline", str(file)).exit_code == 2
    assert "check: conservation" in file.read_text()


def test_a_name_that_is_borrowed_brings_no_excuses_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    known = baseline.read(baseline.SHIPPED / "openai-sdk.yaml")
    scenario = next(one.scenario for one in known if one.check == "conservation")
    (tmp_path / "borrower.py").write_text(f"class Subject:\n    name = 'openai-sdk'\n    claims = ['stream']\n{READ}")
    result = run("check", "borrower:Subject", "--scenario", scenario)
    assert result.exit_code == 1
    assert "expected" not in result.output.rpartition("verdicts in")[2]


READ = "    def read(self, ask): return {'calls': []}\n"
