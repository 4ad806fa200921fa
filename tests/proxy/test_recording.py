"""Recordings: JSON lines and cassettes that toolparity reads again, without secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.proxy.conftest import Judgements, ScriptedUpstream, files_below, proxying, wait_until
from tests.proxy.test_secrets import COOKIE, KEY, QUERY, answer, ask
from toolparity.cassettes.library import find, load
from toolparity.cassettes.sources import Exchange, read
from toolparity.conformance.proxy.copies import ExchangeCopy
from toolparity.conformance.proxy.observer import Observer
from toolparity.conformance.proxy.recording import Recorder, RecordOptions


def _recorded(path: Path, count: int = 1) -> Observer:
    """Send exchanges with planted secrets through a proxy that records them."""
    with (
        Observer(record=str(path)) as observer,
        ScriptedUpstream(answer) as upstream,
        proxying(upstream.url, observer=observer) as proxy,
    ):
        for _ in range(count):
            ask(proxy.url)
        wait_until(lambda: observer.recorded.total() == count)
    return observer


def test_recorded_lines_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    observer = _recorded(path, 2)
    assert observer.recorded == {"recorded": 2}
    exchanges = [item for item in read(path) if isinstance(item, Exchange)]
    assert [(item.wire, item.status, item.stream) for item in exchanges] == [("openai.chat", 200, False)] * 2
    assert exchanges[0].request["messages"][0]["role"] == "tool"


@pytest.mark.parametrize("name", ["traffic.jsonl", "library"])
def test_no_recording_contains_a_planted_secret(tmp_path: Path, name: str) -> None:
    _recorded(tmp_path / name)
    content = files_below(tmp_path)
    assert b"chat.completion" in content
    for secret in (KEY, COOKIE, QUERY):
        assert secret.encode() not in content


def test_recorded_cassettes_form_a_library(tmp_path: Path) -> None:
    _recorded(tmp_path, 2)
    places = find(tmp_path)
    assert [(place.wire, place.stream) for place in places] == [("openai.chat", False)] * 2
    cassette = load(places[0].path)
    assert cassette.provenance.origin == "imported"
    assert cassette.provenance.source == "toolparity proxy"


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
    _recorded(path)
    first, second = path.read_text().splitlines()
    assert first == '{"cut'
    assert json.loads(second)["wire"] == "openai.chat"


def test_responses_of_emulated_providers_do_not_become_cassettes(tmp_path: Path) -> None:
    body = b'{"id": "r", "object": "chat.completion", "choices": [{"index": 0, "message": {"content": "a"}}]}'
    copy = ExchangeCopy(1, 0.0, "POST", "http://localhost/v1/chat/completions", [], b"{}", 200)
    copy.response_headers, copy.chunks, copy.ending = [(b"x-toolparity-origin", b"emulated")], [body], "complete"
    assert Recorder(RecordOptions(str(tmp_path)))(copy) == "emulated"
    assert Recorder(RecordOptions(str(tmp_path / "a.jsonl")))(copy) == "recorded"
