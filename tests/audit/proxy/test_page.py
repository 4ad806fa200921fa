"""The page shows conversations as they happen, with what was dropped, and asks for nothing but itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect

from tests.audit.proxy.conftest import PATIENCE, Judgements, Peer, Proxied, ScriptedUpstream, proxying
from tests.reports.browser import SCHEMES, SIZES, axe_findings, browser, photograph
from tests.support.traffic import chat_body
from toolparity.audit.proxy.delivery import Sink
from toolparity.audit.proxy.feed import Feed
from toolparity.audit.proxy.lines import TextLines
from toolparity.audit.proxy.metrics import Metrics
from toolparity.audit.proxy.observer import Observer
from toolparity.audit.proxy.page import application
from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.subjects.environments import cache
from toolparity.normalizer import json_codec

__all__ = ["browser"]

_QUESTION = {"role": "user", "content": "What is the weather in <b>Lisbon</b> and Porto?"}


def _answer(peer: Peer) -> None:
    messages = json_codec.decode(peer.body)["messages"]
    data = (chat_body("look", "act") if len(messages) == 1 else chat_body(id="chatcmpl-2")).encode()
    data = data.replace(b"call_", b"call_a4Kd9Xw2_")
    peer.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n")
    peer.send(b"content-length: %d\r\n\r\n%b" % (len(data), data))


@contextmanager
def _with_page(upstream: str, *sinks: Sink) -> Iterator[Proxied]:
    feed, metrics = Feed(), Metrics()
    with (
        Observer([feed, metrics, *sinks]) as observer,
        proxying(upstream, observer=observer, page=application(feed, metrics), on_stop=feed.close) as proxy,
    ):
        yield proxy


@pytest.fixture
def proxied() -> Iterator[Proxied]:
    with ScriptedUpstream(_answer) as upstream, _with_page(upstream.url) as proxy:
        yield proxy


def _ask(proxy: Proxied, *more: Any) -> None:
    body = {"model": "m", "messages": [_QUESTION, *more]}
    httpx2.post(f"{proxy.url}/v1/chat/completions", json=body, timeout=PATIENCE).raise_for_status()


def _drop(proxy: Proxied) -> None:
    """Answer one of two calls."""
    call = {"id": "call_a4Kd9Xw2_0", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    kept = {"role": "assistant", "content": None, "tool_calls": [call]}
    _ask(proxy, kept, {"role": "tool", "tool_call_id": call["id"], "content": "sunny"})


Opens = Callable[..., Page]


@pytest.fixture
def opens(browser: Browser, proxied: Proxied) -> Iterator[Opens]:
    problems, contexts = list[str](), []
    own = (proxied.page_url, "data:")

    def open(size: str = "desktop", scheme: Literal["light", "dark"] = "light") -> Page:
        width, height = SIZES[size]
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda sent: None if sent.url.startswith(own) else problems.append(sent.url))
        page.goto(proxied.page_url)
        expect(page.locator("#connection")).to_have_text("connected")
        return page

    yield open
    for context in contexts:
        context.close()
    assert problems == []


@pytest.mark.page("audit/proxy")
def test_a_dropped_call_is_marked_with_the_next_request_also_on_a_page_that_is_opened_later(
    proxied: Proxied, opens: Opens
) -> None:
    page = opens()
    _ask(proxied)
    expect(page.locator(".call")).to_have_count(2)
    expect(page.locator(".subject")).to_have_count(0)
    expect(page.locator("#verdict")).to_have_text("No error")
    expect(page.locator(".lines .text").first).to_have_text(_QUESTION["content"])
    assert page.locator("#conversations b").count() == 0, "texts of the traffic are not markup"
    page.get_by_label("Only with findings").check()
    expect(page.locator(".conversation")).not_to_be_visible()
    _drop(proxied)
    expect(page.locator(".conversation")).to_be_visible()
    expect(page.locator(".subject")).to_contain_text("act")
    expect(page.locator(".finding")).to_contain_text("dropped-in-fact")
    expect(page.locator(".conversation")).to_have_count(1)
    expect(page.locator("#verdict")).to_have_text("1 error")
    second = opens()
    expect(second.locator(".subject")).to_have_count(1)
    assert second.locator("#conversations").inner_text() == page.locator("#conversations").inner_text()


@pytest.mark.page("audit/proxy")
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_the_page_is_accessible(proxied: Proxied, opens: Opens, tmp_path: Path, size: str, scheme: str) -> None:
    page = opens(size, scheme)
    _ask(proxied)
    _drop(proxied)
    expect(page.locator(".subject")).to_have_count(1)
    photograph(page, f"proxy-{size}-{scheme}", tmp_path)
    assert axe_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_another_host_name_gets_neither_page_nor_events(proxied: Proxied) -> None:
    for path in ("/", "/events", "/metrics"):
        assert httpx2.get(proxied.page_url + path, headers={"host": "evil.example"}).status_code == 421


#: The last release before crewAI answered all calls of a response.
_CREWAI = "crewai==1.9.3"
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
    folder = cache() / "agents" / _CREWAI
    python = folder / "bin" / "python"
    if not python.exists():
        pytest.skip(f"crewAI is not installed: python -m venv {folder} && {python} -m pip install {_CREWAI}")
    return python


@pytest.mark.page("audit/proxy")
@pytest.mark.thorough(keep=1)
def test_calls_that_crewai_drops_are_on_the_page_and_in_the_log(crewai: Path, browser: Browser, tmp_path: Path) -> None:
    judgements, lines = Judgements(), list[str]()
    script = scripts()["parallel-three"]
    first, *later = script.rounds
    asked = replace(script, rounds=[replace(first, ask=_PROMPT.format(first.ask)), *later])
    with (
        running({script.id: asked}) as providers,
        _with_page(providers.http_url, TextLines(lines.append), judgements) as proxy,
        browser.new_context() as context,
    ):
        page = context.new_page()
        page.goto(proxy.page_url)
        command = [str(crewai), str(Path(__file__).with_name("crewai_agent.py"))]
        command += [proxy.url + SURFACES["openai.chat"].base_path, script.ask]
        environment = {**os.environ, "HOME": str(tmp_path)}
        subprocess.run(command, env=environment, timeout=_AGENT_SECONDS, capture_output=True, check=False)
        called, answered, *_ = judgements.wait(2)
        expect(page.locator(".subject")).to_have_count(2)
        dropped = [finding for finding in answered.findings if finding.code == "dropped-in-fact"]
        marked = page.locator(".subject").all_inner_texts()
    assert [call.name for call in called.calls] == ["get_weather", "get_weather", "list_events"]
    assert [(finding.exchange, finding.call_id) for finding in dropped] == [(1, call.id) for call in called.calls[1:]]
    assert ["Porto" in marked[0], "list_events" in marked[1]] == [True, True]
    assert sum("error: dropped-in-fact" in line for line in lines) == 2
