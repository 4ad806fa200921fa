"""A released agent framework behind the proxy: the calls that its loop drops are on the page and in the log."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, expect

from tests.audit.proxy.conftest import Judgements, proxying
from tests.reports.browser import browser
from toolparity.audit.proxy.feed import Feed
from toolparity.audit.proxy.lines import TextLines
from toolparity.audit.proxy.metrics import Metrics
from toolparity.audit.proxy.observer import Observer
from toolparity.audit.proxy.page import application
from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.scripts import Script, scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.subjects.environments import cache

__all__ = ["browser"]

#: The last release before crewAI answered all calls of a response.
_REQUIREMENT = "crewai==1.9.3"
_QUESTION = scripts()["parallel-three"].ask
#: How it puts a task to the model.
_PROMPT = (
    "\nCurrent Task: {}\n\nThis is the expected criteria for your final answer: advice\n"
    "you MUST return the actual complete content as the final answer, not a summary."
)
#: How long the agent may take, in seconds. The import of the framework alone takes about ten.
_AGENT_SECONDS = 180.0


@pytest.fixture
def crewai() -> Path:
    """The Python of crewAI's environment."""
    folder = cache() / "agents" / _REQUIREMENT
    python = folder / "bin" / "python"
    if not python.exists():
        pytest.skip(f"crewAI is not installed: python -m venv {folder} && {python} -m pip install {_REQUIREMENT}")
    return python


def _script() -> Script:
    """Return the script of three calls in one response, for the words in which crewAI asks."""
    script = scripts()["parallel-three"]
    first, *later = script.rounds
    return replace(script, rounds=[replace(first, ask=_PROMPT.format(first.ask)), *later])


@pytest.mark.page("audit/proxy")
@pytest.mark.thorough(keep=1)
def test_calls_that_crewai_drops_are_on_the_page_and_in_the_log(crewai: Path, browser: Browser, tmp_path: Path) -> None:
    feed, metrics, judgements, lines = Feed(), Metrics(), Judgements(), list[str]()
    script = _script()
    with (
        running({script.id: script}) as providers,
        Observer([feed, metrics, TextLines(lines.append), judgements]) as observer,
        proxying(providers.http_url, observer=observer, page=application(feed, metrics), on_stop=feed.close) as proxy,
        browser.new_context() as context,
    ):
        page = context.new_page()
        page.goto(proxy.page_url)
        command = [str(crewai), str(Path(__file__).with_name("crewai_agent.py"))]
        command += [proxy.url + SURFACES["openai.chat"].base_path, _QUESTION]
        environment = {**os.environ, "HOME": str(tmp_path)}
        subprocess.run(command, env=environment, timeout=_AGENT_SECONDS, capture_output=True, check=False)
        first, second, *_ = judgements.wait(2)
        expect(page.locator(".subject")).to_have_count(2)
        dropped = [finding for finding in second.findings if finding.code == "dropped-in-fact"]
        marked = page.locator(".subject").all_inner_texts()
    assert [call.name for call in first.calls] == ["get_weather", "get_weather", "list_events"]
    assert [(finding.exchange, finding.call_id) for finding in dropped] == [(1, call.id) for call in first.calls[1:]]
    assert ["Porto" in marked[0], "list_events" in marked[1]] == [True, True]
    assert sum("error: dropped-in-fact" in line for line in lines) == 2
