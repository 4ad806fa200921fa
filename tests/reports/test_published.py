"""The publication: whole, small, the same bytes for the same results, and never older than the suite."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.published import unpacked
from toolparity.conformance.cli import publish
from toolparity.conformance.cli.publish import COMMAND, FOLDER, HISTORY, RESULTS, SUMMARY
from toolparity.conformance.known_bad import known_bad
from toolparity.conformance.laws import IDS
from toolparity.conformance.runner import kill, survival
from toolparity.conformance.runner.judge import CaseFilter
from toolparity.conformance.subjects import SUBJECTS, environments
from toolparity.conformance.subjects.peers import PEERS
from toolparity.reports.files import load
from toolparity.reports.results import Run

from .golden import verdict

CHOICE = CaseFilter(scenarios=("parallel-three",), wires=("openai.chat",), modes=("plain",))
NAMES = ("normalizer", "documented-goclaw")
#: A test of all published results, or of the histories beside them.
HISTORIES = pytest.mark.page("reports/published")


#: A few of the known-bad subjects. All of them run in other tests.
FAULTY = dict(list(known_bad().items())[::20])


def everything() -> Run:
    """A run of the named subjects, and the kill matrix of a few known-bad ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kill, "known_bad", lambda: FAULTY)
        patch.setattr(kill, "cores", lambda: 1)
        patch.setattr(survival, "run", lambda case_filter, **options: None)
        return publish.joined(publish.killed(CHOICE), publish.run(CHOICE, NAMES))


@pytest.fixture(scope="module")
def made() -> Run:
    """A small publication's results, of 1 January 2026."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1767225600")
        return everything()


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


NAMES_OF_FILES = {RESULTS, SUMMARY, "index.html", "README.md", "badge.svg", "badge.json"}


def test_a_publication_is_the_same_bytes_for_another_run_of_the_same_date(
    made: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    publish.publish(made, tmp_path)
    first = content(tmp_path)
    publish.publish(everything(), tmp_path)
    assert content(tmp_path) == first
    assert set(first) == NAMES_OF_FILES


def test_a_publication_has_the_subjects_the_kill_matrix_and_the_badge_of_the_normalizer_and_no_changes(
    made: Run, tmp_path: Path
) -> None:
    publish.publish(replace(made, date="2025-12-01T00:00:00+00:00", results=made.results[1:]), tmp_path)
    publish.publish(made, tmp_path)
    assert set(content(tmp_path)) == NAMES_OF_FILES
    implementations = [item.name for item in made.subjects if item.role == "implementation"]
    assert sorted(path.stem for path in (tmp_path / publish.BADGES).iterdir()) == sorted(implementations)
    read = load(tmp_path / RESULTS)
    assert read == made
    assert [one.name for one in read.subjects] == [*NAMES]
    assert [one.name for one in read.kills] == [one.name for one in FAULTY.values()] != []
    assert not any(one.seconds for one in (read, *read.subjects, *read.results))
    text = (tmp_path / "README.md").read_text("utf-8")
    assert text.startswith("# Results of the shipped subjects\n")
    assert COMMAND in text
    if lacking := read.environment.get("not tested"):
        assert f"Not tested in this run: {lacking}." in text
    assert "What changed" not in text + (tmp_path / "index.html").read_text("utf-8")
    cases = sum(one.subject == "normalizer" for one in made.results)
    badge = json.loads((tmp_path / "badge.json").read_bytes())
    assert badge == {
        "schemaVersion": 1,
        "label": "tool calls: normalizer (reference)",
        "message": f"{cases} of {cases} cases pass",
        "color": "brightgreen",
    }
    assert badge["message"] in (tmp_path / "badge.svg").read_text("utf-8")


def test_no_folder_of_a_person_is_published(made: Run) -> None:
    path = f"{environments.home()}/litellm/lib/main.py"
    case = replace(made.results[0], verdicts=[verdict("fail", reason=f"{path}: boom", got=str(FOLDER))])
    (read,) = publish._without_personal_folders(replace(made, results=[case])).results
    assert read.verdicts[0].reason == "~/.cache/toolparity/subjects/litellm/lib/main.py: boom"
    assert read.verdicts[0].got == "toolparity/reports/published"


@HISTORIES
def test_the_published_results_and_histories_name_no_folder_of_a_person() -> None:
    for text in (unpacked(), *(path.read_bytes() for path in (FOLDER / HISTORY).glob("*.json"))):
        # A slash may be escaped in JSON.
        assert not re.search(rb"/(?:root|work|home\\?/[a-z]+|Users\\?/[A-Za-z]+|tmp\\?/[a-z]+)\\?/", text)


@HISTORIES
def test_five_histories_are_published_whose_figures_follow_from_their_changes() -> None:
    paths = sorted((FOLDER / HISTORY).glob("*.json"))
    assert len(paths) >= 5
    for path in paths:
        data = json.loads(path.read_bytes())  # without the code that renders it
        versions = [version for version in data["versions"] if "cases" in version]
        assert len(versions) >= 6
        assert (data["subject"], data["distribution"]) == (path.stem, PEERS[path.stem].distribution)
        for before, after in pairwise(versions):
            for law in {*before["laws"], *after["laws"]}:
                assert law in IDS
                (old_passed, old), (new_passed, new) = (one["laws"].get(law, (0, 0)) for one in (before, after))
                steps = [one for one in data["changes"] if (one["law"], one["seen"]) == (law, after["version"])]
                more = sum(len(one.get(kind, [])) for one in steps for kind in ("broken", "judged"))
                fewer = sum(len(one.get(kind, [])) for one in steps for kind in ("fixed", "unjudged"))
                assert (new - new_passed) - (old - old_passed) == more - fewer, (path.stem, law)
        order = [version["version"] for version in data["versions"]]
        ran = {version["version"] for version in data["versions"] if "not_tested" not in version}
        for change in data["changes"]:
            assert {change["before"], change["after"]} <= ran
            assert order.index(change["before"]) < order.index(change["after"]) <= order.index(change["seen"])
            if not change.get("between", 0):
                assert order.index(change["after"]) == order.index(change["before"]) + 1


def test_a_publication_that_is_older_than_the_suite_is_reported(made: Run, tmp_path: Path) -> None:
    publish.publish(replace(made, laws=[*made.laws[1:], replace(made.laws[0], id="older")]), tmp_path)
    found = publish.behind(tmp_path)
    missing = [f"{name} is not published" for name in ("law conservation", "subject xai-sdk", "scenario single-call")]
    assert {*missing, "law older was removed from the suite"} <= {*found}
    assert "scenario parallel-three is not published" not in found


def test_one_subject_is_published_anew_beside_the_others(made: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    old = replace(
        made,
        scenarios=[*made.scenarios, replace(made.scenarios[0], id="gone")],
        results=[*(replace(one, verdicts=[]) for one in made.results), replace(made.results[0], scenario="gone")],
    )
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767312000")
    now = publish.joined(old, publish.run(CHOICE, ["documented-goclaw"]))
    assert now.date == "2026-01-02T00:00:00+00:00"
    assert [one.name for one in now.subjects] == [*NAMES]
    assert {one.scenario for one in now.results} == {"parallel-three"} == {one.id for one in now.scenarios}
    assert {one.subject: bool(one.verdicts) for one in now.results} == {"normalizer": False, "documented-goclaw": True}
    assert now.kills == made.kills
    assert now.environment == made.environment


def test_the_published_results_are_current_small_and_of_every_shipped_subject() -> None:
    assert (FOLDER / RESULTS).is_file(), COMMAND
    behind = publish.behind()
    assert not behind, f"{len(behind)} differences, as {behind[0]}: {COMMAND}"
    sizes = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert sizes["index.html"] < 2_000_000
    assert sum(sizes.values()) < 4_500_000, sizes
    text = (FOLDER / "README.md").read_text("utf-8")
    assert [name for name in (*SUBJECTS, *PEERS) if name not in text] == []


def test_the_entry_points_of_one_library_count_as_one_library() -> None:
    libraries = {one.name: one.library for one in publish.summary().subjects}
    assert libraries["pydantic-ai"] == libraries["pydantic-ai-agent"] == "pydantic-ai-slim"
    assert libraries["openai-agents"] == libraries["openai-agents-runner"] != libraries["openai-sdk"]
