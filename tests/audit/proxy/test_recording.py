"""Recordings: JSON lines and cassettes that toolparity reads again, without secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.audit.proxy.conftest import Judgements, ScriptedUpstream, files_below, proxying, wait_until
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


def test_recorded_lines_are_read_again(recordings: dict[str, Path]) -> None:
    exchanges = [item for item in read(recordings["lines"]) if isinstance(item, Exchange)]
    assert [(item.wire, item.status, item.stream) for item in exchanges] == [("openai.chat", 200, False)] * 2
    assert exchanges[0].request["messages"][0]["role"] == "tool"


@pytest.mark.parametrize("form", ["lines", "library"])
def test_no_recording_contains_a_planted_secret(recordings: dict[str, Path], form: str) -> None:
    path = recordings[form]
    content = files_below(path) if path.is_dir() else path.read_bytes()
    assert b"chat.completion" in content
    for secret in (KEY, COOKIE, QUERY):
        assert secret.encode() not in content


def test_recorded_cassettes_form_a_library(recordings: dict[str, Path]) -> None:
    places = find(recordings["library"])
    assert [(place.wire, place.stream) for place in places] == [("openai.chat", False)] * 2
    cassette = load(places[0].path)
    assert cassette.provenance.origin == "imported"
    assert cassette.provenance.source == "toolparity proxy"


def test_a_disk_that_refuses_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert Recorder(RecordOptions(str(tmp_path / "file" / "traffic.jsonl")))(_copy()) == "not-written"


@pytest.mark.thorough
def test_a_disk_that_refuses_is_counted_and_nothing_else_happens(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    judgements = Judgements()
    with (
        Observer([judgements], record=str(blocked / "traffic.jsonl")) as observer,
        ScriptedUpstream(answer) as upstream,
        proxying(upstream.url, observer=observer) as proxy,
    ):
        ask(proxy.url)
        judgements.wait(1)
        wait_until(lambda: observer.recorded == {"not-written": 1})
        assert observer.budget.used == 0


def test_a_line_after_one_that_was_cut_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    path.write_text('{"cut')
    assert Recorder(RecordOptions(str(path)))(_copy()) == "recorded"
    first, second = path.read_text().splitlines()
    assert first == '{"cut'
    assert json.loads(second)["wire"] == "openai.chat"


def test_responses_of_emulated_providers_do_not_become_cassettes(tmp_path: Path) -> None:
    copy = _copy()
    copy.response_headers = [(b"x-toolparity-origin", b"emulated")]
    assert Recorder(RecordOptions(str(tmp_path)))(copy) == "emulated"
    assert Recorder(RecordOptions(str(tmp_path / "a.jsonl")))(copy) == "recorded"
