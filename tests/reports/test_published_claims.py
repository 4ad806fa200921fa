"""The publication accuses no library of a fault of the suite or of an adapter."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from tests.reports.golden import result, verdict
from tests.support.published import published
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.laws import LAWS
from toolparity.conformance.runner import baseline, status
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.runner.withdrawn import WITHDRAWN
from toolparity.conformance.subjects import environments, subject
from toolparity.conformance.subjects.peers import HERE

ROOT = Path(__file__).parents[2]
FAILED = ("fail", "new", "expected")

#: The scenarios in which a server-side search of xAI appears as a custom call on the wire.
XAI_SEARCHES = "search-as-custom-call declared-custom-beside-search searches-posts searches-posts-and-calls"
#: Accusations that were the adapter's fault or the suite's: subjects, scenarios, mode, laws.
FALSE = [
    ("langchain-core", "choice-not-selected two-choices-interleaved", "*", "conservation arguments stream-parity"),
    ("langchain-core", "legacy-function-call", "plain", "conservation arguments"),
    ("openai-agents", "same-call-two-indexes", "*", "conservation"),
    ("openai-agents openai-sdk litellm", XAI_SEARCHES, "*", "server-side conservation"),
    ("pydantic-ai", "same-call-two-indexes item-id-rotates item-ends-under-another-id", "*", "conservation"),
    ("openai-sdk any-llm litellm", "call-with-its-output", "*", "conservation server-side"),
    ("openai-agents", "cut-only-call cut-call-that-parses cut-in-the-words", "*", "conservation arguments usage"),
    ("openai-agents", "filtered-call limit-cuts-the-words", "*", "conservation arguments usage"),
]
#: The same, as one entry for each subject, scenario, mode and law.
ACCUSATIONS = {
    (name, id, mode, law)
    for names, ids, mode, laws in FALSE
    for name, id, law in product(names.split(), ids.split(), laws.split())
}


#: A test that reads the published results, or the pages that are made of them.
PAGE = pytest.mark.page(
    "reports/published", "conformance/runner/withdrawn.py", "conformance/baselines", "docs/pages/peers.md"
)


@PAGE
def test_an_accusation_that_was_not_the_librarys_fault_is_not_published() -> None:
    accused = {
        (one.subject, one.scenario, mode, found.check)
        for one, found in published().verdicts()
        if found.outcome in FAILED
        for mode in ("*", one.mode)
    }
    assert accused & ACCUSATIONS == set()


def test_an_accusation_that_was_not_the_librarys_fault_is_not_expected() -> None:
    expected = {
        (name, one.scenario, mode, one.check)
        for name in {accused for accused, *_ in ACCUSATIONS}
        for one in baseline.read(baseline.SHIPPED / f"{name}.yaml")
        for mode in ("*", "plain" if one.mode == "*" else one.mode)
    }
    assert expected
    assert expected & ACCUSATIONS == set()


def test_the_suite_judges_the_calls_of_which_the_official_sdk_also_returns_the_output() -> None:
    for mode in ("plain", "stream"):
        found = Judge(subject("openai-sdk")).result(Case("call-with-its-output", "openai.responses", mode, "all"))
        assert {one.outcome for one in found.verdicts} <= {"pass", "unsupported"}, mode


def test_a_call_whose_output_a_library_returns_is_not_one_that_waits(tmp_path: Path) -> None:
    """The programs of the libraries share the rule; a call without its output, and an output without a call, stay."""
    for name in ("program.py", "items.py", "items.json", "scope.py", "stops.py", "stops.json"):
        (tmp_path / name).write_text((HERE / name).read_text("utf-8"))
    items = [
        {"type": "function_call", "call_id": "a", "name": "ran", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"type": "function_call", "call_id": "b", "name": "waits", "arguments": "{}"},
        {"type": "function_call", "name": "unnamed", "arguments": "{}"},
        {"type": "web_search_output"},
    ]
    ask = {"provider": "openai", "tools": []}
    lines = "from program import client_items, item_calls\nimport sys\n"
    lines += f"sys.stderr.write(' '.join(one['name'] for one in item_calls(client_items({items!r}, {ask!r}))))\n"
    (tmp_path / "main.py").write_text(lines)
    done = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == "waits unnamed"


def withdrawals() -> list[tuple[str, baseline.BaselineEntry]]:
    return [(name, entry) for name, entries in WITHDRAWN.items() for entry in entries]


def test_each_withdrawn_accusation_names_a_case_and_a_reason_and_appears_in_the_overview() -> None:
    overview = (ROOT / "docs" / "pages" / "peers.md").read_text("utf-8")
    for name, entry in withdrawals():
        assert entry.check in LAWS
        assert entry.surface in scenarios()[entry.scenario].surfaces
        assert (entry.reason in overview, f"`{entry.scenario}`" in overview) == (True, True), name


@PAGE
def test_the_publication_shows_each_withdrawn_accusation_as_not_judged() -> None:
    installed = {one.name for one in published().subjects}
    for name, entry in withdrawals():
        outcomes = {
            one.outcome
            for case, one in published().verdicts()
            if case.subject == name and entry.matches(case, one) and one.reason == f"not judged: {entry.reason}"
        }
        assert outcomes == {"unsupported"} or name not in installed, (name, entry)


#: Subject -> the runner of the same library, as a subject.
RUNNERS = {"openai-agents": "openai-agents-runner", "pydantic-ai": "pydantic-ai-agent"}


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(RUNNERS))
def test_the_reader_fails_and_its_runner_does_not_run_a_call_twice(name: str) -> None:
    if environments.installed(name) is None:
        pytest.skip(f"toolparity subjects install {name}")
    reader, runner = (Judge(subject(one), twice=False) for one in (name, RUNNERS[name]))
    for entry in WITHDRAWN[name]:
        case = Case(entry.scenario, entry.surface, entry.mode, "all")
        (result,) = status.apply([reader.result(case)], status.known(name, []))
        (found,) = [one for one in result.verdicts if one.check == entry.check]
        assert (found.outcome, found.reason) == ("unsupported", f"not judged: {entry.reason}"), entry
        if "follows the type" in entry.reason:
            continue
        (round,) = runner.result(case).rounds
        refused = round.error is not None and not round.calls
        assert refused if "refuses" in entry.reason else len(round.calls) == 1, entry


def test_only_a_failure_that_an_entry_names_is_withdrawn() -> None:
    (entry,) = (one for one in WITHDRAWN["openai-agents"] if one.scenario == "same-call-two-indexes")
    place = {"scenario": entry.scenario, "surface": entry.surface, "mode": entry.mode}
    for name, check, outcome, now in (
        ("openai-agents", entry.check, "fail", "unsupported"),
        ("openai-agents", entry.check, "pass", "pass"),
        ("openai-agents", "order", "fail", "fail"),
        ("openai-sdk", entry.check, "fail", "fail"),
    ):
        found = status.status(result(subject=name, **place), verdict(outcome, check), status.known(name, []))
        assert found.outcome == now, (name, check)
