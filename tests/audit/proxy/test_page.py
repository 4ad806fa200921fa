"""The page shows conversations as they happen, with what was dropped, and asks for nothing but itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.audit.proxy.conftest import PATIENCE, Peer, Proxied, ScriptedUpstream, proxying
from tests.reports.browser import SCHEMES, SIZES, axe_findings, browser, photograph
from tests.support.traffic import chat_body
from toolparity.audit.proxy.feed import Feed
from toolparity.audit.proxy.metrics import Metrics
from toolparity.audit.proxy.observer import Observer
from toolparity.audit.proxy.page import application
from toolparity.normalizer import json_codec

__all__ = ["browser"]

_QUESTION = {"role": "user", "content": "What is the weather in <b>Lisbon</b> and Porto?"}


def _answer(peer: Peer) -> None:
    messages = json_codec.decode(peer.body)["messages"]
    data = (chat_body("look", "act") if len(messages) == 1 else chat_body(id="chatcmpl-2")).encode()
    data = data.replace(b"call_", b"call_a4Kd9Xw2_")
    peer.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n")
    peer.send(b"content-length: %d\r\n\r\n%b" % (len(data), data))


@pytest.fixture
def proxied() -> Iterator[Proxied]:
    feed, metrics = Feed(), Metrics()
    with (
        Observer([feed, metrics]) as observer,
        ScriptedUpstream(_answer) as upstream,
        proxying(upstream.url, observer=observer, page=application(feed, metrics), on_stop=feed.close) as proxy,
    ):
        yield proxy


def _ask(proxy: Proxied, *more: Any) -> None:
    body = {"model": "m", "messages": [_QUESTION, *more]}
    httpx2.post(f"{proxy.url}/v1/chat/completions", json=body, timeout=PATIENCE).raise_for_status()


def _drop(proxy: Proxied) -> None:
    """Answer one of two calls."""
    calls = [{"id": "call_a4Kd9Xw2_0", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    kept = {"role": "assistant", "content": None, "tool_calls": calls}
    _ask(proxy, kept, {"role": "tool", "tool_call_id": "call_a4Kd9Xw2_0", "content": "sunny"})


Opens = Callable[..., Page]


@pytest.fixture
def opens(browser: Browser, proxied: Proxied) -> Iterator[Opens]:
    problems: list[str] = []
    contexts = []
    own = (proxied.page_url, "data:")

    def open(size: str = "desktop", scheme: str = "light") -> Page:
        width, height = SIZES[size]
        viewport = ViewportSize(width=width, height=height)
        context = browser.new_context(viewport=viewport, color_scheme="dark" if scheme == "dark" else "light")
        contexts.append(context)
        page = context.new_page()
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
