"""A demo that is killed in the middle of a turn: the turn is resumed, and no call is run twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.conformance.demo.conftest import Reached
from tests.reports.browser import axe_findings, watched

pytestmark = pytest.mark.service("conformance/demo")

#: The error that the browser reports while the server is down.
_LOST = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET")


#: Milliseconds: longer than a new server takes on a machine that is busy with other things.
_PATIENCE = 120_000


@contextmanager
def started(log: Path, tool_seconds: float, port: int = 0) -> Iterator[tuple[Reached, int]]:
    """Start the command, and yield its demo and its process id."""
    command = [sys.executable, "-m", "toolparity", "demo", "--port", str(port), "--log", str(log)]
    command += ["--tool-seconds", str(tool_seconds), "--piece-seconds", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Reached(process.stdout.readline().strip(), log), process.pid
        finally:
            process.kill()


def server_process(demo: Reached) -> int:
    return int(json.loads(demo.asks("GET", "/choices")[2])["process"])


def expect_no_call_twice(events: list[dict[str, Any]], calls: int) -> None:
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert [event["type"] for event in events].count("turn_started") == 2
    ran = [event["call_id"] for event in events if event["type"] == "call_started"]
    assert len(ran) == len(set(ran))
    how = [event["how"] for event in events if event["type"] == "call_finished"]
    assert len(how) == calls
    assert "unknown_outcome" in how


@pytest.mark.thorough
def test_the_server_ends_with_the_command(tmp_path: Path) -> None:
    with started(tmp_path / "turns.db", 0) as (demo, pid):
        server = server_process(demo)
        assert server != pid
        os.kill(pid, signal.SIGTERM)
    while Path(f"/proc/{server}").exists():
        time.sleep(0.05)


@pytest.mark.page("conformance/demo")
@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("way", ["button", "signal", "restart"])
def test_the_page_recovers_by_itself_from_a_killed_server(browser: Browser, tmp_path: Path, way: str) -> None:
    """The button and the signal kill the serving process, which has a successor. The restart is one by hand."""
    log = tmp_path / "turns.db"
    with (
        started(log, 2) as (demo, pid),
        watched(browser, demo.address, ignored=lambda text: any(lost in text for lost in _LOST)) as opens,
    ):
        server = server_process(demo)
        page = opens(demo.address + "#killed-server")
        calls, state = page.locator(".call"), page.locator(".lane .state")
        expect(calls.nth(0).locator(".outcome")).to_have_text("returned", timeout=_PATIENCE)
        expect(calls.nth(1).locator(".outcome")).to_have_text("running")
        if way == "button":
            page.get_by_role("button", name="Kill the server").click()
        else:
            os.kill(pid if way == "restart" else server, signal.SIGKILL)
        expect(state).to_contain_text("The server is gone.")
        if way == "restart":
            with started(log, 0, urlsplit(demo.address).port or 0) as (again, _):
                events = _recovered(page, again)
        else:
            events = _recovered(page, demo)
            assert axe_findings(page) == []
            assert server_process(demo) != server
    expect_no_call_twice(events, 3)
    how = [event["how"] for event in events if event["type"] == "call_finished"]
    assert how == ["returned", "unknown_outcome", "returned"]


def _recovered(page: Any, demo: Reached) -> list[dict[str, Any]]:
    """Waits for the end of the turn that the page shows, checks what it shows, and returns the events."""
    expect(page.locator(".lane .state")).to_have_text("ended: natural completion", timeout=_PATIENCE)
    expect(page.locator(".call .outcome")).to_have_text(["returned", "outcome unknown, not repeated", "returned"])
    expect(page.locator(".summary")).to_have_text("3 of 3 calls started, 1 interrupted, none is dropped.")
    expect(page.locator(".resumed")).to_have_count(1)
    expect(page.locator(".said").last).to_contain_text("Sent: Ana, Cleo. The reminder for Ben was interrupted.")
    expect(page.locator(".timeline li.gone")).not_to_have_count(0)
    turn = page.evaluate("location.hash").split("/")[1]
    events = demo.events(turn)
    shown = page.locator("#events li").evaluate_all("lines => lines.map(line => Number(line.dataset.seq))")
    assert shown == [event["seq"] for event in events]
    return events
