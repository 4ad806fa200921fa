"""The demo's server: turns begun, shown, cancelled, decided on, and resumed from the log."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.conformance.demo.conftest import Demo
from toolparity.cassettes.surfaces import SURFACES

pytestmark = pytest.mark.service("conformance/demo")

BOTH = "I am c-204. Show me my appointments and what I still owe."
SAID = "You have one appointment on 20 January, and one open invoice of 150 euros."


@pytest.fixture
def demo(shared_demo: Demo) -> Demo:
    return shared_demo


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def last(events: list[dict[str, Any]], type: str) -> dict[str, Any]:
    return [event for event in events if event["type"] == type][-1]


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("surface", list(SURFACES))
def test_every_emulated_provider_can_be_asked(demo: Demo, surface: str) -> None:
    turn = demo.starts(BOTH, surface=surface)
    events = demo.events(turn)
    assert [event["seq"] for event in events] == list(range(len(events)))
    acknowledged = last(events, "acknowledged")
    assert acknowledged["text"] == "Sure, I'll look up your appointments and check your billing."
    assert acknowledged["spoken"]  # the model was asked to say so itself
    assert last(events, "turn_complete")["text"] == SAID
    order = types(events)
    assert order.index("acknowledged") < order.index("call_started") < order.index("call_finished")
    assert order.count("call_progress") == 8


def test_an_event_that_was_seen_is_not_sent_again(demo: Demo) -> None:
    turn = demo.starts(BOTH)
    events = demo.events(turn)
    assert demo.events(turn, 9) == events[10:]
    status, _, said = demo.asks("GET", f"/turns/{turn}/events", **{"last-event-id": str(len(events) - 1)})
    assert (status, said) == (204, b"")


@pytest.mark.parametrize("surface", ["openai.chat", "xai.grpc"])
def test_a_trace_has_each_piece_on_the_wire_with_its_canonical_events(demo: Demo, surface: str) -> None:
    turn = demo.starts(BOTH, surface=surface)
    demo.events(turn)
    first, second = demo.trace(turn)["exchanges"]
    assert first["wire"] == second["wire"] == SURFACES[surface].wire
    assert BOTH in json.dumps(first["request"])
    starts = [event for piece in first["pieces"] for event in piece["events"] if event["type"] == "block_start"]
    assert [event["block"] for event in starts] == ["text", "tool_call", "tool_call"]
    for piece in first["pieces"]:
        for event in piece["events"]:
            if event["type"] == "block_start" and event["block"] == "tool_call":
                assert event["name"] in piece["text"]
    names = [block["name"] for block in first["response"]["choices"][0]["blocks"] if block["type"] == "tool_call"]
    assert names == ["list_appointments", "open_invoices"]
    assert first["results"] == []
    assert len(second["results"]) == 2
    kept = demo.logged(lambda log: log.turn(turn))
    assert [block.block_type for block in kept.blocks] == [
        "text",
        "tool_use",
        "tool_use",
        "tool_result",
        "tool_result",
        "text",
    ]


def test_calls_above_the_limit_are_warned_of(demo: Demo) -> None:
    turn = demo.starts(BOTH, limit=1)
    warned = last(demo.events(turn), "dropped")
    assert warned["total"] == 2
    assert [ref["name"] for ref in warned["processing"]] == ["list_appointments"]
    assert [ref["name"] for ref in warned["dropped"]] == ["open_invoices"]


def test_another_model_narrates_where_it_is_asked_to(demo: Demo) -> None:
    turn = demo.starts(BOTH, narrator=True)
    assert last(demo.events(turn), "turn_complete")["text"] == SAID
    asked = demo.trace(turn)["exchanges"][-1]["request"]
    given = json.loads(asked["messages"][-1]["content"])
    assert given["userMessage"] == BOTH
    assert [one["toolName"] for one in given["toolResults"]] == ["list_appointments", "open_invoices"]
    assert "tools" not in asked


def test_calls_are_approved_one_by_one(demo: Demo) -> None:
    turn = demo.starts(BOTH, approval=True)
    seen = demo.until(turn, "turn_waiting")
    waiting = [(event["call_id"], event["name"]) for event in seen if event["type"] == "approval_needed"]
    assert [name for _, name in waiting] == ["list_appointments", "open_invoices"]
    for (id, _), approved in zip(waiting, (True, False), strict=True):
        assert demo.asks("POST", f"/turns/{turn}/decide", {"call_id": id, "approved": approved})[0] == 202
    events = demo.events(turn)
    how = {event["name"]: event["how"] for event in events if event["type"] == "call_finished"}
    assert how == {"list_appointments": "returned", "open_invoices": "denied"}
    assert last(events, "turn_complete")["text"] == SAID
    assert demo.asks("POST", f"/turns/{turn}/decide", {"call_id": waiting[0][0], "approved": True})[0] == 409


def test_a_turn_that_is_cancelled_answers_every_call(demo: Demo) -> None:
    demo.pace.gate.clear()
    turn = demo.starts(BOTH)
    demo.until(turn, "call_started")
    assert json.loads(demo.asks("POST", f"/turns/{turn}/cancel", {})[2]) == {"cancelled": True}
    events = demo.events(turn)
    assert events[-1]["termination_reason"] == "cancelled"
    assert types(events).count("call_finished") == 2
    assert json.loads(demo.asks("POST", f"/turns/{turn}/cancel", {})[2]) == {"cancelled": False}


def test_a_turn_that_waits_for_a_decision_is_cancelled_as_well(demo: Demo) -> None:
    turn = demo.starts(BOTH, approval=True)
    demo.until(turn, "turn_waiting")
    assert json.loads(demo.asks("POST", f"/turns/{turn}/cancel", {})[2]) == {"cancelled": True}
    events = demo.events(turn)
    assert events[-1]["termination_reason"] == "cancelled"
    assert [event["how"] for event in events if event["type"] == "call_finished"] == ["skipped", "skipped"]
    assert json.loads(demo.asks("POST", f"/turns/{turn}/cancel", {})[2]) == {"cancelled": False}
    assert demo.asks("POST", "/turns/unknown/cancel", {})[0] == 404


def test_the_page_listens_to_every_event_that_a_turn_can_emit() -> None:
    from importlib import resources
    from typing import get_args

    from toolparity.turns.events import TurnEvent

    text = (resources.files("toolparity.conformance.demo") / "page" / "turn.js").read_text("utf-8")
    listed = text.partition("const TYPES = [")[2].partition("]")[0]
    assert re.findall(r'"(\w+)"', listed) == [str(kind.__struct_config__.tag) for kind in get_args(TurnEvent)]


def test_a_model_that_says_nothing_beside_its_calls_is_spoken_for(demo: Demo) -> None:
    from toolparity.cassettes.scripts import ScriptedCall, scripts

    silent = next(
        script
        for script in scripts().values()
        if script.rounds
        and len(script.rounds[0].parts) > 1
        and all(isinstance(part, ScriptedCall) for part in script.rounds[0].parts)
        and all(offer.waiting_hint for offer in script.tools)
        and SURFACES["openai.chat"].plays(script)
    )
    said = last(demo.events(demo.starts(silent.ask)), "acknowledged")
    assert not said["spoken"]
    assert any(offer.waiting_hint[1:] in said["text"] for offer in silent.tools)


def test_a_conversation_goes_on(demo: Demo) -> None:
    from toolparity.cassettes.scripts import scripts

    script = scripts()["asks-again"]
    asks = [round.ask for round in script.rounds if round.ask]
    first = demo.starts(asks[0])
    demo.events(first)
    second = demo.starts(asks[1], after=first)
    assert demo.events(second)[-1]["type"] == "turn_complete"
    assert demo.asks("POST", "/turns", {"message": "x", "after": "unknown"})[0] == 404


def test_words_that_no_script_knows_are_refused_by_the_provider(demo: Demo) -> None:
    events = demo.events(demo.starts("What is the meaning of all this?"))
    assert events[-1]["type"] == "turn_failed"
    assert "no script begins with these words" in events[-1]["error"]["message"]


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize(
    "body",
    [
        b"no JSON",
        b"{}",
        {"message": " "},
        {"message": "x", "surface": "unknown"},
        {"message": "x", "policy": "some"},
        {"message": "x", "unknown": 1},
        {"message": "x", "limit": "many"},
        {"message": "x", "limit": -1},
    ],
)
def test_what_is_no_question_is_refused_with_what_is_wrong(demo: Demo, body: Any) -> None:
    status, _, said = demo.asks("POST", "/turns", body)
    assert status == 400
    assert json.loads(said)["error"]


def test_a_body_that_is_too_large_is_refused(demo: Demo) -> None:
    status, _, said = demo.asks("POST", "/turns", b'{"message": "' + b"x" * 200_000 + b'"}')
    assert status == 413
    assert "larger than" in json.loads(said)["error"]


def test_only_this_page_is_answered(demo: Demo) -> None:
    good = {"message": BOTH}
    assert demo.asks("POST", "/turns", good, **{"content-type": "text/plain"})[0] == 400
    assert demo.asks("POST", "/kill", {}, **{"content-type": "text/plain"})[0] == 400
    assert demo.asks("GET", "/", host="evil.example:80")[0] == 421
    assert demo.asks("GET", "/", host="localhost:1")[0] == 200
    assert demo.asks("GET", "/turns/unknown/events")[0] == 404
    assert demo.asks("GET", "/turns/unknown/trace")[0] == 404
    assert demo.asks("GET", "/turns/unknown")[0] == 404
    assert demo.asks("GET", "/../app.py")[0] == 404


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("path", ["/", "/app.js", "/base.css", "/style.css", "/states.svg", "/choices"])
def test_every_answer_says_what_the_page_may_do(demo: Demo, path: str) -> None:
    status, headers, said = demo.asks("GET", path)
    assert status == 200
    assert said
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert headers["x-content-type-options"] == "nosniff"
    assert b"http://" not in said.replace(b'xmlns="http://www.w3.org/2000/svg"', b"")
    assert b"https://" not in said
