"""The page at GET /: what the server can answer, and what was asked."""

from __future__ import annotations

import os
from html.parser import HTMLParser
from pathlib import Path

import pytest

from toolparity.cassettes.replay.faults import FAULTS
from toolparity.cassettes.replay.journal import KEPT

from .conftest import SCENARIOS, Server, sent_body

_BROWSER = {"accept": "text/html,application/xhtml+xml"}


class _Page(HTMLParser):
    """Collects the text and the attributes that load something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.loaded: list[str] = []
        self.tags: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href") and tag != "a"]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_lists_what_was_asked_and_which_cassette_answered(server: Server) -> None:
    server.post("/v1/chat/completions", sent_body("openai.chat", False))
    server.post("/v1/chat/completions", b'{"model": "m", "messages": [{"role": "user", "content": "<b>&other"}]}')
    server.post("/v1/chat/completions", sent_body("openai.chat", False), x_toolparity_fault="status=429")
    html = server.request("GET", "/", **_BROWSER).body.decode()
    page = _Page(html)
    assert "answered from openai/openai.chat/parallel-three.yaml#1" in page.text
    assert '-> "<b>&other"' in page.text
    assert "b" not in page.tags
    assert "fault status=429" in page.text
    assert page.loaded == ["data:,"]
    if folder := os.environ.get("TOOLPARITY_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / "serve.html").write_text(html, "utf-8")


def test_the_page_may_load_and_run_nothing(server: Server) -> None:
    answer = server.request("GET", "/", **_BROWSER)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_programs_get_the_same_as_json(server: Server) -> None:
    server.post("/scenario/text-only/v1/messages", b"{}")
    content = server.request("GET", "/").json
    assert content["scenarios"] == sorted(SCENARIOS)
    assert content["faults"] == {name: option.effect for name, option in FAULTS.items()}
    chat = next(surface for surface in content["surfaces"] if surface["name"] == "openai.chat")
    assert "/v1/chat/completions" in chat["addresses"]
    assert chat["responses"] == 2 * (2 + 2 + 1)  # rounds of the scenarios, plain and streamed
    (request,) = content["requests"]
    assert (request["path"], request["scenario"]) == ("/v1/messages", "text-only")


def test_the_page_does_not_show_secrets(server: Server) -> None:
    key = "sk-proj-" + "Ab3dEf9hIj2lMn5pQr8tUv1xYz4B" * 2
    body = b'{"model": "m", "messages": [{"role": "user", "content": "%s"}]}' % key.encode()
    server.post("/v1/chat/completions?key=" + key, body, authorization=f"Bearer {key}")
    assert key[:30] not in server.request("GET", "/").body.decode()


def test_the_journal_keeps_the_last_requests(server: Server) -> None:
    for _ in range(KEPT + 5):
        server.journal.begin("POST", "/v1/messages")
    assert [entry.number for entry in server.journal.entries] == list(range(KEPT + 5, 5, -1))


@pytest.mark.parametrize("host", ["attacker.example", "attacker.example:80"])
def test_a_foreign_host_name_gets_no_page(server: Server, host: str) -> None:
    assert server.request("GET", "/", host=host).status == 421
