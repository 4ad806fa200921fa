"""No credential of the traffic reaches a log, a metric, a judgement or a recording, which is read again."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.audit.proxy.conftest import PATIENCE, Judgements, Peer, ScriptedUpstream, proxying, wait_until
from toolparity.audit.proxy.copies import ExchangeCopy
from toolparity.audit.proxy.lines import JsonLines, TextLines
from toolparity.audit.proxy.metrics import Metrics
from toolparity.audit.proxy.observer import Observer
from toolparity.audit.proxy.recording import Recorder, RecordOptions
from toolparity.cassettes.library import find, load
from toolparity.cassettes.sources import Exchange, read

#: Keys of forms that no pattern knows: only the header shows that they are secret.
KEY = "zq7Wm2Kx9Tn4Rb8Vc3Lp"
COOKIE = "hG5sYt1Qw8Zx3Nv6Bm0K"
QUERY = "uJ4eDf7Ga2Sh9Lk1Xc5V"


def answer(peer: Peer) -> None:
    """Repeat the credentials wherever a provider might."""
    function = {"name": f"tool_{COOKIE}", "arguments": json.dumps({"key": KEY, "query": QUERY})[:-1]}
    call = {"id": f"call_{KEY}", "type": "function", "function": function}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": KEY, "message": message}
    response = {"id": f"r-{KEY}", "object": "chat.completion", "model": f"m-{QUERY}", "choices": [choice]}
    body = json.dumps(response).encode()
    head = f"HTTP/1.1 200 OK\r\nset-cookie: session={COOKIE}\r\ncontent-type: application/json\r\n"
    peer.send(head.encode() + b"connection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))


def ask(url: str) -> None:
    httpx2.post(
        f"{url}/v1/chat/completions?api_key={QUERY}",
        json={"model": f"m-{KEY}", "messages": [{"role": "tool", "tool_call_id": KEY, "content": KEY}]},
        headers={"authorization": f"Bearer {KEY}", "x-api-key": KEY},
        timeout=PATIENCE,
    )


class _KeepingObserver(Observer):
    """Keeps the copies that it has recorded."""

    def __init__(self, judgements: Judgements, path: Path) -> None:
        self.copies: list[ExchangeCopy] = []
        super().__init__([judgements], record=str(path))

    def _record(self, held: Any) -> None:
        self.copies.append(held.copy)
        super()._record(held)


def test_no_line_metric_log_message_or_recording_contains_a_credential(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    lines, metrics, judgements = list[str](), Metrics(), Judgements()
    path, library = tmp_path / "traffic.jsonl", tmp_path / "library"
    library.mkdir()
    observer = _KeepingObserver(judgements, path)
    with (
        observer,
        ScriptedUpstream(answer) as upstream,
        proxying(upstream.url, observer=observer) as proxy,
    ):
        for _ in range(2):
            ask(proxy.url)
        judgement, _ = judgements.wait(2)
        wait_until(lambda: observer.recorded == {"recorded": 2})
    record = Recorder(RecordOptions(str(library)))  # what the other process does
    assert [record(copy) for copy in observer.copies] == ["recorded", "recorded"]
    for sink in (TextLines(lines.append), JsonLines(lines.append), metrics):
        sink(judgement)
    client = ("httpx2", "httpcore2")  # which logs its own request, in this process
    messages = [record.getMessage() for record in caplog.records if not record.name.startswith(client)]
    cassettes = "\n".join(place.path.read_text() for place in find(library))
    for written in ("\n".join([*lines, metrics.text(), *messages]), path.read_text(), cassettes):
        assert "arguments" in written
        assert [secret for secret in (KEY, COOKIE, QUERY) if secret in written] == []
    first, second = (item for item in read(path) if isinstance(item, Exchange))
    assert [(item.wire, item.status, item.stream) for item in (first, second)] == [("openai.chat", 200, False)] * 2
    assert first.request["messages"][0]["role"] == "tool"
    places = find(library)
    assert [(place.wire, place.stream) for place in places] == [("openai.chat", False)] * 2
    provenance = load(places[0].path).provenance
    assert (provenance.origin, provenance.source) == ("imported", "toolparity proxy")
