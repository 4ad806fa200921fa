"""The provenance of a cassette is complete, and read before the rest of the file."""

from __future__ import annotations

from collections.abc import Callable
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


def test_provenance_is_read_back_wherever_it_is_in_the_file(tmp_path: Path) -> None:
    path = made(tmp_path, interaction("x" * 200_000), note="of the tests")
    stated = replace(PROVENANCE, note="of the tests", digest=load(path).digest)
    expected = replace(stated, seal=stated.sealing)
    assert load(path).provenance == provenance_of(path) == expected
    with VCR().use_cassette(str(path), record_mode="none") as cassette:
        assert cassette.get_metadata(KEY, None)["origin"] == "emulated"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_bytes())), "utf-8")
    assert path.read_text("utf-8").startswith("interactions:"), "plain vcrpy writes the metadata at the end"
    assert provenance_of(path) == expected
    broken = made(tmp_path, interaction("x" * 200_000))
    broken.write_bytes(broken.read_bytes() + b"\n}: [")
    assert provenance_of(broken).origin == "emulated"


_NEEDED = ["origin", "date", "provider", "wire", "stream", "recorder", "digest"]
_RECORDED = ["model", "surface", "sdk", "sdk_version", "scenario", "ran_by"]


def test_the_provenance_of_a_recorded_cassette_is_complete() -> None:
    for name in (*_NEEDED, *_RECORDED):
        with pytest.raises(InvalidProvenance, match=name) as caught:
            read(**{name: None})
        assert caught.value.where == "somewhere.yaml"
    with pytest.raises(InvalidProvenance) as caught:
        read(date="x", wire="y", model=None)
    assert all(word in caught.value.what for word in ("date", "wire", "model")), "all problems are reported at once"


@pytest.mark.parametrize(
    ("name", "value", "message"),
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
def test_an_invalid_value_is_named(name: str, value: Any, message: str) -> None:
    with pytest.raises(InvalidProvenance) as caught:
        read(**{name: value})
    assert message in str(caught.value)


@pytest.mark.parametrize("value", ["emulated", 7, ["live"], {"origin": {"live": True}}, {1: 2}])
def test_provenance_of_any_other_shape_is_an_error(tmp_path: Path, value: Any) -> None:
    path = rewritten(made(tmp_path), lambda content: content["metadata"].update({KEY: value}))
    ways: list[Callable[[], object]] = [lambda: load(path).provenance, lambda: provenance_of(path)]
    for way in ways:
        with pytest.raises((InvalidProvenance, ValueError)) as caught:
            way()
        assert str(path) in str(caught.value)


def test_an_imported_cassette_may_lack_the_facts_of_the_recorder() -> None:
    lacking = dict.fromkeys(("model", "surface", "sdk", "sdk_version", "scenario", "scenario_hash", "ran_by"))
    assert read(origin="imported", **lacking).scenario is None
    for origin in ("live", "emulated"):
        with pytest.raises(InvalidProvenance, match="only an imported cassette may lack it"):
            read(origin=origin, **lacking)


def test_an_error_about_missing_provenance_names_the_command(tmp_path: Path) -> None:
    path = rewritten(made(tmp_path), lambda content: content.pop("metadata"))
    with pytest.raises(InvalidProvenance, match="toolparity record"):
        provenance_of(path)


@pytest.mark.parametrize(
    ("day", "age"), [("2026-01-02", 8), ("2026-01-02T23:00:00-05:00", 7), ("2026-01-12T00:00:00Z", 0)]
)
def test_age_is_counted_in_days_of_utc(day: str, age: int) -> None:
    assert read(date=day).age(date(2026, 1, 10)) == age
