"""Each step of verify finds what it is for, reports where and what to do, and relies on nothing before it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cassettes.library.making import LACKING, interaction, made, rewritten
from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.library import find, forget, load, path_for
from toolparity.cassettes.recorder import verify
from toolparity.cassettes.recorder.record import emulated, record
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.errors import ToolparityError

Content = dict[str, Any]
STEPS = [step.name for step in verify.STEPS]
RECORDED = [
    ("openai.chat", "single-call", False),
    ("openai.chat", "single-call", True),
    ("anthropic.messages", "text-only", True),
    ("xai.grpc", "single-call", True),
]
#: Verify expects what these scripts cause.
FAULTY = [("openai.chat", name, True) for name in ("error-rate-limit", "breaks-off", "truncated-arguments")]
CHAT, GRPC = "openai.chat/single-call.yaml", "xai.grpc/single-call.stream.yaml"
SECRET = "sk-proj-" + "Zq7Xw2Lk9Vb4Nc8Rt1Ys" * 2


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library recorded by the official SDKs against the emulated providers."""
    root = tmp_path_factory.mktemp("recorded")
    with running() as servers:
        for name, scenario, stream in RECORDED + FAULTY:
            at = SURFACES[name]
            record(scripts()[scenario], at, emulated(at, servers.base(at)), stream=stream, root=root)
    return root


@pytest.fixture
def library(recorded: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    shutil.copytree(recorded, tmp_path / "library")
    return tmp_path / "library"


def verdict(library: Path, part: str = CHAT) -> verify.VerifiedCassette:
    forget()
    return verify.verify_one(next(place for place in find(library) if part in place.shown))


def place(library: Path, part: str) -> Path:
    return next(found.path for found in find(library) if part in found.shown)


def test_a_recorded_cassette_passes_every_step_unchanged(recorded: Path) -> None:
    before = {place.path: place.path.read_bytes() for place in find(recorded)}
    verdicts = [verify.verify_one(place) for place in find(recorded)]
    assert len(verdicts) == len(RECORDED + FAULTY)
    for one in verdicts:
        assert (one.origin, one.problems, one.open, one.passed) == ("emulated", [], {}, STEPS), one.file.shown
    assert {place.path: place.path.read_bytes() for place in find(recorded)} == before
    for name, scenario, stream in RECORDED:
        responses = verify.decoded(load(path_for(name, scenario, stream, recorded)))
        assert [(one.wire, one.complete) for one in responses] == [(name, True)] * len(scripts()[scenario].rounds)


def set_provenance(**members: Any) -> Callable[[Content], object]:
    return lambda content: content["metadata"]["toolparity"].update(members)


def unset_provenance(name: str) -> Callable[[Content], object]:
    return lambda content: content["metadata"]["toolparity"].pop(name)


def swap(old: str, new: str) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        request = content["interactions"][0]["request"]
        assert old in request["body"]
        request["body"] = request["body"].replace(old, new)

    return change


_EMULATED = "interaction 1 is marked emulated, but the cassette is"
_UNMARKED = "interaction 2 lacks the header x-toolparity-origin, which the emulated providers send"
#: What changed -> the file, the change, whether its digests are repaired, the steps that fail, and the first reason.
DEFECTS: dict[str, tuple[str, Callable[[Content], object], bool, list[str], str]] = {
    "no interactions": (CHAT, lambda c: c.update(interactions=[]), True, ["readable"], "it has no interactions"),
    "incomplete provenance": (CHAT, unset_provenance("sdk"), False, ["provenance"], "sdk is missing"),
    "an edited answer": (
        CHAT,
        lambda c: c["interactions"][-1]["response"]["status"].update(message="Fine"),
        False,
        ["digest"],
        "its interactions were changed",
    ),
    "an edited origin": (
        CHAT, set_provenance(origin="live"), False, ["digest", "origin"], "its provenance was changed"),
    "an edited person": (CHAT, set_provenance(ran_by="Another"), False, ["digest"], "its provenance was changed"),
    "an edited date": (CHAT, set_provenance(date="2031-01-01"), False, ["digest"], "its provenance was changed"),
    "no seal": (CHAT, unset_provenance("seal"), False, ["digest"], "has no seal"),
    **{
        f"an emulated cassette of {part} that claims to be {origin}": (
            part, set_provenance(origin=origin), True, ["origin"], f"{_EMULATED} {origin}")
        for part in (CHAT, GRPC) for origin in ("live", "imported")
    },
    "an answer without the mark": (
        CHAT, lambda c: c["interactions"][1]["response"]["headers"].pop("x-toolparity-origin"), True, ["origin"],
        _UNMARKED),
    "a request that lost a field": (
        CHAT, swap('"model"', '"modell"'), True, ["replays"], "round 1"),
    "a changed scenario": (
        CHAT, set_provenance(scenario_hash="0123456789abcdef"), True, ["scenario", "replays"],
        "the scenario has changed since the recording"),
    **{
        f"a secret in a header of {part}": (
            part, lambda c: c["interactions"][0]["request"]["headers"].update(authorization=[f"Bearer {SECRET}"]),
            True, ["scrubbed"], "")
        for part in (CHAT, GRPC)
    },
}  # fmt: skip


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_found_by_its_step_and_never_shown_with_a_secret(library: Path, name: str) -> None:
    part, change, honest, steps, reason = DEFECTS[name]
    rewritten(place(library, part), change, honest=honest)
    found = verdict(library, part)
    assert list(dict.fromkeys(one.step for one in found.problems)) == steps
    assert reason in found.problems[0].what
    assert SECRET not in str(found.problems)
    for problem in found.problems:
        assert (part in problem.location, problem.hint != "", problem.fault) == (True, True, False)


def test_steps_that_need_the_provenance_or_a_scenario_stay_open_without_it(library: Path, tmp_path: Path) -> None:
    rewritten(place(library, CHAT), unset_provenance("sdk"))
    found = verdict(library)
    assert (found.passed, found.origin) == (["readable", "scrubbed"], None)
    assert set(found.open) == set(STEPS) - {"readable", "provenance", "scrubbed"}
    made(tmp_path / "imported", origin="imported", **LACKING)
    found = verdict(tmp_path / "imported", "")
    assert (found.origin, found.problems, set(found.open)) == ("imported", [], {"scenario", "replays"})
    assert found.open["scenario"] == "imported without a scenario"


@pytest.mark.parametrize(
    ("other", "stream"),
    [
        *((name, False) for name in ("parallel-three.yaml", "../../single-call.yaml", "../single-call.yml")),
        ("x/single-call.yaml", False),
        ("single-call.yaml", True),
    ],
)
def test_a_recording_at_another_path_or_at_that_of_a_plain_one(library: Path, other: str, stream: bool) -> None:
    path = path_for("openai.chat", "single-call", stream, library)
    moved = (path.parent / other).resolve()
    moved.parent.mkdir(exist_ok=True)
    shown = str(path.rename(moved).relative_to(library))
    (problem,) = verdict(library, shown).problems
    assert (problem.step, problem.location) == ("place", shown)
    assert problem.what == f"its provenance requires the path {path.relative_to(library)}"


def test_an_unknown_scenario(library: Path) -> None:
    path = path_for("openai.chat", "single-call", False, library)
    rewritten(path, set_provenance(scenario="of-yesterday"), honest=True)
    path.rename(path.with_name("of-yesterday.yaml"))
    found = verdict(library, "of-yesterday")
    assert [one.step for one in found.problems] == ["scenario", "replays"]
    assert found.problems[0].what == "unknown scenario: 'of-yesterday'"


_BROKEN = interaction()["response"]["body"]["string"].replace('"arguments": "{}"', '"arguments": "{"')


@pytest.mark.parametrize(
    ("answer", "scenario", "step", "reason"),
    [
        (None, "server-search", "scenario", "the surface openai.chat cannot play the scenario"),
        (_BROKEN, "single-call", "decodes", "arguments-truncated"),
        (_BROKEN, "truncated-arguments", None, ""),  # this scenario requires it
        ("<html>busy</html>", "single-call", "decodes", ""),
    ],
)
def test_an_answer_or_surface_that_does_not_fit_the_scenario(
    tmp_path: Path, answer: str | None, scenario: str, step: str | None, reason: str
) -> None:
    made(tmp_path, interaction(answer), scenario=scenario, scenario_hash=scripts()[scenario].hash)
    names = ("readable", "provenance", "scenario" if step == "scenario" else "decodes")
    found = verify.verify_one(find(tmp_path)[0], tuple(one for one in verify.STEPS if one.name in names)).problems
    assert [(one.step, one.fault, reason in one.what) for one in found] == ([(step, False, True)] if step else [])


def _crashes(subject: verify.CassetteCheck) -> Any:
    raise ZeroDivisionError("a mistake")


def _refuses(subject: verify.CassetteCheck) -> Any:
    raise ToolparityError("a reason", where=f"{subject.file.path}:7", hint="do this")


@pytest.mark.parametrize(
    ("judge", "text", "fault"),
    [
        (_crashes, "single-call.yaml: new: the step failed: ZeroDivisionError: a mistake", True),
        (_refuses, "single-call.yaml:7: new: a reason (do this)", False),
    ],
)
def test_a_step_that_crashes_is_reported_and_the_next_steps_run(
    tmp_path: Path, judge: Callable[[verify.CassetteCheck], Any], text: str, fault: bool
) -> None:
    made(tmp_path)
    steps = (verify.Step("new", "nothing", judge, ()), *verify.STEPS[:2])
    found = verify.verify_one(find(tmp_path)[0], steps)
    assert [(str(one), one.fault) for one in found.problems] == [(f"openai/openai.chat/{text}", fault)]
    assert found.passed == ["readable", "provenance"]
