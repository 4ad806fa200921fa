"""The provenance of a cassette is complete, and read before the rest of the file. Its digest covers the values of the
interactions, not their layout in the file."""

from __future__ import annotations

import copy
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace
from vcr import VCR

from tests.cassettes.library.making import LACKING, PROVENANCE, interaction, made, rewritten
from toolparity.cassettes.errors import InvalidProvenance, UnreadableCassette
from toolparity.cassettes.library import KEY, Provenance, digest, load, provenance_of
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


_NEEDED = ("origin", "date", "provider", "wire", "stream", "recorder", "digest")
_RECORDED = ("model", "surface", "sdk", "sdk_version", "scenario", "ran_by")


def test_the_provenance_of_a_recorded_cassette_is_complete_and_an_imported_one_may_lack_a_part(tmp_path: Path) -> None:
    for name in (*_NEEDED, *_RECORDED):
        with pytest.raises(InvalidProvenance, match=name) as caught:
            read(**{name: None})
        assert caught.value.where == "somewhere.yaml"
    with pytest.raises(InvalidProvenance) as caught:
        read(date="x", wire="y", model=None)
    assert all(word in caught.value.what for word in ("date", "wire", "model")), "all problems are reported at once"
    lacking = LACKING | {"model": None}
    assert read(origin="imported", **lacking).scenario is None
    for origin in ("live", "emulated"):
        with pytest.raises(InvalidProvenance, match="only an imported cassette may lack it"):
            read(origin=origin, **lacking)
    path = rewritten(made(tmp_path), lambda content: content.pop("metadata"))
    with pytest.raises(InvalidProvenance, match="toolparity record"):
        provenance_of(path)


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
    with pytest.raises((InvalidProvenance, ValueError), match=str(path)):
        _ = load(path).provenance
    with pytest.raises((InvalidProvenance, ValueError), match=str(path)):
        provenance_of(path)


def test_age_is_counted_in_days_of_utc() -> None:
    for day, age in (("2026-01-02", 8), ("2026-01-02T23:00:00-05:00", 7), ("2026-01-12T00:00:00Z", 0)):
        assert read(date=day).age(date(2026, 1, 10)) == age


def test_the_layout_of_the_yaml_does_not_change_the_digest(tmp_path: Path) -> None:
    path = made(tmp_path, interaction("data: {}\n\ndata: é\r\n\n"), interaction(b"\xff\x00"))
    before = load(path).digest
    content = yaml.safe_load(path.read_bytes())
    styles: list[Any] = [{"sort_keys": True}, {"default_flow_style": True}, {"width": 20}, {"default_style": '"'}]
    for style in styles:
        path.write_bytes(yaml.safe_dump(content, **style, encoding="utf-8"))
        assert load(path).digest == before, style


ONE = interaction()


def changed(*path: str, value: Any) -> list[Any]:
    copied = place = copy.deepcopy(ONE)
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return [copied]


def test_the_digest_covers_every_value_and_its_type_but_not_whether_text_is_bytes() -> None:
    answer = ONE["response"]["body"]["string"]
    headers: list[Any] = [{}, {"content-type": "application/json"}, {"Content-Type": ["application/json"]}]
    others: list[list[Any]] = [
        [],
        [ONE, ONE],
        [{"request": ONE["response"], "response": ONE["request"]}],
        changed("request", "method", value="GET"),
        changed("request", "uri", value="https://elsewhere.example/"),
        *(changed("request", "body", value=value) for value in (None, "")),
        *(changed("request", "headers", value=value) for value in headers),
        *(changed("response", "status", "code", value=code) for code in (201, "200", 200.0)),
        changed("response", "body", "string", value=answer + " "),
        changed("response", "grpc", value={"code": "OK"}),
    ]
    digests = [digest(one) for one in ([ONE], *others)]
    assert len(set(digests)) == len(digests)
    assert digest(changed("response", "body", "string", value=answer.encode())) == digest([ONE])
    borders: list[Any] = [(["ab", "c"], ["a", "bc"]), ([["a"], "b"], [["a", "b"]]), ([True], [1])]
    for one, other in [*borders, ([{"when": date(2026, 1, 1)}], [{"when": "2026-01-01"}])]:
        assert digest(one) != digest(other), one
    with pytest.raises(UnreadableCassette, match="a set is not plain data"):
        digest([{1, 2}])


def test_the_digest_does_not_change_from_release_to_release() -> None:
    fixed = [{"request": {"uri": "u", "body": None}, "response": {"n": 1, "b": b"\xff", "l": [True, 1.5]}}]
    assert digest(fixed) == "sha256:978f5c93c3f7747bf67f7c58ff3e44ee43c9289d2d077c0385319a619adf29cf"
