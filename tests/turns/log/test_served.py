"""The example server of the page about the turn log: a turn over HTTP, resumed after a reconnect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.conformance.pages import blocks
from tests.turns.log.shared import TWO_ROUNDS
from tests.turns.playing import Counting, Emulated


@pytest.fixture
def page_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The names that the page defines, with a provider and tools."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"provider": Emulated("openai.chat", TWO_ROUNDS), "tools": Counting().tools()}
    for block in blocks("turn-log.md"):
        if block.language == "python" and block.section != "PostgreSQL":
            exec(block.text, namespace)
    yield namespace
    namespace["log"].dispose()


def _events(body: str) -> list[tuple[int, dict[str, Any]]]:
    frames = [frame.splitlines() for frame in body.split("\n\n") if frame.startswith("id: ")]
    return [(int(id[4:]), json.loads(data[6:])) for id, _, data in frames]


@pytest.mark.page("docs/pages/turn-log.md")
def test_a_reconnecting_browser_receives_only_the_events_it_has_not_seen(page_names: dict[str, Any]) -> None:
    with TestClient(page_names["app"]) as browser:
        turn = browser.post("/turns", json={"message": "Go."}).json()["turn"]
        answer = browser.get(f"/turns/{turn}/events")
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = _events(answer.text)
        assert [seq for seq, _ in events] == list(range(len(events)))
        assert events[-1][1]["type"] == "turn_complete"
        assert events[-1][1]["text"] == "All done."
        for seen, _ in events[:-1]:
            remaining = browser.get(f"/turns/{turn}/events", headers={"last-event-id": str(seen)})
            assert _events(remaining.text) == events[seen + 1 :]
        after_the_end = browser.get(f"/turns/{turn}/events", headers={"last-event-id": str(events[-1][0])})
        assert (after_the_end.status_code, after_the_end.content) == (204, b"")
