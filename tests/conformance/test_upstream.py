"""The drafts of bug reports: their parts, the tests in them, and the command that writes them."""

from __future__ import annotations

import ast
import gzip
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from tests.conformance import test_reproductions as reproductions
from tests.reports import golden
from tests.support.programs import needed
from tests.support.published import shortest
from toolparity.cli import main
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cli import upstream as upstream_command
from toolparity.conformance.laws import LAWS
from toolparity.conformance.reproductions import Accusation, accusations, confirmation, upstream
from toolparity.conformance.reproductions.documentation import STATEMENTS, statement
from toolparity.conformance.reproductions.javascript_test import javascript_test
from toolparity.conformance.reproductions.python_test import python_test
from toolparity.conformance.reproductions.running import QUIET, available, command
from toolparity.conformance.reproductions.script import LINES
from toolparity.conformance.reproductions.topics import ENTRIES
from toolparity.conformance.reproductions.upstream import draft
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import SUBJECTS, role_of
from toolparity.conformance.subjects import subject as sdk
from toolparity.reports.results import Result as CaseResult
from toolparity.reports.results import Run, SubjectInfo, SubjectReport, Verdict, write

#: A test that reads the published results.
PAGE = pytest.mark.page("reports/published", "conformance/reproductions")
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
    **members: Any,
) -> Accusation:
    """A failure that a library does not have."""
    return reproductions.accused(law, place=(subject, scenario, surface, mode), **members)


@pytest.fixture(scope="module")
def judged() -> Run:
    """A run with failures, and a case without one, of OpenAI's SDK as it is installed; and two of others."""
    bench = Judge(sdk("openai-sdk"), twice=False)
    places = [("growing-arguments", "stream"), ("single-call", "plain")]
    results = [bench.result(Case(scenario, "openai.chat", mode, "all")) for scenario, mode in places]
    two = [Verdict(law, "expected", "it broke", effect="altered") for law in ("order", "any-cut")]
    call = CaseResult("litellm", "odd-index", "openai.chat", "stream", "all", two, [SubjectReport()])
    bad = CaseResult("documented-goclaw", "single-call", "openai.chat", "plain", "first", [], [SubjectReport()])
    versions = {"openai-sdk": bench.subject.version, "litellm": "1.0", "documented-goclaw": "1.0"}
    return golden.run(*results, call, bad, subjects=[SubjectInfo(*one) for one in versions.items()])


@pytest.fixture
def grown(judged: Run) -> Accusation:
    """What OpenAI's SDK does with arguments that grow."""
    (found,) = [one for one in accusations(judged) if one.result.case == CASE]
    return found


@pytest.fixture
def run(judged: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs the command; the published results are the run above."""
    file = tmp_path / "published.json"
    file.write_bytes(write(judged))
    monkeypatch.setattr(upstream_command, "PUBLISHED", file)
    return lambda *arguments: CliRunner().invoke(main, ["report", "upstream", *arguments])


def with_tests(node: bool) -> list[Accusation]:
    """The shortest published cases of which a draft has a test, in Python or in JavaScript."""
    return [one for one in shortest() if one.script.node is node and one.verdict.check != "answered"]


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


HOSTS = {
    "openai.chat": "developers.openai.com",
    "openai.responses": "developers.openai.com",
    "anthropic.messages": "platform.claude.com",
    "google.interactions": "ai.google.dev",
    "bedrock.converse": "docs.aws.amazon.com",
    "cohere.chat": "docs.cohere.com",
    "ollama.chat": "docs.ollama.com",
    "google.gemini": "ai.google.dev",
}


@PAGE
def test_the_draft_of_each_published_failure_has_all_its_parts_and_a_test_that_compiles(tmp_path: Path) -> None:
    node = needed("node", what="Node.js")
    for accusation in shortest():
        assert_has_all_parts(accusation)
        host = statement(accusation).url.split("/")[2]
        of_xai = accusation.response.provider == "xai" and host in ("docs.x.ai", "github.com")
        assert of_xai or host == HOSTS[accusation.response.surface.wire], name_of(accusation)
    for accusation in with_tests(node=False):
        text = python_test(accusation)
        (function,) = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        assert function.name.startswith("test_"), name_of(accusation)
        assert "assert" in text or "pytest.raises" in text or accusation.verdict.effect == "refused"
    for number, accusation in enumerate(with_tests(node=True)):
        (tmp_path / f"{number}.mjs").write_text(javascript_test(accusation), "utf-8")
        subprocess.run([node, "--check", f"{number}.mjs"], cwd=tmp_path, check=True)


def test_a_draft_has_all_its_parts(grown: Accusation, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_has_all_parts(grown)
    for mode in ("plain", "stream"):
        assert_has_all_parts(accused("parallel-three", mode, effect="lost"))
        assert_has_all_parts(accused("single-call", mode, "stop", effect="misreported"))
    assert grown.response.data.decode() in draft(grown)
    other = accused("bytes-that-are-no-text", "stream", surface="xai.chat", effect="refused")
    assert "in base64 (`base64 -d` decodes it)" in draft(other)
    lost = accused("text-around-calls", "stream", reason="it returns another text", effect="lost")
    assert f"assert text == {lost.response.expected.text!r}" in python_test(lost)
    monkeypatch.setattr(upstream, "_INLINE", 1_000)
    assert "has 2,427 bytes and is attached" in draft(grown)


def assert_has_all_parts(accusation: Accusation) -> None:
    """Assert that a draft names what a reader needs."""
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


def test_every_law_with_a_script_has_a_statement_of_each_provider() -> None:
    assert ENTRIES.keys() <= LAWS.keys()
    topics = {entry.documented for entry in ENTRIES.values()}
    for statements in STATEMENTS.values():
        assert topics <= statements.keys()
        assert all(one.sentence.endswith(".") and one.sentence.count(". ") == 0 for one in statements.values())


# Tests


@PAGE
@pytest.mark.parametrize("subject", [name for name in SUBJECTS if role_of(name) == "implementation"])
def test_the_tests_of_an_sdk_fail(subject: str, tmp_path: Path) -> None:
    found = [one for one in with_tests(node=False) if one.result.subject == subject]
    assert outcomes(found, tmp_path) == {one.verdict.check: "FAILED" for one in found}


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("mode", ["stream", "plain"])
@pytest.mark.parametrize(
    ("subject", "surface"),
    [
        ("openai-sdk", "openai.responses"),
        ("anthropic-sdk", "anthropic.messages"),
        ("any-llm", "anthropic.messages"),
        ("litellm", "openai.chat"),
        ("langchain-core", "anthropic.messages"),
    ],
)
def test_the_tests_of_a_library_can_pass(subject: str, surface: str, mode: str, tmp_path: Path) -> None:
    if not available(subject):
        pytest.skip(f"toolparity subjects install {subject}")
    of: dict[str, Any] = {"subject": subject, "surface": surface}
    usage = {"reason": "input_tokens is 54", "expected": '{"input_tokens":54}', "got": "{}"}
    lines = ["import sys; sys.path.insert(0, '.')"]
    for number, accusation in enumerate(
        [
            accused("parallel-three", mode, "arguments", **of),
            accused("parallel-three", mode, "stream-parity", reason="streamed and plain differ in calls, stop", **of),
            accused("text-around-calls", mode, reason="it returns another text", **of),
            accused("single-call", mode, "stop", **of),
            accused("single-call", mode, "usage", **usage, **of),
        ]
    ):
        (tmp_path / accusation.response.file).write_bytes(accusation.response.data)
        (tmp_path / f"it_{number}.py").write_text(python_test(accusation), "utf-8")
        lines.append(f"import it_{number}; it_{number}.test_{accusation.result.scenario.replace('-', '_')}()")
    program, environment = "\n".join([*lines, "print('passed')"]), os.environ | QUIET
    done = subprocess.run(
        [*command(subject), "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.endswith("passed\n"), done.stderr


# The command


@pytest.mark.service("conformance/reproductions")
def test_the_command_writes_the_draft_and_its_files(
    run: Callable[..., Result], grown: Accusation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = tmp_path / "draft.md", tmp_path / "files"
    done = run("openai-sdk", CASE, "--law", "arguments", "-o", str(path), "--files", str(folder))
    assert done.exit_code == 0, done.output
    assert path.read_text("utf-8") == draft(grown)
    assert {file.name for file in folder.iterdir()} == {grown.script.name, grown.response.file}
    assert (folder / grown.response.file).read_bytes() == grown.response.data
    monkeypatch.setattr(confirmation, "outcome", lambda accusation: (True, ""))  # its script ran above
    assert run("openai-sdk", CASE).output == draft(grown)


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
def test_a_wrong_name_is_a_usage_error_that_helps(
    run: Callable[..., Result], arguments: tuple[str, ...], message: str
) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.output


def test_a_failure_that_no_script_shows_is_refused(
    run: Callable[..., Result], judged: Run, grown: Accusation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, of_law = tmp_path / "draft.md", accused("single-call", "plain", "any-split", effect="altered")
    other = tmp_path / "run.json"
    other.write_bytes(write(replace(judged, results=[of_law.result])))
    done = run("openai-sdk", "single-call[openai.chat-plain-all]", "--results", str(other))
    assert (done.exit_code, "no script shows a failure of any-split" in done.output) == (1, True)
    with monkeypatch.context() as patch:
        patch.setattr(confirmation, "outcome", lambda accusation: (False, '{"calls": []}'))
        done = run("openai-sdk", CASE, "-o", str(path))
    assert (done.exit_code, "its script does not show it; it printed" in done.output) == (1, True)
    monkeypatch.setattr(confirmation, "_recorded", list)
    for installed in ("", "0.1"):
        monkeypatch.setattr(confirmation, "installed_version", lambda subject, installed=installed: installed)
        done = run("openai-sdk", CASE, "-o", str(path))
        assert done.exit_code == 1
        assert "its script was not run" in done.output
        assert "run pip install openai==" in done.output
    assert not path.exists()
    monkeypatch.setattr(confirmation, "_recorded", lambda: [confirmation.entry(grown)])
    monkeypatch.setattr(confirmation, "installed_version", lambda subject: "")
    assert run("openai-sdk", CASE).exit_code == 0, "a recorded confirmation is enough without the library"


def test_results_of_another_run_can_be_named(
    run: Callable[..., Result], judged: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confirmation, "outcome", lambda accusation: (True, ""))
    done = run("openai-sdk", CASE, "--results", str(tmp_path / "none.json"))
    assert (done.exit_code, "none.json" in done.output) == (4, True)
    path = tmp_path / "other.json.gz"
    path.write_bytes(gzip.compress(write(judged)))
    upstream_command.PUBLISHED.unlink()
    assert run("openai-sdk", CASE).exit_code == 2
    assert run("openai-sdk", CASE, "--results", str(path)).exit_code == 0
    rendered = CliRunner().invoke(main, ["report", str(path), "--badge", "-"])
    assert (rendered.exit_code, rendered.output.startswith("<svg")) == (0, True)
