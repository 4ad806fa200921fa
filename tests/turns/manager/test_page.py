"""The examples of the page about the manager."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.conformance.pages import DOCS, blocks
from tests.turns.log.shared import TWO_ROUNDS
from tests.turns.manager.test_app import events
from tests.turns.playing import Counting, Emulated
from toolparity.turns.manager.app import turn_routes

pytestmark = pytest.mark.service("turns/manager", "turns/log")

PAGE = "manager.md"


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The names that the page defines, with a provider, tools and users."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {
        "provider": Emulated("anthropic.messages", TWO_ROUNDS),
        "tools": Counting().tools(),
        "users": {"token-a": "ana", "token-b": "ben"},
        "reviewers": {"ben"},
    }
    for block in blocks(PAGE):
        if block.language == "python":
            exec(block.text, namespace)
    yield namespace
    namespace["log"].dispose()


@pytest.mark.page("docs/pages/manager.md")
@pytest.mark.parametrize(("name", "prefix"), [("app", ""), ("site", "/agent")])
def test_the_page_example_serves_a_turn(names: dict[str, Any], name: str, prefix: str) -> None:
    with TestClient(names[name]) as client:
        turn = client.post(f"{prefix}/turns", json={"message": "Go."}).json()["turn"]
        assert events(client.get(f"{prefix}/turns/{turn}/events").text)[-1]["text"] == "All done."


@pytest.mark.page("docs/pages/manager.md")
def test_the_page_example_authorizes_users(names: dict[str, Any]) -> None:
    ana, ben = {"authorization": "token-a"}, {"authorization": "token-b"}
    with TestClient(names["protected"]) as client:
        assert client.post("/turns", json={"message": "Go."}).status_code == 401
        turn = client.post("/turns", json={"message": "Go."}, headers=ana).json()["turn"]
        decision = {"call_id": "x", "approved": True}
        assert client.post(f"/turns/{turn}/decide", json=decision, headers=ana).status_code == 403
        assert client.post(f"/turns/{turn}/decide", json=decision, headers=ben).status_code == 404
        assert client.get(f"/turns/{turn}", headers=ana).json()["user"] == "ana"


@pytest.mark.page("docs/pages/manager.md")
def test_the_page_example_asks_in_python(names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    status = asyncio.run(names["ask"]("Go.", "ana"))
    assert (status.text, status.user, status.conversation) == ("All done.", "ana", "of ana")
    assert "event: turn_complete" in capsys.readouterr().out
    assert "The user is ana." in str(names["provider"].bodies[0])


def test_the_page_lists_every_route(names: dict[str, Any]) -> None:
    page = (DOCS / PAGE).read_text("utf-8")
    for route in turn_routes(names["manager"]):
        [method] = (route.methods or set()) - {"HEAD"}
        assert f"| `{method} {route.path.replace('{id}', 'ID')}` |" in page
