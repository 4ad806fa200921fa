"""A library reports missing, stray, unreadable and old cassettes."""

from __future__ import annotations

from pathlib import Path

from tests.cassettes.library.making import made
from toolparity.cassettes.library import find
from toolparity.cassettes.library.inventory import (
    list_cassettes,
    missing_cassettes,
    modes,
    stray_cassettes,
)
from toolparity.cassettes.scripts import Fault, Round, Say, Script, ServerCall
from toolparity.cassettes.surfaces import SURFACES

PLAIN = Script("plain", "", [Round([Say("hello")], ask="a")])
SEARCH = Script("search", "", [Round([ServerCall("x_search")], ask="b")], hosted=["x_search"])
CUT = Script("cut", "", [Round([Say("hello")], ask="c", fault=Fault("cut", after=1))])


def library(*scripts: Script) -> dict[str, Script]:
    return {script.id: script for script in scripts}


def test_a_scenario_without_a_cassette_is_missing_on_each_surface_and_form_that_plays_it(tmp_path: Path) -> None:
    found = list(missing_cassettes(tmp_path, library(PLAIN, SEARCH)))
    searching = {("search", "xai.grpc"), ("search", "xai.responses")}
    assert {(one.scenario, one.surface) for one in found} == {*(("plain", name) for name in SURFACES), *searching}
    assert len(found) == 2 * (len(SURFACES) + 2)
    made(tmp_path, scenario="plain", scenario_hash="x")
    left = list(missing_cassettes(tmp_path, library(PLAIN, SEARCH)))
    assert [one for one in found if one not in left] == [found[0]]
    assert (found[0].surface, found[0].stream, found[0].path) == ("openai.chat", False, "openai/openai.chat/plain.yaml")
    assert (modes(CUT), modes(PLAIN)) == ((True,), (False, True))
    assert {one.stream for one in missing_cassettes(tmp_path, library(CUT))} == {True}


def test_a_cassette_without_a_scenario_or_a_surface_for_it_is_stray(tmp_path: Path) -> None:
    made(tmp_path, scenario="plain", scenario_hash="x")
    made(tmp_path, scenario="gone", scenario_hash="x", origin="live")
    made(tmp_path, scenario="search", scenario_hash="x")
    none = dict.fromkeys(("scenario", "scenario_hash", "sdk", "sdk_version", "surface"))
    made(tmp_path, origin="imported", **none)
    found = list(stray_cassettes(list_cassettes(find(tmp_path)), library(PLAIN, SEARCH)))
    assert [(one.file.name, one.origin, one.why) for one in found] == [
        ("gone", "live", "unknown scenario: 'gone'"),
        ("search", "emulated", "openai.chat cannot play search"),
    ]


def test_an_unreadable_cassette_is_listed_with_its_error(tmp_path: Path) -> None:
    path = made(tmp_path)
    path.write_text("[")
    (one,) = list_cassettes(find(tmp_path))
    assert one.provenance is None
    assert one.origin is None
    assert str(path) in str(one.error)
    assert list(stray_cassettes([one])) == []
