"""The web application: a turn over HTTP from its start to its end, and every error with its status."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.turns.log.shared import TWO_ROUNDS
from tests.turns.playing import Counting, Emulated, Say, call, script
from toolparity.normalizer.turns.log import Log
from toolparity.normalizer.turns.machine.prices import Prices
from toolparity.turns import Agent
from toolparity.turns.manager import Authorize, TurnManager, turns_app

APPROVED = script([call("post", text="hello")], [Say("Posted.")])


@contextmanager
def served(
    path: Path, played: Any = TWO_ROUNDS, *, authorize: Authorize | None = None, **options: Any
) -> Iterator[TestClient]:
    """A client of the application, with a new log."""
    tools = options.pop("tools", None) or Counting().tools(post={"approval": played is APPROVED})
    agent = Agent(Emulated("anthropic.messages", played), tools, **options)
    with Log(path / "turns.db") as log, TestClient(turns_app(TurnManager(log, agent), authorize=authorize)) as client:
        yield client


def events(body: str) -> list[dict[str, Any]]:
    """The events of a stream."""
    return [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: ")]


def test_a_turn_is_started_followed_and_listed(tmp_path: Path) -> None:
    with served(tmp_path, prices=Prices(1, 10)) as client:
        started = client.post("/turns", json={"message": "Go."})
        assert started.status_code == 201
        turn = started.json()["turn"]
        assert started.json()["conversation"] == turn
        followed = client.get(f"/turns/{turn}/events")
        assert followed.headers["content-type"].startswith("text/event-stream")
        seen = events(followed.text)
        assert [event["seq"] for event in seen] == list(range(len(seen)))
        assert (seen[-1]["type"], seen[-1]["text"]) == ("turn_complete", "All done.")
        assert events(client.get(f"/turns/{turn}/events", headers={"last-event-id": "5"}).text) == seen[6:]
        ended = client.get(f"/turns/{turn}/events", headers={"last-event-id": str(len(seen) - 1)})
        assert (ended.status_code, ended.content) == (204, b"")
        status = client.get(f"/turns/{turn}").json()
        assert (status["status"], status["text"], status["termination"]) == ("over", "All done.", "natural_completion")
        [row] = client.get("/turns").json()["turns"]
        assert row["id"] == turn
        assert row["input_tokens"] > 0
        assert row["cost"] == pytest.approx((row["input_tokens"] + 10 * row["output_tokens"]) / 1_000_000)
