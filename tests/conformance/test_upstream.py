"""The drafts of bug reports: their parts, the tests in them, and the command that writes them."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from tests.programs import needed
from tests.published import published, shortest
from toolparity.conformance.cli import main
from toolparity.conformance.cli import upstream as upstream_command
from toolparity.conformance.cli.publish import FOLDER, RESULTS
from toolparity.conformance.laws import LAWS
from toolparity.conformance.reproductions import Accusation, confirmation, upstream
from toolparity.conformance.reproductions.documentation import STATEMENTS, statement
from toolparity.conformance.reproductions.javascript_test import javascript_test
from toolparity.conformance.reproductions.python_test import python_test
from toolparity.conformance.reproductions.running import QUIET, available, command
from toolparity.conformance.reproductions.script import LINES
from toolparity.conformance.reproductions.topics import ENTRIES
from toolparity.conformance.reproductions.upstream import draft
from toolparity.conformance.subjects import SUBJECTS
from toolparity.reports.results import Result as CaseResult
from toolparity.reports.results import SubjectReport, Verdict, write

FOUND = shortest()
PYTHON = [one for one in FOUND if not one.script.node and one.verdict.check != "answered"]
NODE = [one for one in FOUND if one.script.node and one.verdict.check != "answered"]
OF_SDKS = [one for one in PYTHON if one.result.subject in SUBJECTS]
CASE = "growing-arguments[openai.chat-stream-all]"


def name_of(accusation: Accusation) -> str:
    return f"{accusation.result.subject}-{accusation.verdict.check}"


def accused(
    scenario: str,
    mode: str,
    law: str = "conservation",
    *,
    subject: str = "openai-sdk",
    surface: str = "openai.chat",
    reason: str = "it broke",
    **members: Any,
) -> Accusation:
    """A failure of a library that it does not have."""
    verdict = Verdict(law, "fail", reason, **members)
    result = CaseResult(subject, scenario, surface, mode, "all", [verdict], [SubjectReport()])
    return Accusation(result, verdict, "1.0")


def accused_of(subject: str, surface: str, mode: str) -> list[Accusation]:
    """Failures of a library about calls, text, stop reason and usage."""
    differ = "streamed and plain differ in calls, stop"
    text = "it returns another text"
    usage = {"reason": "input_tokens is 54", "expected": '{"input_tokens":54}', "got": "{}"}
    of: dict[str, Any] = {"subject": subject, "surface": surface}
    return [
        accused("parallel-three", mode, "arguments", **of),
        accused("parallel-three", mode, "stream-parity", reason=differ, **of),
        accused("text-around-calls", mode, reason=text, **of),
        accused("single-call", mode, "stop", **of),
        accused("single-call", mode, "usage", **usage, **of),
    ]


@pytest.fixture(autouse=True)
def published_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command take the published results from memory. `test_results_of_another_run_can_be_named` reads them."""
    run_of = upstream_command._run
    monkeypatch.setattr(upstream_command, "_run", lambda results: run_of(results) if results else published())


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["report", "upstream", *arguments])


def outcomes(found: Sequence[Accusation], folder: Path) -> dict[str, str]:
    """Run the tests of drafts in a folder without a configuration. Return law -> outcome: PASSED, FAILED or ERROR."""
    for accusation in found:
        (folder / accusation.response.file).write_bytes(accusation.response.data)
        (folder / f"test_{accusation.verdict.check}.py").write_text(python_test(accusation), "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "-rA", "--tb=short"]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return {law: word for word, law in re.findall(r"^(PASSED|FAILED|ERROR) test_([\w-]+)\.py", done.stdout, re.M)}


# Drafts


@pytest.mark.parametrize("accusation", FOUND, ids=name_of)
def test_a_draft_has_all_its_parts(accusation: Accusation) -> None:
    text = draft(accusation)
    assert text.startswith("# ")
    for title in ("## Reproduction", "## Expected", "## Got", "## Consequence"):
        assert f"\n{title}\n" in text
    assert "no provider sent it" in text
    assert ("\n## Test\n" in text) is (accusation.verdict.check != "answered")
    assert accusation.script.install in text
    assert len(accusation.script.text.splitlines()) <= LINES
    assert accusation.script.text in text
    documented = statement(accusation)
    assert f"\n{documented.sentence} ([{documented.title}]({documented.url}))\n" in text
    assert text.count("````") % 2 == 0


def test_a_small_response_is_in_the_draft_and_other_bytes_in_base64(monkeypatch: pytest.MonkeyPatch) -> None:
    (plain,) = [one for one in FOUND if name_of(one) == "openai-sdk-arguments"]
    assert plain.response.data.decode() in draft(plain)
    (other,) = [one for one in FOUND if name_of(one) == "openai-sdk-conservation"]
    assert "in base64 (`base64 -d` decodes it)" in draft(other)
    monkeypatch.setattr(upstream, "_INLINE", 1_000)
    assert "has 2,427 bytes and is attached" in draft(plain)


def test_the_documentation_is_that_of_the_provider() -> None:
    hosts = {
        "openai.chat": "developers.openai.com",
        "openai.responses": "developers.openai.com",
        "anthropic.messages": "platform.claude.com",
        "google.interactions": "ai.google.dev",
        "bedrock.converse": "docs.aws.amazon.com",
        "cohere.chat": "docs.cohere.com",
        "ollama.chat": "docs.ollama.com",
    }
    for accusation in FOUND:
        documented = statement(accusation)
        host = documented.url.split("/")[2]
        of_xai = accusation.response.provider == "xai" and host in ("docs.x.ai", "github.com")
        assert of_xai or host == hosts[accusation.response.surface.wire], name_of(accusation)


def test_every_law_with_a_script_has_a_statement_of_each_provider() -> None:
    assert ENTRIES.keys() <= LAWS.keys()
    topics = {entry.documented for entry in ENTRIES.values()}
    for statements in STATEMENTS.values():
        assert topics <= statements.keys()
        assert all(one.sentence.endswith(".") and one.sentence.count(". ") == 0 for one in statements.values())


# Tests


@pytest.mark.parametrize("accusation", PYTHON, ids=name_of)
def test_a_python_test_can_be_compiled(accusation: Accusation) -> None:
    text = python_test(accusation)
    (function,) = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert function.name.startswith("test_")
    assert "assert" in text or "pytest.raises" in text or accusation.verdict.effect == "refused"


@pytest.mark.parametrize("accusation", NODE, ids=name_of)
def test_a_javascript_test_can_be_parsed(accusation: Accusation, tmp_path: Path) -> None:
    node = needed("node", what="Node.js")
    (tmp_path / "it.mjs").write_text(javascript_test(accusation), "utf-8")
    subprocess.run([node, "--check", "it.mjs"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("subject", sorted({one.result.subject for one in OF_SDKS}))
def test_the_tests_of_an_sdk_fail(subject: str, tmp_path: Path) -> None:
    found = [one for one in OF_SDKS if one.result.subject == subject]
    assert outcomes(found, tmp_path) == {one.verdict.check: "FAILED" for one in found}


def test_the_tests_pass_where_the_library_is_right(tmp_path: Path) -> None:
    found = [
        accused("parallel-three", "plain"),
        accused("parallel-three", "stream", "order"),
        accused("single-call", "plain", "stop"),
        accused("single-call", "plain", "usage", reason="input_tokens is 54", expected="54", got="8"),
    ]
    assert outcomes(found, tmp_path) == {one.verdict.check: "PASSED" for one in found}


def write_tests(found: list[Accusation], folder: Path) -> str:
    """Write the tests and the responses to a folder. Return a program that runs the tests."""
    lines = []
    for number, accusation in enumerate(found):
        (folder / accusation.response.file).write_bytes(accusation.response.data)
        (folder / f"it_{number}.py").write_text(python_test(accusation), "utf-8")
        name = f"test_{accusation.result.scenario.replace('-', '_')}"
        lines.append(f"import it_{number}; it_{number}.{name}()")
    return "\n".join(["import sys; sys.path.insert(0, '.')", *lines, "print('passed')"])


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("mode", ["stream", "plain"])
@pytest.mark.parametrize(
    ("subject", "surface"),
    [
        ("openai-sdk", "openai.responses"),
        ("anthropic-sdk", "anthropic.messages"),
        ("any-llm", "anthropic.messages"),
        ("litellm", "openai.chat"),
        ("langchain", "anthropic.messages"),
    ],
)
def test_the_tests_of_a_library_can_pass(subject: str, surface: str, mode: str, tmp_path: Path) -> None:
    if not available(subject):
        pytest.skip(f"toolparity subjects install {subject}")
    program = write_tests(accused_of(subject, surface, mode), tmp_path)
    environment = os.environ | QUIET
    done = subprocess.run(
        [*command(subject), "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.endswith("passed\n"), done.stderr


def test_the_test_of_a_lost_text_asserts_the_text() -> None:
    lost = accused("text-around-calls", "stream", reason="it returns another text", effect="lost")
    assert f"assert text == {lost.response.expected.text!r}" in python_test(lost)


# The command


def test_the_command_writes_the_draft_and_its_files(tmp_path: Path) -> None:
    path, folder = tmp_path / "draft.md", tmp_path / "files"
    done = run("openai-sdk", CASE, "--law", "arguments", "-o", str(path), "--files", str(folder))
    assert done.exit_code == 0, done.output
    (accusation,) = [one for one in FOUND if name_of(one) == "openai-sdk-arguments"]
    assert path.read_text("utf-8") == draft(accusation)
    assert {file.name for file in folder.iterdir()} == {accusation.script.name, accusation.response.file}
    assert (folder / accusation.response.file).read_bytes() == accusation.response.data
    assert run("openai-sdk", CASE).output == draft(accusation)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("openai-sd", CASE), "unknown subject: 'openai-sd'; did you mean openai-sdk"),
        (("openai-sdk", "growing-argument[openai.chat-stream-all]"), f"did you mean {CASE}"),
        (("openai-sdk", "single-call[openai.chat-plain-all]"), "openai-sdk breaks no law in single-call"),
        (("openai-sdk", CASE, "--law", "stp"), "unknown law: 'stp'; did you mean stop"),
        (("openai-sdk", CASE, "--law", "stop"), "does not break stop in growing-arguments"),
        (("litellm", "odd-index[openai.chat-stream-all]"), "choose one with --law: order, any-cut"),
        (("documented-goclaw", "single-call[openai.chat-plain-first]"), "no script asks documented-goclaw"),
        (("openai-sdk",), "Missing argument 'CASE'"),
    ],
)
def test_a_wrong_name_is_a_usage_error_that_helps(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.output


@pytest.mark.parametrize("installed", ["", "0.1"])
def test_a_failure_that_was_not_confirmed_is_refused(
    installed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confirmation, "installed_version", lambda subject: installed)
    monkeypatch.setattr(confirmation, "_recorded", list)
    path = tmp_path / "draft.md"
    done = run("openai-sdk", CASE, "-o", str(path))
    assert done.exit_code == 1
    assert "its script was not run" in done.output
    assert "run pip install openai==" in done.output
    assert not path.exists()


def test_a_recorded_confirmation_is_enough_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    (accusation,) = [one for one in FOUND if name_of(one) == "openai-sdk-arguments"]
    monkeypatch.setattr(confirmation, "installed_version", lambda subject: "")
    monkeypatch.setattr(confirmation, "_recorded", lambda: [confirmation.entry(accusation)])
    assert run("openai-sdk", CASE).exit_code == 0


def test_a_failure_that_its_script_does_not_show_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirmation, "outcome", lambda accusation: (False, '{"calls": []}'))
    done = run("openai-sdk", CASE)
    assert done.exit_code == 1
    assert "its script does not show it; it printed" in done.output


def test_a_law_without_scripts_is_refused(tmp_path: Path) -> None:
    accusation = accused("single-call", "plain", "any-split", effect="altered")
    (info,) = [one for one in published().subjects if one.name == "openai-sdk"]
    path = tmp_path / "run.json"
    path.write_bytes(write(replace(published(), subjects=[info], results=[accusation.result])))
    done = run("openai-sdk", "single-call[openai.chat-plain-all]", "--results", str(path))
    assert done.exit_code == 1
    assert "no script shows a failure of any-split" in done.output


def test_results_of_another_run_can_be_named(tmp_path: Path) -> None:
    done = run("openai-sdk", CASE, "--results", str(tmp_path / "none.json"))
    assert done.exit_code == 4
    assert "none.json" in done.output
    assert run("openai-sdk", CASE, "--results", str(FOLDER / RESULTS)).exit_code == 0


def test_other_reports_are_rendered_as_before() -> None:
    done = CliRunner().invoke(main, ["report", str(FOLDER / RESULTS), "--badge", "-"])
    assert done.exit_code == 0
    assert done.output.startswith("<svg")
    assert "report upstream SUBJECT CASE" in CliRunner().invoke(main, ["report", "--help"]).output
