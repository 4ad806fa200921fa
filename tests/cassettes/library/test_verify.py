"""Verifying: each step finds what it is for, says where and what to do, and trusts nothing before it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cassettes.library.making import interaction, made, rewritten
from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.library import find, forget, load, path_for
from toolparity.cassettes.recorder import verify
from toolparity.cassettes.recorder.record import emulated, record
from toolparity.cassettes.scripts import Fault, Round, Script, ScriptedCall, scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.errors import ToolparityError

STEPS = [step.name for step in verify.STEPS]
RECORDED = [
    ("openai.chat", "single-call", False),
    ("openai.chat", "single-call", True),
    ("anthropic.messages", "text-only", True),
    ("xai.grpc", "single-call", True),
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library recorded by the official SDKs against the emulated providers."""
    root = tmp_path_factory.mktemp("recorded")
    with running() as servers:
        for name, scenario, stream in RECORDED:
            at = SURFACES[name]
            record(scripts()[scenario], at, emulated(at, servers.base(at)), stream=stream, root=root)
    return root


@pytest.fixture
def library(recorded: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    shutil.copytree(recorded, tmp_path / "library")
    return tmp_path / "library"


def verdict(library: Path, part: str = "openai.chat/single-call.yaml") -> verify.VerifiedCassette:
    forget()
    return verify.verify_one(next(place for place in find(library) if part in place.shown))


def problem(library: Path, step: str, part: str = "openai.chat/single-call.yaml") -> verify.CassetteProblem:
    """The only problem, found by that step."""
    found = verdict(library, part)
    assert [one.step for one in found.problems] == [step]
    assert found.problems[0].location.startswith(next(p for p in find(library) if part in p.shown).shown)
    assert found.problems[0].hint
    assert not found.problems[0].fault
    return found.problems[0]


def change(library: Path, honest: bool = True, **told: Any) -> None:
    """Other members in the provenance of a good cassette."""
    path = path_for("openai.chat", "single-call", False, library)
    rewritten(path, lambda content: content["metadata"]["toolparity"].update(told), honest=honest)


def test_what_the_recorder_made_passes_every_step(recorded: Path) -> None:
    verdicts = [verify.verify_one(place) for place in find(recorded)]
    assert len(verdicts) == len(RECORDED)
    for one in verdicts:
        assert (one.problems, one.open, one.passed) == ([], {}, STEPS), one.file.shown
        assert one.origin == "emulated"


def test_verifying_changes_no_file(recorded: Path) -> None:
    before = {place.path: place.path.read_bytes() for place in find(recorded)}
    assert all(not verify.verify_one(place).problems for place in find(recorded))
    assert {place.path: place.path.read_bytes() for place in find(recorded)} == before


def test_an_empty_cassette_is_not_readable(library: Path) -> None:
    path = path_for("openai.chat", "single-call", False, library)
    rewritten(path, lambda content: content.update(interactions=[]), honest=True)
    assert problem(library, "readable").what == "it has no interactions"


def test_incomplete_provenance_stops_what_stands_on_it(library: Path) -> None:
    path = path_for("openai.chat", "single-call", False, library)
    rewritten(path, lambda content: content["metadata"]["toolparity"].pop("sdk"))
    assert "sdk is missing" in problem(library, "provenance").what
    found = verdict(library)
    assert found.passed == ["readable", "scrubbed"]
    assert set(found.open) == set(STEPS) - {"readable", "provenance", "scrubbed"}
    assert found.origin is None


def test_a_cassette_at_another_place_than_it_says(library: Path) -> None:
    path = path_for("openai.chat", "single-call", False, library)
    other = path.with_name("parallel-three.yaml")
    path.rename(other)
    found = problem(library, "place", "parallel-three")
    assert found.what == "its provenance requires the path openai/openai.chat/single-call.yaml"


@pytest.mark.parametrize(
    "place", ["single-call.yaml", "openai/single-call.yml", "openai/openai.chat/x/single-call.yaml"]
)
def test_a_cassette_at_no_place_of_the_library(library: Path, place: str) -> None:
    path = path_for("openai.chat", "single-call", False, library)
    (library / place).parent.mkdir(exist_ok=True)
    path.rename(library / place)
    assert "requires the path openai/openai.chat/single-call.yaml" in problem(library, "place", place).what


def test_a_streamed_recording_in_the_place_of_a_plain_one(library: Path) -> None:
    path_for("openai.chat", "single-call", True, library).rename(path_for("openai.chat", "single-call", False, library))
    assert "requires the path openai/openai.chat/single-call.stream.yaml" in problem(library, "place").what


def test_an_edited_answer_no_longer_fits_its_digest(library: Path) -> None:
    path = path_for("openai.chat", "single-call", False, library)
    rewritten(path, lambda content: content["interactions"][-1]["response"]["status"].update(message="Fine"))
    assert "its interactions were changed" in problem(library, "digest").what


@pytest.mark.parametrize("told", [{"origin": "live"}, {"ran_by": "Somebody"}, {"date": "2031-01-01"}])
def test_an_edited_provenance_no_longer_fits_its_seal(library: Path, told: dict[str, str]) -> None:
    change(library, honest=False, **told)
    found = verdict(library)
    assert {one.step for one in found.problems} == ({"digest", "origin"} if "origin" in told else {"digest"})
    assert "its provenance was changed" in found.problems[0].what


def test_a_provenance_without_a_seal_is_not_believed(library: Path) -> None:
    path = path_for("openai.chat", "single-call", False, library)
    rewritten(path, lambda content: content["metadata"]["toolparity"].pop("seal"))
    assert "has no seal" in problem(library, "digest").what


@pytest.mark.parametrize("origin", ["live", "imported"])
@pytest.mark.parametrize("part", ["openai.chat/single-call.yaml", "xai.grpc/single-call.stream.yaml"])
def test_an_emulated_cassette_that_says_it_is_another_betrays_itself(library: Path, part: str, origin: str) -> None:
    """All its digests are repaired: what the emulated server said is still there."""
    path = next(place.path for place in find(library) if part in place.shown)
    rewritten(path, lambda content: content["metadata"]["toolparity"].update(origin=origin), honest=True)
    found = verdict(library, part)
    assert {one.step for one in found.problems} == {"origin"}
    assert found.problems[0].what == f"interaction 1 is marked emulated, but the cassette is {origin}"


def test_an_emulated_cassette_whose_answers_do_not_say_so_is_not_believed(library: Path) -> None:
    path = path_for("openai.chat", "single-call", False, library)

    def edit(content: dict[str, Any]) -> None:
        del content["interactions"][1]["response"]["headers"]["x-toolparity-origin"]

    rewritten(path, edit, honest=True)
    wanted = "interaction 2 lacks the header x-toolparity-origin, which the emulated providers send"
    assert problem(library, "origin").what == wanted


def test_an_edited_answer_with_its_digest_mended_no_longer_replays(library: Path) -> None:
    path = path_for("openai.chat", "single-call", False, library)

    def edit(content: dict[str, Any]) -> None:
        first = content["interactions"][0]["response"]["body"]
        first["string"] = first["string"].replace("Lisbon", "London")

    rewritten(path, edit, honest=True)
    assert problem(library, "replays").what.startswith("round 2")


def test_an_interaction_too_many_is_not_played(library: Path) -> None:
    path = path_for("openai.chat", "single-call", False, library)
    rewritten(path, lambda content: content["interactions"].append(content["interactions"][-1]), honest=True)
    assert "was not played" in problem(library, "replays").what


def test_a_request_that_lost_a_field_does_not_replay(library: Path) -> None:
    path = path_for("openai.chat", "single-call", False, library)

    def edit(content: dict[str, Any]) -> None:
        request = content["interactions"][0]["request"]
        request["body"] = request["body"].replace('"model"', '"modell"')

    rewritten(path, edit, honest=True)
    assert problem(library, "replays").what.startswith("round 1")


@pytest.mark.parametrize("part", ["openai.chat/single-call.yaml", "xai.grpc/single-call.stream.yaml"])
def test_a_secret_in_a_header_is_found_and_never_shown(library: Path, part: str) -> None:
    secret = "sk-proj-" + "Zq7Xw2Lk9Vb4Nc8Rt1Ys" * 2
    place = next(place for place in find(library) if part in place.shown)

    def edit(content: dict[str, Any]) -> None:
        content["interactions"][0]["request"]["headers"]["authorization"] = [f"Bearer {secret}"]

    rewritten(place.path, edit, honest=True)
    found = verdict(library, part)
    assert {one.step for one in found.problems} == {"scrubbed"}
    assert secret not in str(found.problems)


def test_a_scenario_that_is_not_known(library: Path) -> None:
    path = path_for("openai.chat", "single-call", False, library)
    change(library, scenario="of-yesterday")
    path.rename(path.with_name("of-yesterday.yaml"))
    found = verdict(library, "of-yesterday")
    assert [one.step for one in found.problems] == ["scenario", "replays"]
    assert found.problems[0].what == "unknown scenario: 'of-yesterday'"


def test_a_scenario_that_has_changed_since(library: Path) -> None:
    change(library, scenario_hash="0123456789abcdef")
    found = verdict(library)
    assert [one.step for one in found.problems] == ["scenario", "replays"]
    assert "the scenario has changed since the recording" in found.problems[0].what
    assert "record it again" in found.problems[0].hint


def test_a_scenario_that_its_surface_cannot_say(tmp_path: Path) -> None:
    made(tmp_path, scenario="server-search", scenario_hash=scripts()["server-search"].hash)
    steps = tuple(step for step in verify.STEPS if step.name in ("readable", "provenance", "scenario"))
    (found,) = verify.verify_one(find(tmp_path)[0], steps).problems
    assert found.what == "the surface openai.chat cannot play the scenario"


def test_an_answer_that_is_broken_although_its_scenario_breaks_nothing(tmp_path: Path) -> None:
    answer = interaction()["response"]["body"]["string"].replace('"arguments": "{}"', '"arguments": "{"')
    made(tmp_path, interaction(answer))
    steps = tuple(step for step in verify.STEPS if step.name in ("readable", "provenance", "decodes"))
    (found,) = verify.verify_one(find(tmp_path)[0], steps).problems
    assert (found.step, found.what.partition(":")[0]) == ("decodes", "interaction 1")
    assert "arguments-truncated" in found.what
    made(tmp_path, interaction(answer), scenario="truncated-arguments", scenario_hash="x")
    assert verify.verify_one(find(tmp_path)[1], steps).problems == [], "this scenario calls for it"


def test_an_answer_that_is_none(tmp_path: Path) -> None:
    made(tmp_path, interaction("<html>busy</html>"))
    steps = tuple(step for step in verify.STEPS if step.name in ("readable", "provenance", "decodes"))
    (found,) = verify.verify_one(find(tmp_path)[0], steps).problems
    assert (found.step, found.fault) == ("decodes", False)


@pytest.mark.parametrize(
    ("round", "codes"),
    [
        (Round(), set()),
        (Round([ScriptedCall("f", arguments={})]), set()),
        (Round([ScriptedCall("f", arguments_text="{")]), {"arguments-*", "provider-rejected-call"}),
        (Round(ending="length"), {"arguments-truncated", "provider-rejected-call"}),
        (Round(fault=Fault("rate_limit")), {"error-response"}),
        (Round(fault=Fault("cut", after=0)), {"error-response", "stream-incomplete", "stream-error",
                                              "raw-text-in-stream", "arguments-truncated"}),
    ],
)  # fmt: skip
def test_what_a_script_breaks_is_expected_and_nothing_else(round: Round, codes: set[str]) -> None:
    assert verify.expected(Script("s", "", [round])) == codes


def test_an_imported_cassette_is_not_replayed_and_that_is_said(tmp_path: Path) -> None:
    lacking = dict.fromkeys(("surface", "sdk", "sdk_version", "scenario", "scenario_hash", "ran_by"))
    made(tmp_path, origin="imported", **lacking)
    found = verify.verify_one(find(tmp_path)[0])
    assert (found.origin, found.problems) == ("imported", [])
    assert set(found.open) == {"scenario", "replays"}
    assert found.open["scenario"] == "imported without a scenario"


def _falls_over(subject: verify.CassetteCheck) -> Any:
    raise ZeroDivisionError("a slip")


def _refuses(subject: verify.CassetteCheck) -> Any:
    raise ToolparityError("so it is", where=f"{subject.file.path}:7", hint="do this")


@pytest.mark.parametrize(
    ("judge", "said", "fault"),
    [
        (_falls_over, "openai/openai.chat/single-call.yaml: new: the step failed: ZeroDivisionError: a slip", True),
        (_refuses, "openai/openai.chat/single-call.yaml:7: new: so it is (do this)", False),
    ],
)
def test_a_step_that_falls_over_is_a_fault_of_ours_and_ends_nothing(
    tmp_path: Path, judge: Callable[[verify.CassetteCheck], Any], said: str, fault: bool
) -> None:
    made(tmp_path)
    steps = (verify.Step("new", "nothing", judge, ()), *verify.STEPS[:2])
    found = verify.verify_one(find(tmp_path)[0], steps)
    assert [(str(one), one.fault) for one in found.problems] == [(said, fault)]
    assert found.passed == ["readable", "provenance"]


def test_decoding_gives_the_responses_in_order(recorded: Path) -> None:
    for name, scenario, stream in RECORDED:
        responses = verify.decoded(load(path_for(name, scenario, stream, recorded)))
        assert len(responses) == len(scripts()[scenario].rounds)
        assert {one.wire for one in responses} == {SURFACES[name].wire}
        assert all(one.complete for one in responses)
