"""Where a cassette comes from: complete, and reported before the rest of the file is read."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace
from vcr import VCR

from tests.cassettes.library.making import PROVENANCE, interaction, made, rewritten
from toolparity.cassettes.errors import InvalidProvenance
from toolparity.cassettes.library import KEY, Provenance, load, provenance_of
from toolparity.cassettes.library import provenance as reading

GOOD = replace(PROVENANCE, digest="sha256:" + "0" * 64).as_metadata()


def read(**changes: Any) -> Provenance:
    plain = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    return reading.read(plain, "somewhere.yaml")


def test_what_is_written_is_what_was_told(tmp_path: Path) -> None:
    path = made(tmp_path, note="of the tests")
    stated = replace(PROVENANCE, note="of the tests", digest=load(path).digest)
    assert load(path).provenance == replace(stated, seal=stated.sealing)
    assert provenance_of(path) == load(path).provenance


def test_vcrpy_hands_it_through_as_metadata(tmp_path: Path) -> None:
    path = made(tmp_path)
    with VCR().use_cassette(str(path), record_mode="none") as cassette:
        assert cassette.get_metadata(KEY, None)["origin"] == "emulated"


def test_it_is_read_from_the_beginning_of_a_file_that_is_broken_further_on(tmp_path: Path) -> None:
    path = made(tmp_path, interaction("x" * 200_000))
    path.write_bytes(path.read_bytes() + b"\n}: [")
    assert provenance_of(path).origin == "emulated"


def test_it_is_found_at_the_end_too_where_plain_vcrpy_puts_it(tmp_path: Path) -> None:
    path = made(tmp_path)
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_bytes())), "utf-8")
    assert path.read_text("utf-8").startswith("interactions:")
    assert provenance_of(path) == load(path).provenance


_NEEDED = ["origin", "date", "provider", "wire", "stream", "recorder", "digest"]
_RECORDED = ["model", "surface", "sdk", "sdk_version", "scenario", "ran_by"]


@pytest.mark.parametrize("name", [*_NEEDED, *_RECORDED])
def test_a_recorded_cassette_lacks_nothing(name: str) -> None:
    with pytest.raises(InvalidProvenance, match=name) as caught:
        read(**{name: None})
    assert caught.value.where == "somewhere.yaml"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("origin", "real", "Invalid enum value 'real'"),
        ("origin", 1, "Expected `str`, got `int` - at `$.origin`"),
        ("stream", "yes", "Expected `bool`, got `str` - at `$.stream`"),
        ("mood", "good", "unknown field `mood`"),
        ("date", "yesterday", "date 'yesterday'"),
        ("date", "2026-01-02T03:04:05", "a time without its zone"),
        ("provider", "../../etc", "provider '../../etc' must consist of"),
        ("scenario", "a/b", "scenario 'a/b' must consist of"),
        ("wire", "carrier.pigeon", "unknown wire: 'carrier.pigeon'"),
        ("surface", "openai.carrier", "unknown surface: 'openai.carrier'"),
        ("surface", "xai.chat", "surface xai.chat is xai on openai.chat, not openai on openai.chat"),
        ("digest", "md5:1", "digest must be sha256"),
        ("seal", "sha256:" + "0" * 64, "seal must be v1:sha256"),
        ("scenario_hash", None, "scenario and scenario_hash need each other"),
    ],
)
def test_what_cannot_be_is_said_by_name(name: str, value: Any, said: str) -> None:
    with pytest.raises(InvalidProvenance) as caught:
        read(**{name: value})
    assert said in str(caught.value)


@pytest.mark.parametrize("value", ["emulated", 7, ["live"], {"origin": {"live": True}}, {1: 2}])
def test_provenance_of_any_other_shape_is_an_error(tmp_path: Path, value: Any) -> None:
    path = rewritten(made(tmp_path), lambda content: content["metadata"].update({KEY: value}))
    for way in (lambda: load(path).provenance, lambda: provenance_of(path)):
        with pytest.raises((InvalidProvenance, ValueError)) as caught:
            way()
        assert str(path) in str(caught.value)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidProvenance) as caught:
        read(date="x", wire="y", model=None)
    assert all(word in caught.value.what for word in ("date", "wire", "model"))


def test_an_imported_one_may_lack_what_only_a_recorder_knows() -> None:
    lacking = dict.fromkeys(("model", "surface", "sdk", "sdk_version", "scenario", "scenario_hash", "ran_by"))
    assert read(origin="imported", **lacking).scenario is None
    for origin in ("live", "emulated"):
        with pytest.raises(InvalidProvenance, match="only an imported cassette may lack it"):
            read(origin=origin, **lacking)


def test_a_cassette_without_any_says_how_to_get_it(tmp_path: Path) -> None:
    path = rewritten(made(tmp_path), lambda content: content.pop("metadata"))
    with pytest.raises(InvalidProvenance, match="toolparity record"):
        provenance_of(path)


@pytest.mark.parametrize(
    ("said", "age"), [("2026-01-02", 8), ("2026-01-02T23:00:00-05:00", 7), ("2026-01-12T00:00:00Z", 0)]
)
def test_age_is_counted_in_days_of_utc(said: str, age: int) -> None:
    assert read(date=said).age(date(2026, 1, 10)) == age
