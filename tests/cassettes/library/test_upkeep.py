"""A library reports missing, stray, unreadable and old cassettes."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from tests.cassettes.library.making import made
from toolparity.cassettes.library import find
from toolparity.cassettes.library.inventory import (
    list_cassettes,
    missing_cassettes,
    modes,
    oldest_first,
    stray_cassettes,
)
from toolparity.cassettes.scripts import Fault, Round, Say, Script, ServerCall
from toolparity.cassettes.surfaces import SURFACES

PLAIN = Script("plain", "", [Round([Say("hello")], ask="a")])
SEARCH = Script("search", "", [Round([ServerCall("x_search")], ask="b")], hosted=["x_search"])
CUT = Script("cut", "", [Round([Say("hello")], ask="c", fault=Fault("cut", after=1))])


def library(*scripts: Script) -> dict[str, Script]:
    return {script.id: script for script in scripts}


def test_every_surface_that_can_play_a_scenario_should_have_it_plain_and_streamed(tmp_path: Path) -> None:
    found = list(missing_cassettes(tmp_path, library(PLAIN, SEARCH)))
    assert {(one.scenario, one.surface) for one in found} == {
        *(("plain", name) for name in SURFACES),
        ("search", "xai.grpc"),
        ("search", "xai.responses"),
    }
    assert len(found) == 2 * (len(SURFACES) + 2)
    made(tmp_path, scenario="plain", scenario_hash="x")
    left = list(missing_cassettes(tmp_path, library(PLAIN, SEARCH)))
    assert [one for one in found if one not in left] == [found[0]]
    assert (found[0].surface, found[0].stream, found[0].path) == ("openai.chat", False, "openai/openai.chat/plain.yaml")


def test_a_fault_of_streams_needs_no_plain_cassette(tmp_path: Path) -> None:
    assert modes(CUT) == (True,)
    assert modes(PLAIN) == (False, True)
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


def test_the_oldest_cassette_is_listed_first(tmp_path: Path) -> None:
    for name, day in (("a", "2026-01-05"), ("b", "2026-01-01"), ("c", "2026-01-05T23:00:00Z")):
        made(tmp_path, scenario=name, date=day)
    aged = oldest_first(list_cassettes(find(tmp_path)), date(2026, 1, 10))
    assert [(one.file.name, days) for one, days in aged] == [("b", 9), ("a", 5), ("c", 5)]
