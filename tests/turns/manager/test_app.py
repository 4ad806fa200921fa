"""The web application: a turn over HTTP, every error with its status, and the examples of the page about it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.testclient import TestClient

from tests.conformance.pages import DOCS
from tests.turns.log.shared import TWO_ROUNDS, empty_log
from tests.turns.playing import Counting, Emulated, Say, call, names_of_page, script
from toolparity.turns import Agent, Prices
from toolparity.turns.errors import LogFailed, McpFailed
from toolparity.turns.execution.tool import Tool
from toolparity.turns.log import Log, TurnRow
from toolparity.turns.manager import ALL_USERS, Authorize, TurnManager, TurnOrigin, turns_app
from toolparity.turns.manager.app import turn_routes
from toolparity.turns.manager.http import LARGEST

pytestmark = pytest.mark.service("turns/manager", "turns/log")

PAGE = "manager.md"
BASE = "http://localhost"
#: The turn waits for a decision on `post`, and for the result of `mail`, which has no function.
WAITING = script([call("post", text="hello"), call("mail")], [Say("Posted.")], tools=("post", "mail"))


def manager_of(log: Log, played: Any, **options: Any) -> TurnManager:
    tools = Counting().tools(post={"approval": played is WAITING})
    tools.add(Tool(name="mail"))
    return TurnManager(log, Agent(Emulated("anthropic.messages", played), tools, **options))


@contextmanager
def served(
    path: Path, played: Any = TWO_ROUNDS, *, authorize: Authorize | None = None, **options: Any
) -> Iterator[TestClient]:
    """A client of the application, with a new log."""
    with Log(empty_log(path / "turns.db")) as log:
        app = turns_app(manager_of(log, played, **options), authorize=authorize)
        with TestClient(app, BASE) as client:
            yield client


def events(body: str) -> list[dict[str, Any]]:
    """The events of a stream."""
    return [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: ")]


def waiting_turn(client: TestClient, **headers: str) -> str:
    """A turn that waits."""
    turn = str(client.post("/turns", json={"message": "Go."}, headers=headers).json()["turn"])
    while (status := client.get(f"/turns/{turn}", headers=headers).json())["status"] != "waiting":
        assert status["status"] == "open"
    return turn


def test_a_turn_is_started_followed_and_listed(tmp_path: Path) -> None:
    with served(tmp_path, prices=Prices(1, 10)) as client:
        started = client.post("/turns", json={"message": "Go."})
        turn = started.json()["turn"]
        assert (started.status_code, started.json()["conversation"]) == (201, turn)
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


def test_the_calls_of_a_turn_that_waits_are_decided_and_answered_or_it_is_cancelled(tmp_path: Path) -> None:
    with served(tmp_path, WAITING) as client:
        turn = waiting_turn(client)
        waiting = {one["name"]: one for one in client.get(f"/turns/{turn}").json()["waiting"]}
        assert {name: one["wants"] for name, one in waiting.items()} == {"post": "decision", "mail": "result"}
        post, mail = waiting["post"]["id"], waiting["mail"]["id"]
        decision = {"call_id": post, "approved": False, "reason": "no"}
        assert client.post(f"/turns/{turn}/decide", json=decision).status_code == 202
        assert client.post(f"/turns/{turn}/answer", json={"call_id": mail, "error": "no server"}).status_code == 202
        seen = events(client.get(f"/turns/{turn}/events").text)
        how = {event["name"]: event["how"] for event in seen if event["type"] == "call_finished"}
        assert how == {"post": "denied", "mail": "failed"}
        assert seen[-1]["text"] == "Posted."
        later = {"decide": decision, "answer": {"call_id": mail, "value": 1}, "resume": {}}
        assert {client.post(f"/turns/{turn}/{action}", json=body).status_code for action, body in later.items()} == {
            409
        }
        turn = waiting_turn(client)
        for reason, cancelled in (({"reason": "changed my mind"}, True), ({}, False)):
            assert client.post(f"/turns/{turn}/cancel", json=reason).json() == {"cancelled": cancelled}
        assert events(client.get(f"/turns/{turn}/events").text)[-1]["termination_reason"] == "cancelled"


def test_an_unknown_turn_is_not_found(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        bodies: dict[str, Any] = {"cancel": {}, "resume": {}, "decide": {"call_id": "x", "approved": True}}
        bodies["answer"] = {"call_id": "x", "value": 1}
        answers = [client.get("/turns/none"), client.get("/turns/none/events"), client.get("/turns?before=none")]
        answers += [client.post(f"/turns/none/{action}", json=body) for action, body in bodies.items()]
    missing = (404, {"error": "the log has no turn 'none'"})
    assert [(answer.status_code, answer.json()) for answer in answers] == [missing] * 7


def test_an_invalid_request_is_refused_with_the_problem(tmp_path: Path) -> None:
    """Among them what a form of another site can send."""
    with served(tmp_path, WAITING) as client:
        turn = waiting_turn(client)
        for path, body, problem in (
            ("", b"no JSON", "malformed"),
            ("", b"\xff\xfe", "invalid body"),
            ("", b"[" * 100_000, "invalid body"),
            ("", b"{}", "missing required field `message`"),
            ("", b'{"message": " "}', "the message is empty"),
            ("", b'{"message": "x", "mesage": 1}', "unknown field `mesage`"),
            ("/x/decide", b'{"call_id": "x", "approved": 1}', "Expected `bool`"),
            ("/x/answer", b'{"call_id": "x"}', "either a value or an error"),
            ("/x/answer", b'{"call_id": "x", "value": 1, "error": "x"}', "either a value or an error"),
        ):
            answer = client.post(f"/turns{path}", content=body, headers={"content-type": "application/json"})
            assert answer.status_code == 400, body
            assert problem in answer.json()["error"]
        for action in ("", f"/{turn}/cancel", f"/{turn}/resume"):
            answer = client.post(f"/turns{action}", content=b"{}", headers={"content-type": "text/plain"})
            assert answer.status_code == 400, action
        large = client.post("/turns", json={"message": "x" * LARGEST})
        assert (large.status_code, large.json()["error"]) == (413, f"the body is larger than {LARGEST} bytes")
        for limit in ("0", "many", "-1", "1001", "٣"):
            assert client.get("/turns", params={"limit": limit}).status_code == 400, limit
        unknown = client.get("/turns", params={"status": "finished"})
        problem = "status must be open, waiting, over, got 'finished'"
        assert (unknown.status_code, unknown.json()) == (400, {"error": problem})
        listed = [
            client.get("/turns", params={"status": status}).json()["turns"] for status in ("open", "waiting", "over")
        ]
        assert [len(rows) for rows in listed] == [0, 1, 0]  # nothing was done


def test_an_error_of_the_program_or_its_database_is_not_shown_to_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def agent_of(origin: TurnOrigin) -> Agent:
        raise McpFailed("the MCP server cannot be reached", where="server --token secret")

    where = "postgresql+psycopg://tests@db.internal/turns"
    failed = {"error": "the request failed in the server"}
    with Log(tmp_path / "turns.db") as log:
        app = turns_app(TurnManager(log, agent_of))
        with TestClient(app, BASE, raise_server_exceptions=False) as client:
            answers = [client.get("/turn"), client.put("/turns"), client.post("/turns", json={"message": "Go."})]
            for error in (RuntimeError("secret"), LogFailed("the turn log failed: no route to host", where=where)):
                monkeypatch.setattr(Log, "rows", AsyncMock(side_effect=error))
                answers.append(client.get("/turns"))
    assert [(answer.status_code, answer.json()) for answer in answers] == [
        (404, {"error": "Not Found"}),
        (405, {"error": "Method Not Allowed"}),
        (500, failed),
        (500, failed),
        (503, {"error": "the database of the turns does not answer: try again later"}),
    ]
    assert "tests@db.internal" in caplog.text
    assert "server --token secret" in caplog.text


def test_nul_is_refused_on_every_route(log: Log) -> None:
    """PostgreSQL stores no text with NUL, and SQLite compares only what precedes it."""
    with TestClient(turns_app(manager_of(log, TWO_ROUNDS)), BASE) as client:
        bodies: dict[str, Any] = {
            "cancel": {"reason": "a\0b"},
            "resume": {"a\0b": 1},
            "decide": {"call_id": "a\0b", "approved": True},
            "answer": {"call_id": "x", "value": {"a": ["\0"]}},
        }
        paths = [client.get("/turns/%00"), client.get("/turns/a%00b/events")]
        paths += [client.post(f"/turns/%00/{action}", json={}) for action in bodies]
        assert [answer.status_code for answer in paths] == [404] * 6
        turn = client.post("/turns", json={"message": "Go."}).json()["turn"]
        others = [client.get(f"/turns?{name}=%00") for name in ("status", "conversation", "before", "limit", "%00")]
        others += [client.post(f"/turns/{turn}/{action}", json=body) for action, body in bodies.items()]
        others.append(client.post("/turns", json={"message": "a\0b"}))
        others.append(client.post("/turns", json={"message": "a", "conversation": "\0"}))
        assert [answer.status_code for answer in others] == [400] * 11
        assert all("NUL" in answer.json()["error"] for answer in paths + others)
        assert client.post("/turns", json={"message": "a backslash and u0000: \\u0000"}).status_code == 201


async def by_header(request: Request, action: str, turn: TurnRow | None) -> Any:
    """The header names the user. The user `guest` may only read, and `admin` may reach all turns."""
    user = request.headers.get("x-user")
    if user is None:
        raise HTTPException(401, "who are you?", {"www-authenticate": "Bearer"})
    if user == "guest" and action not in ("list", "status", "events"):
        raise HTTPException(403, f"guests may not {action}")
    return {"admin": ALL_USERS, "nobody": None}.get(user, user)


def test_each_user_reaches_only_their_own_turns_and_does_only_what_the_hook_allows(tmp_path: Path) -> None:
    """An administrator reaches all turns, and continues the conversation of a user."""
    with served(tmp_path, WAITING, authorize=by_header) as client:
        ana, ben, admin = ({"x-user": name} for name in ("ana", "ben", "admin"))
        turn = waiting_turn(client, **ana)
        assert client.get(f"/turns/{turn}", headers=admin).json()["user"] == "ana"
        foreign = [client.get(f"/turns/{turn}{path}", headers=ben) for path in ("", "/events")]
        foreign += [client.post(f"/turns/{turn}/{action}", json={}, headers=ben) for action in ("cancel", "resume")]
        foreign.append(client.post("/turns", json={"message": "x", "conversation": turn}, headers=ben))
        assert [answer.status_code for answer in foreign] == [404] * 4 + [201]  # a conversation of the same name
        assert client.get("/turns", headers={"x-user": "nobody"}).status_code == 401
        hosts = {"evil.example": 421, "localhost.evil.example": 421, "LOCALHOST:80": 200, "localhost.": 200}
        for host, status in hosts.items():
            assert client.get("/turns", headers={**ana, "host": host}).status_code == status
        pages = [client.get("/turns", params={"before": before}, headers=ben) for before in (turn, "none")]
        assert [page.text.replace(turn, "none") for page in pages] == [pages[1].text] * 2
        assert {page.status_code for page in pages} == {404}
        listed = [client.get("/turns", headers=headers).json()["turns"] for headers in (ana, ben, admin)]
        own = foreign[-1].json()["turn"]
        assert [[row["id"] for row in rows] for rows in listed] == [[turn], [own], [own, turn]]
        assert client.post(f"/turns/{turn}/cancel", json={}, headers=ana).json() == {"cancelled": True}
        assert client.get(f"/turns/{turn}/events", headers=ana).status_code == 200
        client.post(f"/turns/{own}/cancel", json={}, headers=ben)
        started = client.post("/turns", json={"message": "On.", "conversation": turn}, headers=admin)
        assert (started.status_code, "several users" in started.text) == (409, True)
        started = client.post("/turns", json={"message": "On.", "conversation": turn}, headers=ana)
        assert client.get(f"/turns/{started.json()['turn']}", headers=admin).json()["user"] == "ana"
        # The hook refuses before anything is read or done.
        for path in (turn, "none"):
            answer = client.get(f"/turns/{path}")
            assert (answer.status_code, answer.json()) == (401, {"error": "who are you?"})
            assert answer.headers["www-authenticate"] == "Bearer"
            assert client.post(f"/turns/{path}/cancel", json={}, headers={"x-user": "guest"}).status_code == 403
        assert client.post("/turns", json={"message": "x"}, headers={"x-user": "guest"}).status_code == 403
        assert len(client.get("/turns", headers=admin).json()["turns"]) == 3


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The names that the page defines, with a provider, tools and users."""
    monkeypatch.chdir(tmp_path)
    given = {"provider": Emulated("anthropic.messages", TWO_ROUNDS), "tools": Counting().tools()}
    users = {"token-a": "ana", "token-b": "ben"}
    namespace = names_of_page(PAGE, {**given, "users": users, "reviewers": {"ben"}})
    yield namespace
    namespace["log"].dispose()


@pytest.mark.parametrize(("name", "prefix"), [("app", ""), ("site", "/agent")])
def test_the_page_example_serves_a_turn_also_in_another_application(
    names: dict[str, Any], name: str, prefix: str
) -> None:
    with TestClient(names[name], BASE) as client:
        turn = client.post(f"{prefix}/turns", json={"message": "Go."}).json()["turn"]
        assert events(client.get(f"{prefix}/turns/{turn}/events").text)[-1]["text"] == "All done."


@pytest.mark.page("docs/pages/manager.md")
def test_the_page_example_authorizes_users(names: dict[str, Any]) -> None:
    ana, ben = {"authorization": "token-a"}, {"authorization": "token-b"}
    with TestClient(names["protected"], BASE) as client:
        assert client.post("/turns", json={"message": "Go."}).status_code == 401
        turn = client.post("/turns", json={"message": "Go."}, headers=ana).json()["turn"]
        for user, status in ((ana, 403), (ben, 404)):
            decision = {"call_id": "x", "approved": True}
            assert client.post(f"/turns/{turn}/decide", json=decision, headers=user).status_code == status
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
