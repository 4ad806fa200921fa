"""Finding and reading cassettes: by path, each file once, as vcrpy reads it."""

from __future__ import annotations

import builtins
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from vcr.persisters.filesystem import FilesystemPersister
from vcr.serializers import yamlserializer

from tests.cassettes.library.making import interaction, made
from tests.support.thoroughness import sampled
from tests.support.traffic import chat_body
from toolparity.cassettes.errors import UnreadableCassette, UnreadableSource
from toolparity.cassettes.library import (
    exchanges,
    file_for,
    files,
    find,
    forget,
    load,
    path_for,
    provenance_of,
    safe_yaml,
)
from toolparity.cassettes.surfaces import SURFACES

EXAMPLES = sorted((Path(__file__).parents[3] / "cassettes" / "examples").glob("*.yaml"))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every file that is opened from here on."""
    names: list[str] = []
    real = builtins.open

    def noted(file: Any, *args: Any, **more: Any) -> Any:
        names.append(os.fspath(file) if not isinstance(file, int) else str(file))
        return real(file, *args, **more)

    monkeypatch.setattr(builtins, "open", noted)
    monkeypatch.setattr("io.open", noted)
    forget()
    return names


# Where they are


def test_every_surface_has_a_place_of_its_own(tmp_path: Path) -> None:
    paths = {path_for(surface, "single-call", stream, tmp_path) for surface in SURFACES.values() for stream in (0, 1)}
    assert len(paths) == 2 * len(SURFACES)
    assert path_for("xai.chat", "single-call", True, tmp_path) == tmp_path.joinpath(
        "xai", "openai.chat", "single-call.stream.yaml"
    )


def test_the_shipped_library_is_in_the_package() -> None:
    assert path_for("xai.grpc", "a", False).is_relative_to(files.RECORDED)
    assert files.RECORDED.parent.name == "cassettes"


@pytest.mark.parametrize("name", ["../a", "a/b", "a\\b", "/etc/passwd", ".a", "a..b", "a.", "", "A", "a b", "a\0"])
def test_no_name_leads_out_of_the_library(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnreadableCassette, match="is not allowed in a path"):
        file_for("openai", "openai.chat", name, False, tmp_path)
    with pytest.raises(UnreadableCassette, match="is not allowed in a path"):
        file_for(name, "openai.chat", "a", False, tmp_path)


def test_what_is_written_by_path_is_found_by_path(tmp_path: Path) -> None:
    for surface in SURFACES.values():
        for stream in (False, True):
            made(tmp_path, surface=surface.name, provider=surface.provider, wire=surface.wire, stream=stream)
    (tmp_path / "openai" / ".half.yaml.x.tmp").write_text("{")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "a.yaml").write_text("{")
    found = find(tmp_path)
    assert [place.path for place in found] == sorted(place.path for place in found)
    assert {(p.provider, p.wire, p.name, p.stream) for p in found} == {
        (s.provider, s.wire, "single-call", stream) for s in SURFACES.values() for stream in (False, True)
    }
    assert all(
        path_for(f"{p.provider}.{p.wire}".replace("openai.openai", "openai"), p.name or "", p.stream, tmp_path)
        == p.path
        for p in found
        if p.provider == "openai"
    )


def test_what_stands_at_no_place_of_a_cassette_is_found_and_says_so(tmp_path: Path) -> None:
    for name in ("a.yaml", "openai/a.yaml", "openai/openai.chat/more/a.yaml", "openai/openai.chat/a.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    assert [place.name for place in find(tmp_path)] == [None] * 4


def test_a_library_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert find(tmp_path / "nowhere") == []


def test_no_scenario_is_called_as_the_streamed_form_of_another(tmp_path: Path) -> None:
    with pytest.raises(UnreadableCassette, match="is not allowed in a path"):
        path_for("openai.chat", "a.stream", False, tmp_path)


# What is opened


def test_listing_opens_nothing(tmp_path: Path, opened: list[str]) -> None:
    for number in range(5):
        made(tmp_path, scenario=f"s{number}")
    opened.clear()
    assert len(find(tmp_path)) == 5
    assert opened == []


def test_a_run_that_needs_one_cassette_reads_one_and_only_once(tmp_path: Path, opened: list[str]) -> None:
    paths = [made(tmp_path, scenario=f"s{number}") for number in range(5)]
    forget()
    opened.clear()
    path = path_for("openai.chat", "s3", False, tmp_path)
    first = load(path)
    for _ in range(3):
        assert load(os.fspath(path)) is first
        assert provenance_of(path) is first.provenance
        assert len(exchanges(path)) == 1
    assert opened == [os.fspath(path)]
    assert path in paths


def test_provenance_of_a_large_cassette_reads_its_beginning_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path, interaction("x" * 3_000_000))
    forget()
    read = 0
    real = safe_yaml._Nameless.read

    def counted(self: Any, size: int = -1) -> bytes:
        nonlocal read
        data: bytes = real(self, size)
        read += len(data)
        return data

    monkeypatch.setattr(safe_yaml._Nameless, "read", counted)
    assert provenance_of(path).origin == "emulated"
    assert 0 < read < 100_000


def test_a_file_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    path = made(tmp_path)
    first = load(path)
    times = os.stat(path)
    made(tmp_path, interaction(question="HELLO?"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert os.stat(path).st_size == times.st_size
    assert load(path) is not first
    assert load(path).digest != first.digest


def test_only_so_many_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    paths = [made(tmp_path, scenario=f"s{number}") for number in range(3)]
    monkeypatch.setattr(files, "KEPT_BYTES", 2 * paths[0].stat().st_size)
    first = load(paths[0])
    load(paths[1])
    load(paths[2])
    assert len(files._kept) == 2
    assert load(paths[0]) is not first


def test_one_that_is_larger_than_all_that_is_kept_is_kept_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "KEPT_BYTES", 10)
    forget()
    small, large = made(tmp_path), made(tmp_path, interaction("x" * 9000), scenario="large")
    load(small)
    assert load(large) is load(large)
    assert list(files._kept) == [os.path.abspath(large)]


def test_a_second_pass_over_the_shipped_library_parses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = 0
    real = safe_yaml.load

    def counted(data: bytes, where: str) -> Any:
        nonlocal parsed
        parsed += 1
        return real(data, where)

    monkeypatch.setattr(safe_yaml, "load", counted)
    forget()
    shipped = find()
    assert len(shipped) > 700
    assert sum(place.path.stat().st_size for place in shipped) < files.KEPT_BYTES / 4
    places = sampled(shipped, 60)
    for _ in range(2):
        for place in places:
            load(place.path)
    assert parsed == len(places)
    forget()


def test_there_is_no_such_cassette(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.yaml", tmp_path, tmp_path / "a\0b"):
        with pytest.raises(UnreadableSource) as caught:
            load(path)
        assert str(path) in str(caught.value)


# What is read


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_requests_and_responses_are_those_of_vcrpy(path: Path) -> None:
    requests, responses, *_ = FilesystemPersister.load_cassette(path, yamlserializer)
    loaded = load(path)
    assert [one._to_dict() for one in loaded.requests] == [one._to_dict() for one in requests]
    assert loaded.responses == responses
    assert all(isinstance(one["body"]["string"], bytes) for one in loaded.responses)


def test_using_a_cassette_does_not_change_what_the_next_one_gets(tmp_path: Path) -> None:
    loaded = load(made(tmp_path))
    before = loaded.digest
    assert isinstance(loaded.responses[0]["body"]["string"], bytes)
    assert isinstance(loaded.interactions[0]["response"]["body"]["string"], str)
    del loaded.digest
    assert loaded.digest == before


def test_exchanges_are_what_every_reader_of_cassettes_makes_of_it(tmp_path: Path) -> None:
    path = made(tmp_path, interaction(), interaction(status=429))
    one, other = exchanges(path)
    assert (one.wire, one.provider, one.status, one.source) == ("openai.chat", "openai", 200, f"{path}#1")
    assert one.body == chat_body("get_weather").encode()
    assert (other.status, other.source) == (429, f"{path}#2")


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.binary(max_size=40)
    | st.text(max_size=40)
    | st.sampled_from(
        ["1", "null", "~", "yes", "2026-01-02", "1:30", "0x1f", "1e3", "<<", "=", "- a", "!x", "&a", "*a", ""]
    )
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)


@given(
    value=_VALUES.filter(lambda value: "<<" not in str(value)),
    style=st.sampled_from([None, "'", '"', "|"]),
    flow=st.booleans(),
    wide=st.booleans(),
)
def test_plain_data_is_read_as_pyyaml_reads_it(value: Any, style: str | None, flow: bool, wide: bool) -> None:
    data = yaml.dump(
        value,
        Dumper=yaml.CSafeDumper,
        default_style=style,
        default_flow_style=flow,
        allow_unicode=wide,
        encoding="utf-8",
    )
    read = safe_yaml.load(data, "here")
    assert read == yaml.load(data, Loader=yaml.CSafeLoader)
    assert repr(read) == repr(yaml.load(data, Loader=yaml.CSafeLoader))


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb: [2, {c: null}]",
        "- &x {a: 1}\n- *x",
        "&x a: *x",
        "1",
        "''",
        "- 0o17\n- 017\n- +1\n- .5\n- .inf\n- 1_000",
        "2026-01-02 03:04:05",
        "- !!str 1\n- !!int '7'\n- !!binary aGk=\n- ! 12",
        "? a\n: b",
        "%YAML 1.1\n---\na: b\n...\n",
    ],
)
def test_what_people_write_is_read_as_pyyaml_reads_it(text: str) -> None:
    assert safe_yaml.load(text.encode(), "here") == yaml.load(text, Loader=yaml.CSafeLoader)
