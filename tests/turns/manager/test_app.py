"""The web application: a turn over HTTP from its start to its end, and every error with its status."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Mount
from starlette.testclient import TestClient

from tests.turns.log.shared import TWO_ROUNDS, empty_log
from tests.turns.playing import Counting, Emulated, Say, call, script
from toolparity.turns import Agent, Prices
from toolparity.turns.errors import LogFailed, McpFailed
from toolparity.turns.execution.tool import Tool
from toolparity.turns.log import Log, TurnRow
from toolparity.turns.manager import Authorize, TurnManager, TurnOrigin, turns_app
from toolparity.turns.manager.http import LARGEST

pytestmark = pytest.mark.service("turns/manager", "turns/log")

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
        with TestClient(app) as client:
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


def test_calls_are_decided_and_answered(tmp_path: Path) -> None:
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
        assert client.post(f"/turns/{turn}/decide", json=decision).status_code == 409
        assert client.post(f"/turns/{turn}/answer", json={"call_id": mail, "value": 1}).status_code == 409
        assert client.post(f"/turns/{turn}/resume", json={}).status_code == 409


def test_a_turn_that_waits_is_cancelled(tmp_path: Path) -> None:
    with served(tmp_path, WAITING) as client:
        turn = waiting_turn(client)
        assert client.post(f"/turns/{turn}/cancel", json={"reason": "changed my mind"}).json() == {"cancelled": True}
        assert client.post(f"/turns/{turn}/cancel", json={}).json() == {"cancelled": False}
        assert events(client.get(f"/turns/{turn}/events").text)[-1]["termination_reason"] == "cancelled"


def test_an_unknown_turn_is_not_found(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        bodies = {
            "cancel": {},
            "resume": {},
            "decide": {"call_id": "x", "approved": True},
            "answer": {"call_id": "x", "value": 1},
        }
        answers = [client.get("/turns/none"), client.get("/turns/none/events"), client.get("/turns?before=none")]
        answers += [client.post(f"/turns/none/{action}", json=body) for action, body in bodies.items()]
        assert [answer.status_code for answer in answers] == [404] * 7
        assert {answer.json()["error"] for answer in answers} == {"the log has no turn 'none'"}


@pytest.mark.parametrize(
    ("path", "body", "problem"),
    [
        ("", b"no JSON", "malformed"),
        ("", b"\xff\xfe", "invalid body"),
        ("", b"[" * 100_000, "invalid body"),
        ("", b"{}", "missing required field `message`"),
        ("", b'{"message": " "}', "the message is empty"),
        ("", b'{"message": "x", "mesage": 1}', "unknown field `mesage`"),
        ("/x/decide", b'{"call_id": "x", "approved": 1}', "Expected `bool`"),
        ("/x/answer", b'{"call_id": "x"}', "either a value or an error"),
        ("/x/answer", b'{"call_id": "x", "value": 1, "error": "x"}', "either a value or an error"),
    ],
)
def test_an_invalid_body_is_refused_with_the_problem(tmp_path: Path, path: str, body: bytes, problem: str) -> None:
    with served(tmp_path) as client:
        answer = client.post(f"/turns{path}", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 400
        assert problem in answer.json()["error"]


def test_what_a_form_of_another_site_can_send_is_refused(tmp_path: Path) -> None:
    with served(tmp_path, WAITING) as client:
        turn = waiting_turn(client)
        for action in ("", f"/{turn}/cancel", f"/{turn}/resume"):
            assert (
                client.post(f"/turns{action}", content=b"{}", headers={"content-type": "text/plain"}).status_code == 400
            )
        assert client.get(f"/turns/{turn}").json()["status"] == "waiting"


def test_a_body_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        answer = client.post("/turns", json={"message": "x" * LARGEST})
        assert (answer.status_code, answer.json()["error"]) == (413, f"the body is larger than {LARGEST} bytes")


@pytest.mark.parametrize("limit", ["0", "many", "-1", "1001", "٣"])
def test_an_invalid_limit_is_refused(tmp_path: Path, limit: str) -> None:
    with served(tmp_path) as client:
        assert client.get("/turns", params={"limit": limit}).status_code == 400


def test_an_unknown_status_is_refused(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        answer = client.get("/turns", params={"status": "finished"})
        assert answer.status_code == 400
        assert answer.json() == {"error": "status must be open, waiting, over, got 'finished'"}
        for status in ("open", "waiting", "over"):
            assert client.get("/turns", params={"status": status}).json() == {"turns": []}


def test_errors_of_the_router_and_of_the_program_have_the_same_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*arguments: Any, **options: Any) -> Any:
        raise RuntimeError("secret")

    with Log(tmp_path / "turns.db") as log:
        app = turns_app(manager_of(log, TWO_ROUNDS))
        with TestClient(app, raise_server_exceptions=False) as client:
            unknown, method = client.get("/turn"), client.put("/turns")
            monkeypatch.setattr(Log, "rows", fail)
            broken = client.get("/turns")
    assert (unknown.status_code, unknown.json()) == (404, {"error": "Not Found"})
    assert (method.status_code, method.json()) == (405, {"error": "Method Not Allowed"})
    assert (broken.status_code, broken.json()) == (500, {"error": "the request failed in the server"})


def test_an_administrator_continues_the_conversation_of_a_user(tmp_path: Path) -> None:
    with served(tmp_path, authorize=by_header) as client:
        ana, admin = {"x-user": "ana"}, {"x-user": "admin"}
        first = client.post("/turns", json={"message": "Go."}, headers=ana).json()["turn"]
        assert client.get(f"/turns/{first}/events", headers=ana).status_code == 200
        started = client.post("/turns", json={"message": "On.", "conversation": first}, headers=admin)
        assert started.status_code == 201
        second = started.json()["turn"]
        assert client.get(f"/turns/{second}", headers=ana).json()["user"] == "ana"


def test_a_failure_of_the_database_is_not_the_fault_of_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*arguments: Any, **options: Any) -> Any:
        raise LogFailed("the turn log failed: no route to host", where="postgresql+psycopg://tests@db.internal/turns")

    with served(tmp_path) as client:
        monkeypatch.setattr(Log, "rows", fail)
        answer = client.get("/turns")
    assert answer.status_code == 503
    assert answer.json() == {"error": "the database of the turns does not answer: try again later"}
    assert "tests@db.internal" in caplog.text


def test_an_error_of_the_program_is_not_shown_to_clients(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def agent_of(origin: TurnOrigin) -> Agent:
        raise McpFailed("the MCP server cannot be reached", where="server --token secret")

    with Log(tmp_path / "turns.db") as log, TestClient(turns_app(TurnManager(log, agent_of))) as client:
        answer = client.post("/turns", json={"message": "Go."})
    assert (answer.status_code, answer.json()) == (500, {"error": "the request failed in the server"})
    assert "server --token secret" in caplog.text


def test_nul_is_refused_on_every_route(log: Log) -> None:
    """PostgreSQL stores no text with NUL, and SQLite compares only what precedes it."""
    with TestClient(turns_app(manager_of(log, TWO_ROUNDS))) as client:
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


async def by_header(request: Request, action: str, turn: TurnRow | None) -> str | None:
    """The header names the user. The user `guest` may only read, and `admin` may reach all turns."""
    user = request.headers.get("x-user")
    if user is None:
        raise HTTPException(401, "who are you?", {"www-authenticate": "Bearer"})
    if user == "guest" and action not in ("list", "status", "events"):
        raise HTTPException(403, f"guests may not {action}")
    return None if user == "admin" else user


def test_each_user_reaches_only_their_own_turns(tmp_path: Path) -> None:
    with served(tmp_path, WAITING, authorize=by_header) as client:
        ana, ben, admin = ({"x-user": name} for name in ("ana", "ben", "admin"))
        turn = waiting_turn(client, **ana)
        assert client.get(f"/turns/{turn}", headers=ana).json()["user"] == "ana"
        assert client.get(f"/turns/{turn}", headers=admin).status_code == 200
        foreign = [client.get(f"/turns/{turn}{path}", headers=ben) for path in ("", "/events")]
        foreign += [client.post(f"/turns/{turn}/{action}", json={}, headers=ben) for action in ("cancel", "resume")]
        foreign.append(client.post("/turns", json={"message": "x", "conversation": turn}, headers=ben))
        assert [answer.status_code for answer in foreign] == [404] * 5
        listed = [client.get("/turns", headers=headers).json()["turns"] for headers in (ana, ben, admin)]
        assert [[row["id"] for row in rows] for rows in listed] == [[turn], [], [turn]]
        assert client.post(f"/turns/{turn}/cancel", json={}, headers=ana).json() == {"cancelled": True}


def test_the_hook_refuses_before_anything_is_read_or_done(tmp_path: Path) -> None:
    with served(tmp_path, WAITING, authorize=by_header) as client:
        turn = waiting_turn(client, **{"x-user": "ana"})
        for path in (turn, "none"):
            answer = client.get(f"/turns/{path}")
            assert (answer.status_code, answer.json()) == (401, {"error": "who are you?"})
            assert answer.headers["www-authenticate"] == "Bearer"
            assert client.post(f"/turns/{path}/cancel", json={}, headers={"x-user": "guest"}).status_code == 403
        assert client.post("/turns", json={"message": "x"}, headers={"x-user": "guest"}).status_code == 403
        assert len(client.get("/turns", headers={"x-user": "admin"}).json()["turns"]) == 1


def test_the_application_is_mounted_in_another_one(tmp_path: Path) -> None:
    with Log(tmp_path / "turns.db") as log:
        manager = manager_of(log, TWO_ROUNDS)

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            async with manager:
                yield

        app = Starlette(routes=[Mount("/agent", turns_app(manager))], lifespan=lifespan)
        with TestClient(app) as client:
            turn = client.post("/agent/turns", json={"message": "Go."}).json()["turn"]
            assert events(client.get(f"/agent/turns/{turn}/events").text)[-1]["type"] == "turn_complete"


def test_starlette_is_imported_only_for_the_application() -> None:
    lines = [
        "import sys",
        "sys.modules['starlette'] = None",
        "from toolparity.normalizer.errors import MissingExtra",
        "from toolparity.turns import manager",
        "manager.TurnManager",
        "try: manager.turns_app",
        "except MissingExtra as error: print(error)",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert "turns_app needs starlette" in done.stdout
    assert "toolparity[server]" in done.stdout
