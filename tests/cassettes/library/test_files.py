"""Cassettes are found by path, and read once, as vcrpy reads them."""

from __future__ import annotations

import builtins
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.cassettes.library.making import interaction, made
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


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every YAML file that is opened from here on."""
    names: list[str] = []
    real = builtins.open

    def noted(file: Any, *args: Any, **more: Any) -> Any:
        if str(file).endswith(".yaml"):
            names.append(str(file))
        return real(file, *args, **more)

    monkeypatch.setattr(builtins, "open", noted)
    monkeypatch.setattr("io.open", noted)
    forget()
    return names


@pytest.mark.parametrize(
    "name", ["../a", "a/b", "a\\b", "/etc/passwd", ".a", "a..b", "a.", "", "A", "a b", "a\0", "a.stream"]
)
def test_a_name_that_leads_out_of_the_library_or_to_another_form_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnreadableCassette, match="is not allowed in a path"):
        file_for("openai", "openai.chat", name, False, tmp_path)
    if name != "a.stream":
        with pytest.raises(UnreadableCassette, match="is not allowed in a path"):
            file_for(name, "openai.chat", "a", False, tmp_path)


def test_written_cassettes_are_found_by_their_path_without_opening_them(tmp_path: Path, opened: list[str]) -> None:
    expected = {}
    for surface in SURFACES.values():
        for stream in (False, True):
            path = made(tmp_path, surface=surface.name, provider=surface.provider, wire=surface.wire, stream=stream)
            expected[path] = (surface.provider, surface.wire, "single-call", stream)
    assert path_for("xai.chat", "single-call", True, tmp_path) == tmp_path.joinpath(
        "xai", "openai.chat", "single-call.stream.yaml"
    )
    (tmp_path / "openai" / ".half.yaml.x.tmp").write_text("{")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "a.yaml").write_text("{")
    opened.clear()
    found = find(tmp_path)
    assert opened == []
    assert {p.path: (p.provider, p.wire, p.name, p.stream) for p in found} == expected
    assert [place.path for place in found] == sorted(expected)


def test_a_file_at_another_place_is_found_without_a_name_and_a_missing_one_an_error(tmp_path: Path) -> None:
    for name in ("a.yaml", "openai/a.yaml", "openai/openai.chat/more/a.yaml", "openai/openai.chat/a.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    assert [place.name for place in find(tmp_path)] == [None] * 4
    assert find(tmp_path / "missing") == []
    for path in (tmp_path / "nothing.yaml", tmp_path, tmp_path / "a\0b"):
        with pytest.raises(UnreadableSource) as caught:
            load(path)
        assert str(path) in str(caught.value)


def test_a_cassette_is_read_only_once(tmp_path: Path, opened: list[str]) -> None:
    path = [made(tmp_path, scenario=f"s{number}") for number in range(5)][3]
    forget()
    opened.clear()
    first = load(path)
    for _ in range(3):
        assert load(os.fspath(path)) is first
        assert provenance_of(path) is first.provenance
        assert len(exchanges(path)) == 1
    assert opened == [os.fspath(path)]


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


def test_the_memory_for_read_cassettes_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    paths = [made(tmp_path, scenario=f"s{number}") for number in range(3)]
    monkeypatch.setattr(files, "KEPT_BYTES", 2 * paths[0].stat().st_size)
    first, *_ = [load(path) for path in paths]
    assert len(files._kept) == 2
    assert load(paths[0]) is not first
    monkeypatch.setattr(files, "KEPT_BYTES", 10)
    large = made(tmp_path, interaction("x" * 9000), scenario="large")
    assert load(large) is load(large), "one that is larger than the limit is kept alone"
    assert list(files._kept) == [os.path.abspath(large)]


def test_using_a_cassette_does_not_change_what_the_next_one_gets_but_replacing_its_file_does(tmp_path: Path) -> None:
    path = made(tmp_path)
    loaded, times = load(path), os.stat(path)
    before = loaded.digest
    assert isinstance(loaded.responses[0]["body"]["string"], bytes)
    assert isinstance(loaded.interactions[0]["response"]["body"]["string"], str)
    del loaded.digest
    assert loaded.digest == before
    made(tmp_path, interaction(question="HELLO?"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert os.stat(path).st_size == times.st_size
    assert load(path) is not loaded
    assert load(path).digest != before


_UNUSUAL = ["1", "null", "~", "yes", "2026-01-02", "1:30", "0x1f", "1e3", "<<", "=", "- a", "!x", "&a", "*a", ""]
_SCALARS: st.SearchStrategy[Any] = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.binary(max_size=40)),
    *(st.text(max_size=40), st.sampled_from(_UNUSUAL)),
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)
_STYLES = st.fixed_dictionaries(
    {
        "default_style": st.sampled_from([None, "'", '"', "|"]),
        "default_flow_style": st.booleans(),
        "allow_unicode": st.booleans(),
    }
)


@given(value=_VALUES.filter(lambda value: "<<" not in str(value)), style=_STYLES)
def test_plain_data_is_read_as_pyyaml_reads_it(value: Any, style: dict[str, Any]) -> None:
    data = yaml.dump(value, Dumper=yaml.CSafeDumper, encoding="utf-8", **style)
    read, expected = safe_yaml.load(data, "here"), yaml.load(data, Loader=yaml.CSafeLoader)
    assert (read, repr(read)) == (expected, repr(expected))


def test_handwritten_yaml_is_read_as_pyyaml_reads_it() -> None:
    for text in (
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
    ):
        assert safe_yaml.load(text.encode(), "here") == yaml.load(text, Loader=yaml.CSafeLoader), text
