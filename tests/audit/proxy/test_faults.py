"""A fault of the judge, or of what takes its judgements, never touches the traffic."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.audit.proxy.conftest import PATIENCE, Judgements, Peer, Proxied, ScriptedUpstream, proxying, wait_until
from tests.support.traffic import chat_body
from toolparity.audit.proxy.copies import ExchangeCopy
from toolparity.audit.proxy.delivery import Sink
from toolparity.audit.proxy.judge import Judge
from toolparity.audit.proxy.judgement import Judgement, JudgeOptions
from toolparity.audit.proxy.observer import Limits, Observer
from toolparity.audit.proxy.recording import Recorder, RecordOptions

pytestmark = pytest.mark.service("audit/proxy")

_BODY = b'{"id": "r", "object": "chat.completion", "choices": []}'


def _answer(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b" % (len(_BODY), _BODY))


@contextmanager
def _proxy(limits: Limits | None = None, observer: Observer | None = None) -> Iterator[Proxied]:
    """Run a proxy whose judge, unless it is the one of ``observer``, is new and not used again."""
    limits = limits or Limits()
    with ScriptedUpstream(_answer) as upstream, proxying(upstream.url, limits=limits, observer=observer) as proxy:
        yield proxy


def _passes(proxy: Proxied) -> None:
    response = httpx2.post(f"{proxy.url}/v1/chat/completions", json={"model": "m", "messages": []}, timeout=PATIENCE)
    assert (response.status_code, response.content) == (200, _BODY)


def _signal(worker: Any, number: signal.Signals) -> None:
    wait_until(lambda: worker.process_id is not None)
    os.kill(worker.process_id, number)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSTOP"], ids=["killed", "slow"])
def test_a_judge_that_dies_or_takes_too_long_is_replaced(name: str) -> None:
    with _proxy(Limits(seconds=5)) as proxy:
        _passes(proxy)
        proxy.judgements.wait(1)  # it has started
        _signal(proxy.observer.judge, signal.SIGSTOP)
        _passes(proxy)
        _passes(proxy)
        _signal(proxy.observer.judge, signal.Signals[name])
        judgements = proxy.judgements.wait(3)
    assert [judgement.unjudged for judgement in judgements] == [None, "worker-lost", None]
    assert judgements[-1].wire == "openai.chat"


def test_exchanges_beyond_the_queue_pass_without_being_judged() -> None:
    with _proxy(Limits(waiting=1)) as proxy:
        _passes(proxy)
        proxy.judgements.wait(1)
        _signal(proxy.observer.judge, signal.SIGSTOP)
        for _ in range(4):
            _passes(proxy)
        proxy.judgements.wait(3)
        _signal(proxy.observer.judge, signal.SIGCONT)
        judgements = proxy.judgements.wait(5)
        assert proxy.observer.budget.used == 0
    assert [judgement.unjudged for judgement in judgements] == [None, None, None, "queue-full", "queue-full"]


def test_copies_beyond_the_memory_are_given_up() -> None:
    with _proxy(Limits(memory=len(_BODY))) as proxy:
        _passes(proxy)
        (judgement,) = proxy.judgements.wait(1)
        assert proxy.observer.budget.used == 0
    assert judgement.unjudged == "out-of-memory"


def test_a_sink_that_hangs_or_fails_holds_up_nothing() -> None:
    opened, judgements = threading.Event(), Judgements()

    def hangs(judgement: Judgement) -> None:
        assert opened.wait(PATIENCE)

    def fails(judgement: Judgement) -> None:
        raise OSError("no space left on device")

    sinks: list[Sink] = [hangs, fails, judgements]
    with Observer(sinks, limits=Limits(undelivered=2)) as observer, _proxy(observer=observer) as proxy:
        for _ in range(5):
            _passes(proxy)
        wait_until(lambda: observer.lost >= 2)
        opened.set()
        judgements.wait(1)


def test_a_disk_that_hangs_holds_up_neither_the_traffic_nor_the_judge(tmp_path: Path) -> None:
    path, judgements = tmp_path / "traffic.jsonl", Judgements()
    with (
        Observer([judgements], limits=Limits(waiting=2), record=str(path)) as observer,
        _proxy(observer=observer) as proxy,
    ):
        _passes(proxy)
        wait_until(lambda: observer.recorded == {"recorded": 1})
        _signal(observer.recorder, signal.SIGSTOP)  # as in a write that does not return
        for number in range(2, 7):
            _passes(proxy)
            judgements.wait(number)
        wait_until(lambda: observer.recorded.total() == 3)  # one is being written, and two wait
        _signal(observer.recorder, signal.SIGCONT)
        wait_until(lambda: observer.recorded.total() == 6)
        assert observer.budget.used == 0
    assert [judgement.unjudged for judgement in judgements] == [None] * 6
    assert observer.recorded == {"recorded": 4, "queue-full": 2}
    assert len(path.read_text().splitlines()) == 4


@pytest.mark.parametrize("broken", ["_done", "_judged"])
def test_an_error_in_the_observer_does_not_reach_the_client(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def fails(self: Observer, *arguments: object) -> None:
        raise RuntimeError("a fault of the observer")

    monkeypatch.setattr(Observer, broken, fails)
    with _proxy() as proxy:
        _passes(proxy)
        _passes(proxy)


def _copy() -> ExchangeCopy:
    """Return what the observer gives to the processes that judge and record."""
    copy = ExchangeCopy(1, 0.0, "POST", "http://localhost/v1/chat/completions", [], b"{}", 200)
    copy.chunks, copy.ending = [chat_body().encode()], "complete"
    return copy


def test_an_exchange_that_the_judge_fails_on_is_counted() -> None:
    copy = _copy()
    copy.response_headers, copy.chunks = [(b"content-encoding", b"gzip")], [b"\x1f\x8bnot gzip at all"]
    assert Judge(JudgeOptions())(copy).unjudged == "fault"


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
