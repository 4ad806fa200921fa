"""What other implementations fail: listed with a reason each, and what their programs leave out of judgment."""

from __future__ import annotations

import base64
import json
import re
import runpy
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from docs.generate import peers
from tests.support.published import failures, published
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.cases.traffic import responses
from toolparity.conformance.cli import publish
from toolparity.conformance.laws import LAWS
from toolparity.conformance.reproductions import Accusation
from toolparity.conformance.reproductions.failure import Failure
from toolparity.conformance.reproductions.reasons import reasons as predicates
from toolparity.conformance.reproductions.reasons import untrue
from toolparity.conformance.reproductions.topics import ENTRIES
from toolparity.conformance.runner import baseline
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import SUBJECTS, environments, subject
from toolparity.conformance.subjects.peers import HERE, PEERS
from toolparity.conformance.subjects.peers.scope import custom_tools, invalid_arguments
from toolparity.conformance.subjects.peers.stops import stop_of
from toolparity.normalizer.policies import POLICIES
from toolparity.reports.results import KNOWN, Result, Run, SubjectReport, Verdict

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in baseline.SHIPPED.glob("*.yaml"))

#: A test that reads the published results, or the page that is made of them.
PAGE = pytest.mark.page(
    "reports/published",
    "conformance/baselines",
    "conformance/reproductions",
    "docs/pages/peers.md",
    "docs/generate/peers.py",
)


@cache
def baselines() -> dict[str, list[baseline.BaselineEntry]]:
    """Subject -> its expected failures."""
    return {name: list(baseline.read(baseline.SHIPPED / f"{name}.yaml")) for name in NAMES}


@pytest.fixture(scope="module")
def reasons() -> list[peers.Reason]:
    """The reasons of the failures in the published results that a script can show."""
    return peers.by_reason(failures())


@pytest.fixture(scope="session")
def versions() -> dict[str, str]:
    """Subject with a baseline -> its published version."""
    return {one.name: one.version for one in publish.summary().subjects if one.name in NAMES}


@pytest.fixture(scope="session")
def confirmed() -> Any:
    """The accusations that scripts confirmed."""
    return json.loads((ROOT / "docs" / "data" / "confirmed.json").read_bytes())


def entries() -> Iterator[tuple[str, baseline.BaselineEntry]]:
    return ((name, entry) for name, known in baselines().items() for entry in known)


def test_each_entry_matches_a_case_of_a_shipped_subject() -> None:
    assert NAMES
    assert {*NAMES} <= {*SUBJECTS, *PEERS}
    for name, entry in entries():
        assert entry.check in LAWS, (name, entry)
        assert entry.policy in ("*", *POLICIES), (name, entry)
        matched = (
            (surface, mode)
            for id, scenario in scenarios().items()
            if fnmatchcase(id, entry.scenario)
            for surface in scenario.surfaces
            for mode in scenario.modes(surface)
        )
        wanted = (entry.surface, entry.mode)
        assert any(all(map(fnmatchcase, place, wanted)) for place in matched), (name, entry)


def test_each_entry_is_in_its_baseline_once_and_has_a_reason_in_words() -> None:
    for name, entry in entries():
        assert len(entry.reason) < 120, (name, entry)
        assert not re.search(r"Error|Exception|Traceback|https?:", entry.reason), (name, entry)
        assert entry.effect, (name, entry)
    assert {entry.reason for _, entry in entries()} == {*predicates()}
    places = [(name, one.check, one.scenario, one.surface, one.mode, one.policy, one.effect) for name, one in entries()]
    assert len(places) == len(set(places))


@PAGE
def test_the_published_results_have_a_failure_for_each_reason_of_the_baselines(reasons: list[peers.Reason]) -> None:
    expected = {(name, entry.check, entry.reason) for name, entry in entries() if entry.check in ENTRIES}
    assert {(reason.subject, reason.law, reason.text) for reason in reasons} == expected


@PAGE
def test_each_reason_holds_in_each_of_its_cases_and_in_few_of_others() -> None:
    assert [*untrue(published())] == []
    examples = {one.behaviour: Failure(case, one, "") for case, one in published().verdicts() if one.behaviour}
    assert examples.keys() == predicates().keys()
    for sentence, predicate in predicates().items():
        others = [other for other, failure in examples.items() if other != sentence and predicate.holds(failure)]
        assert len(others) <= 10, (sentence, others)


def test_a_reason_that_a_case_does_not_show_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    def reported(sentence: str, expected: str, got: str) -> Result:
        verdict = Verdict("stop", "expected", f"why{KNOWN}{sentence})", 0, expected, got, "misreported")
        return Result("any-llm", "search-pauses", "anthropic.messages", "plain", "all", [verdict], [SubjectReport()])

    sentence = "pause_turn is reported as a plain end"
    right = reported(sentence, "pause", "end_turn")
    for one in (
        reported(sentence, "pause", "error"),
        reported(sentence, "pause", "pause"),
        reported("it", "pause", "end_turn"),
    ):
        monkeypatch.setattr(publish, "_run_all", lambda old, names, one=one: Run("0", "", {}, [], [], [], [right, one]))
        monkeypatch.setattr(publish, "publish", lambda run: pytest.fail("published"))
        output = CliRunner().invoke(publish.main, []).output
        assert output.splitlines()[1:] == [f"any-llm {one.case} stop: {one.verdicts[0].behaviour}"]
    assert publish._with_reasons(reported("an old sentence", "pause", "end_turn")) == right


def test_the_reproductions_are_of_the_versions_that_are_pinned(versions: dict[str, str]) -> None:
    for name, version in versions.items():
        if name in PEERS:
            assert PEERS[name].pinned == version, name
    assert versions.keys() == {*NAMES}


def test_each_confirmed_accusation_is_expected_of_the_version_that_was_run(
    confirmed: Any, versions: dict[str, str]
) -> None:
    assert len({tuple(entry.values()) for entry in confirmed}) == len(confirmed) >= 60
    for entry in confirmed:
        place = (entry["scenario"], entry["surface"], entry["mode"], "all")
        verdict = Verdict(entry["law"], "fail", "it broke", entry["round"])
        result = Result(entry["subject"], *place, [verdict])
        assert any(known.matches(result, verdict) for known in baselines()[entry["subject"]]), entry
        assert entry["version"] == versions[entry["subject"]], entry


@PAGE
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.thorough if name in PEERS else ()) for name in NAMES]
)
def test_an_installed_subject_fails_as_the_published_results_state(
    name: str, reasons: list[peers.Reason], versions: dict[str, str]
) -> None:
    if name in PEERS and environments.installed(name) is None:
        pytest.skip(f"toolparity subjects install {name}")
    if name in PEERS and environments.outdated(name):
        pytest.skip(f"other versions of {name} are pinned by now")
    tested = subject(name)
    if tested.version != versions[name]:
        pytest.skip(f"{name} {tested.version} is here, and {versions[name]} is published")
    judge = Judge(tested, twice=False)
    for reason in (one for one in reasons if one.subject == name):
        place = reason.accusation.result
        result = judge.result(Case(place.scenario, place.surface, place.mode, "all"))
        (verdict,) = [one for one in result.verdicts if one.check == reason.law]
        assert verdict.outcome == "fail", reason
        assert shown(Accusation(result, verdict, tested.version)) == shown(reason.accusation)


def shown(failure: Accusation) -> tuple[str, str]:
    """The two values of a failure; of an error its type, whose message may name addresses and paths."""
    verdict, error = failure.verdict, failure.report.error
    return verdict.expected, error.partition(":")[0] if error else verdict.got


def test_no_entry_is_of_a_surface_that_its_subject_does_not_read() -> None:
    for name in {*NAMES} & SUBJECTS.keys():
        wires = subject(name).wires
        named = {SURFACES[entry.surface].wire for entry in baselines()[name] if entry.surface != "*"}
        assert wires is None or named <= wires


class OnlyOpenAI:
    """Reads responses of OpenAI on a wire that other providers use, too."""

    name, version, claims = "only-openai", "1", frozenset(("stream",))
    wires: frozenset[str] | None = frozenset(("openai.chat",))
    providers = frozenset(("openai",))

    def read(self, exchange: Any) -> Any:
        raise AssertionError(f"got a response of {exchange.provider}")


def test_a_subject_is_not_judged_by_providers_that_it_does_not_read() -> None:
    for scenario, surface, provider in (
        ("single-call", "xai.chat", "xai"),
        ("call-rejected-by-provider", "openai.chat", "groq"),
    ):
        mode = scenarios()[scenario].modes(surface)[0]
        (verdict,) = Judge(OnlyOpenAI()).result(Case(scenario, surface, mode, "all")).verdicts
        assert (verdict.outcome, provider in verdict.reason) == ("unsupported", True)
    assert not Judge(OnlyOpenAI()).unsupported(Case("single-call", "openai.chat", "plain", "all"))


def ask(*messages: dict[str, Any], tools: list[dict[str, Any]] | None = None, wire: str = "openai.chat") -> Any:
    """Return the input of a program for a plain response with one choice for each message."""
    body = {"choices": [{"index": index, "message": message} for index, message in enumerate(messages)]}
    pieces = [base64.b64encode(json.dumps(body).encode()).decode()]
    return {"wire": wire, "stream": False, "pieces": pieces, "tools": tools or []}


def test_arguments_are_invalid_if_their_text_is_not_a_json_object() -> None:
    deep, long = f'{{"a": {"[" * 100_000}{"]" * 100_000}}}', f'{{"a": {"9" * 5000}}}'
    valid = ('{"a": 1}', long, deep, "", " ", {"a": 1})
    for arguments in (*valid, '{"a": 1', "[1]", '{"a": "\n"}'):
        call = {"type": "function", "function": {"name": "save", "arguments": arguments}}
        assert invalid_arguments(ask({"tool_calls": [call]})) == (arguments not in valid), arguments


def test_custom_tools_are_those_of_the_request() -> None:
    tools: list[dict[str, Any]] = [{"type": "custom", "custom": {"name": "run"}}, {"type": "custom", "name": "sql"}]
    assert custom_tools(ask(tools=tools)) == {"run", "sql"}


@pytest.mark.parametrize(
    ("name", "scenario", "expected"),
    [
        ("legacy_call", "legacy-function-call", True),
        ("legacy_call", "single-call", False),
        ("several_choices", "choice-not-selected", True),
        ("several_choices", "single-call", False),
    ],
)
def test_a_response_shows_what_its_request_must_have_been(name: str, scenario: str, expected: bool) -> None:
    decides = runpy.run_path(str(HERE / "scope.py"))[name]
    for mode in scenarios()[scenario].modes("openai.chat"):
        pieces = [base64.b64encode(one).decode() for one in responses(scenario, "openai.chat", mode)[0].pieces]
        exchange = {"wire": "openai.chat", "stream": mode == "stream", "pieces": pieces, "tools": []}
        assert decides(exchange) is expected, mode
        assert decides({**exchange, "wire": "openai.responses"}) is False


def test_a_caller_sees_the_content_beside_the_word() -> None:
    for word, beside, stop in [
        ("stop", {}, "end_turn"),
        ("stop", {"calls": ["a"], "refusal": "no"}, "tool_calls"),
        ("stop", {"refusal": "no"}, "refusal"),
        ("completed", {"approval": True}, "pause"),
        ("length", {"calls": ["a"]}, "max_tokens"),
        ("a_new_word", {"calls": ["a"]}, "tool_calls"),
        ("a_new_word", {}, "unknown"),
        ("", {"calls": ["a"]}, "unknown"),
        (None, {"calls": ["a"]}, "unknown"),
    ]:
        assert stop_of(word, **beside) == stop, word  # type: ignore[arg-type]
