"""`toolparity proxy` on the command line: what it refuses, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psutil
import pytest
from click.testing import CliRunner, Result

from tests.audit.proxy.conftest import PATIENCE, Peer, ScriptedUpstream, wait_until
from tests.audit.proxy.test_secrets import COOKIE, KEY, QUERY, answer, ask
from tests.support.programs import interruptible
from toolparity.cassettes.sources import Exchange, read
from toolparity.cli import main

pytestmark = pytest.mark.service("audit/proxy", "audit/cli/proxy.py")

_SIGNALS = pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)], ids=["SIGINT", "SIGTERM"]
)


@contextmanager
def _recording(upstream: str, path: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run the command."""
    addresses = ["--upstream", upstream, "--port", "0", "--page-port", "0", "--record", str(path)]
    with interruptible([sys.executable, "-m", "toolparity", "proxy", *addresses, *options]) as process:
        yield process


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["proxy", *arguments])


def test_addresses_and_recordings_that_cannot_be_used_are_refused_before_it_starts(tmp_path: Path) -> None:
    upstream = ("--upstream", "https://api.openai.com")
    unusable = ("api.openai.com", "ftp://h", "https://", "https://user:pw@h", "https://h?key=1")
    for arguments, message in (
        ((*upstream, "--host", "0.0.0.0"), "--allow-remote"),
        *((("--upstream", url), "--upstream") for url in unusable),
        (("--upstream", "http://localhost:8484/v1", "--port", "8484", "--page-port", "0"), "itself"),
        ((*upstream, "--record", str(tmp_path / "none" / "traffic.jsonl")), ""),
    ):
        result = _run(*arguments)
        assert (result.exit_code, message in result.stderr, "pw" in result.stderr) == (2, True, False), arguments


def test_a_used_port_is_an_error_of_one_line() -> None:
    with ScriptedUpstream(answer) as used:
        port = used.url.rpartition(":")[2]
        result = _run("--upstream", "https://api.openai.com", "--port", port, "--page-port", "0")
    assert (result.exit_code, "cannot listen" in result.stderr, "Traceback" in result.stderr) == (4, True, False)


@_SIGNALS
def test_the_command_prints_no_credential_and_a_signal_completes_its_recording(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    path = tmp_path / "traffic.jsonl"
    with ScriptedUpstream(answer) as upstream, _recording(upstream.url, path, "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        url, page = (process.stderr.readline().split("\t")[0] for _ in range(2))
        with httpx2.stream("GET", f"{page}/events", timeout=PATIENCE) as events:
            pieces = events.iter_bytes()
            next(pieces)
            ask(url)
            line = process.stdout.readline()
            process.send_signal(number)
            rest = b"".join(pieces)  # ends, because the proxy ends the stream
        output, errors = process.communicate(timeout=PATIENCE)
    assert b"event: reset" not in rest
    assert json.loads(line)["status"] == 200
    assert process.returncode == code
    assert "Traceback" not in errors
    for secret in (KEY, COOKIE, QUERY):
        assert secret not in line + output + errors
    assert f"exchanges: 1\n{path}: recorded: 1" in errors
    assert [item.wire for item in read(path) if isinstance(item, Exchange)] == ["openai.chat"]


@pytest.mark.parametrize("drain", [0, 30])
def test_a_stream_may_end_while_the_proxy_stops_and_one_that_is_cut_is_recorded(tmp_path: Path, drain: int) -> None:
    path, end = tmp_path / "traffic.jsonl", threading.Event()

    def slow(peer: Peer) -> None:
        chunk = {"id": "c", "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": None}]}
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        peer.send(f"data: {json.dumps(chunk)}\n\n".encode())
        end.wait(PATIENCE)
        peer.send(b"data: [DONE]\n\n")

    arguments = ("--json", "--drain", str(drain))
    with ScriptedUpstream(slow) as upstream, _recording(upstream.url, path, *arguments) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split("\t")[0] + "/v1/chat/completions"
        request = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
        with httpx2.stream("POST", url, json=request, timeout=PATIENCE) as response:
            pieces = response.iter_bytes()
            received = next(pieces)
            process.send_signal(signal.SIGTERM)
            if drain:
                end.set()
                received += b"".join(pieces)
            output, errors = process.communicate(timeout=PATIENCE)
            end.set()
    assert b"[DONE]" in received or not drain
    assert json.loads(output)["ending"] == ("complete" if drain else "proxy-stopped")
    assert (process.returncode, f"{path}: recorded: 1" in errors, "Traceback" in errors) == (0, True, False)


def test_what_waits_for_the_disk_is_recorded_when_the_proxy_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    with ScriptedUpstream(answer) as upstream, _recording(upstream.url, path) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split("\t")[0]
        (recorder,) = (child for child in psutil.Process(process.pid).children() if "record" in child.cmdline())
        recorder.suspend()  # as in a write that does not return
        for _ in range(6):  # the client has the last answer before the recorder does
            ask(url)
        process.kill()
        process.wait(PATIENCE)
        recorder.resume()
        errors = process.stderr.read()  # until the recorder ends
    found = re.search(r": the proxy was killed; of its exchanges #1 to #([56]): recorded: (\d)", errors)
    assert found is not None, errors
    assert found[1] == found[2] == str(len(path.read_text().splitlines()))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not show which signals are caught")
@_SIGNALS
def test_a_signal_while_the_command_starts_is_a_normal_end(tmp_path: Path, number: signal.Signals, code: int) -> None:
    with _recording("http://127.0.0.1:9", tmp_path / "traffic.jsonl") as process:
        status = Path(f"/proc/{process.pid}/status")
        wait_until(lambda: int(status.read_text().partition("SigCgt:")[2].split()[0], 16) & 1 << signal.SIGTERM - 1 > 0)
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "exchanges: 0" in errors, "Traceback" in errors) == (code, True, False)
