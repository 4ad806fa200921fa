"""Recordings: JSON lines and cassettes that toolparity reads again, without secrets."""

from __future__ import annotations

import errno
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.audit.proxy.conftest import ScriptedUpstream, files_below, proxying, wait_until
from tests.audit.proxy.test_secrets import COOKIE, KEY, QUERY, answer, ask
from toolparity.audit.proxy.copies import ExchangeCopy
from toolparity.audit.proxy.observer import Observer
from toolparity.audit.proxy.recording import Recorder, RecordOptions
from toolparity.cassettes.library import find, load
from toolparity.cassettes.sources import Exchange, read


class _KeepingObserver(Observer):
    """Keeps the copies that it has recorded."""

    def __init__(self, path: Path) -> None:
        self.copies: list[ExchangeCopy] = []
        super().__init__(record=str(path))

    def _record(self, held: Any) -> None:
        self.copies.append(held.copy)
        super()._record(held)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two exchanges, as lines and as cassettes."""
    folder = tmp_path_factory.mktemp("recordings")
    paths = {"lines": folder / "traffic.jsonl", "library": folder / "library"}
    paths["library"].mkdir()
    with (
        _KeepingObserver(paths["lines"]) as observer,
        ScriptedUpstream(answer) as upstream,
        proxying(upstream.url, observer=observer) as proxy,
    ):
        for _ in range(2):
            ask(proxy.url)  # with planted secrets
        wait_until(lambda: observer.recorded.total() == 2)
    assert observer.recorded == {"recorded": 2}
    # what the other process does
    record = Recorder(RecordOptions(str(paths["library"])))
    assert [record(copy) for copy in observer.copies] == ["recorded", "recorded"]
    return paths


def _copy() -> ExchangeCopy:
    """Return what the observer gives to the process that records."""
    body = b'{"id": "r", "object": "chat.completion", "choices": [{"index": 0, "message": {"content": "a"}}]}'
    copy = ExchangeCopy(1, 0.0, "POST", "http://localhost/v1/chat/completions", [], b"{}", 200)
    copy.chunks, copy.ending = [body], "complete"
    return copy


def test_recorded_lines_and_cassettes_are_read_again_and_contain_no_planted_secret(recordings: dict[str, Path]) -> None:
    exchanges = [item for item in read(recordings["lines"]) if isinstance(item, Exchange)]
    assert [(item.wire, item.status, item.stream) for item in exchanges] == [("openai.chat", 200, False)] * 2
    assert exchanges[0].request["messages"][0]["role"] == "tool"
    places = find(recordings["library"])
    assert [(place.wire, place.stream) for place in places] == [("openai.chat", False)] * 2
    provenance = load(places[0].path).provenance
    assert (provenance.origin, provenance.source) == ("imported", "toolparity proxy")
    for content in (recordings["lines"].read_bytes(), files_below(recordings["library"])):
        assert b"chat.completion" in content
        assert [secret for secret in (KEY, COOKIE, QUERY) if secret.encode() in content] == []


def test_an_exchange_that_cannot_or_must_not_be_recorded_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert Recorder(RecordOptions(str(tmp_path / "file" / "traffic.jsonl")))(_copy()) == "not-written"
    copy = _copy()
    copy.response_headers = [(b"x-toolparity-origin", b"emulated")]
    assert Recorder(RecordOptions(str(tmp_path)))(copy) == "emulated", "a cassette is not made of it"
    assert Recorder(RecordOptions(str(tmp_path / "a.jsonl")))(copy) == "recorded"


def test_a_cut_line_does_not_damage_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    path.write_text('{"cut')
    assert Recorder(RecordOptions(str(path)))(_copy()) == "recorded"
    first, second = path.read_text().splitlines()
    assert (first, json.loads(second)["wire"]) == ('{"cut', "openai.chat")


def test_a_line_that_a_full_disk_took_in_part_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "traffic.jsonl"
    assert Recorder(RecordOptions(str(path)))(_copy()) == "recorded"
    before = path.read_bytes()

    class FullDisk(io.FileIO):
        def write(self, data: Any) -> int:
            if os.fstat(self.fileno()).st_size > len(before):
                raise OSError(errno.ENOSPC, "no space left on device")
            return super().write(data[: len(data) // 2])

    monkeypatch.setattr(os, "fdopen", lambda descriptor, *mode, **options: FullDisk(descriptor, "r+b"))
    assert Recorder(RecordOptions(str(path)))(_copy()) == "not-written"
    assert path.read_bytes() == before
