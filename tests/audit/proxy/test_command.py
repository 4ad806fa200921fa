"""`toolparity proxy` on the command line: what it refuses, and how it ends."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner, Result

from tests.audit.proxy.conftest import PATIENCE, ScriptedUpstream
from tests.audit.proxy.test_secrets import COOKIE, KEY, QUERY, answer, ask
from tests.support.programs import interruptible
from toolparity.cassettes.sources import Exchange, read
from toolparity.cli import main

pytestmark = pytest.mark.service("audit/proxy", "audit/cli/proxy.py")


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
    assert result.exit_code == 4
    assert "cannot listen" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_command_prints_no_credential_and_an_interrupt_completes_its_recording(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    with ScriptedUpstream(answer) as upstream:
        addresses = ["--upstream", upstream.url, "--port", "0", "--page-port", "0"]
        command = [sys.executable, "-m", "toolparity", "proxy", *addresses, "--json", "--record", str(path)]
        with interruptible(command) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            url, page = (process.stderr.readline().split("\t")[0] for _ in range(2))
            with httpx2.stream("GET", f"{page}/events", timeout=PATIENCE) as events:
                pieces = events.iter_bytes()
                next(pieces)
                ask(url)
                line = process.stdout.readline()
                process.send_signal(signal.SIGINT)
                rest = b"".join(pieces)  # ends, because the proxy ends the stream
            output, errors = process.communicate(timeout=PATIENCE)
    assert b"event: reset" not in rest
    assert json.loads(line)["status"] == 200
    assert process.returncode in (0, 130)
    assert "Traceback" not in errors
    for secret in (KEY, COOKIE, QUERY):
        assert secret not in line + output + errors
    assert f"{path}: recorded: 1" in errors
    assert [item.wire for item in read(path) if isinstance(item, Exchange)] == ["openai.chat"]
