"""No credential of the traffic reaches a log, a metric or a judgement."""

from __future__ import annotations

import json
import logging

import httpx2
import pytest

from tests.audit.proxy.conftest import PATIENCE, Judgements, Peer, ScriptedUpstream, proxying
from toolparity.audit.proxy.lines import JsonLines, TextLines
from toolparity.audit.proxy.metrics import Metrics

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


def test_no_line_metric_or_log_message_contains_a_credential(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    lines: list[str] = []
    metrics, judgements = Metrics(), Judgements()
    with ScriptedUpstream(answer) as upstream, proxying(upstream.url, judgements=judgements) as proxy:
        ask(proxy.url)
        (judgement,) = judgements.wait(1)
    for sink in (TextLines(lines.append), JsonLines(lines.append), metrics):
        sink(judgement)
    written = "\n".join([*lines, metrics.text(), *(record.getMessage() for record in caplog.records if _ours(record))])
    assert "invalid-arguments" in written or "arguments" in written
    for secret in (KEY, COOKIE, QUERY):
        assert secret not in written


def _ours(record: logging.LogRecord) -> bool:
    """Leave out what the client of this test logs about its own request, in this process."""
    return not record.name.startswith(("httpx2", "httpcore2"))
