"""The server of the demo: turns and acts are played, shown, cancelled and continued, and invalid requests refused."""

from __future__ import annotations

import json
import re
import struct
from typing import Any

import pytest

from docs.generate import ROOT, demo_animation
from tests.conformance.demo.conftest import Demo
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.demo.acts import acts
from toolparity.conformance.demo.state_picture import state_picture
from toolparity.turns.machine.table import arrows

pytestmark = pytest.mark.service("conformance/demo")

BOTH = "I am c-204. Show me my appointments and what I still owe."
TEXT = "You have one appointment on 20 January, and one open invoice of 150 euros."


@pytest.fixture
def demo(shared_demo: Demo) -> Demo:
    return shared_demo


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def last(events: list[dict[str, Any]], type: str) -> dict[str, Any]:
    return [event for event in events if event["type"] == type][-1]


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("surface", list(SURFACES))
def test_every_emulated_provider_answers(demo: Demo, surface: str) -> None:
    turn = demo.starts(BOTH, surface=surface)
    events = demo.events(turn)
    assert [event["seq"] for event in events] == list(range(len(events)))
    acknowledged = last(events, "acknowledged")
    assert acknowledged["text"] == "Sure, I'll look up your appointments and check your billing."
    assert acknowledged["spoken"]  # by the model
    assert last(events, "turn_complete")["text"] == TEXT
    order = types(events)
    assert order.index("acknowledged") < order.index("call_started") < order.index("call_finished")
    assert order.count("call_progress") == 8


def test_an_event_that_was_seen_is_not_sent_again(demo: Demo) -> None:
    turn = demo.starts(BOTH)
    events = demo.events(turn)
    assert demo.events(turn, 9) == events[10:]
    status, _, reply = demo.asks("GET", f"/turns/{turn}/events", **{"last-event-id": str(len(events) - 1)})
    assert (status, reply) == (204, b"")


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
    assert [block.block_type for block in kept.blocks] == ["text", *["tool_use"] * 2, *["tool_result"] * 2, "text"]


def test_another_model_narrates_with_the_setting(demo: Demo) -> None:
    turn = demo.starts(BOTH, narrator=True)
    assert last(demo.events(turn), "turn_complete")["text"] == TEXT
    asked = demo.trace(turn)["exchanges"][-1]["request"]
    given = json.loads(asked["messages"][-1]["content"])
    assert given["userMessage"] == BOTH
    assert [one["toolName"] for one in given["toolResults"]] == ["list_appointments", "open_invoices"]
    assert "tools" not in asked


def test_a_cancelled_turn_answers_every_call(demo: Demo) -> None:
    demo.pace.gate.clear()
    for approval, event, how in ((False, "call_started", "cancelled"), (True, "turn_waiting", "skipped")):
        turn = demo.starts(BOTH, approval=approval)
        demo.until(turn, event)
        assert demo.posts(turn, "cancel")[1] == {"cancelled": True}
        events = demo.events(turn)
        assert events[-1]["termination_reason"] == "cancelled"
        assert [one["how"] for one in events if one["type"] == "call_finished"] == [how] * 2
        assert demo.posts(turn, "cancel")[1] == {"cancelled": False}
    assert demo.posts("unknown", "cancel")[0] == 404


def test_the_page_listens_to_every_event_that_a_turn_can_emit() -> None:
    from importlib import resources
    from typing import get_args

    from toolparity.turns.events import TurnEvent

    text = (resources.files("toolparity.conformance.demo") / "page" / "turn.js").read_text("utf-8")
    listed = text.partition("const TYPES = [")[2].partition("]")[0]
    assert re.findall(r'"(\w+)"', listed) == [str(kind.__struct_config__.tag) for kind in get_args(TurnEvent)]


def test_a_conversation_continues(demo: Demo) -> None:
    from toolparity.cassettes.scripts import scripts

    script = scripts()["asks-again"]
    asks = [round.ask for round in script.rounds if round.ask]
    first = demo.starts(asks[0])
    demo.events(first)
    second = demo.starts(asks[1], after=first)
    assert demo.events(second)[-1]["type"] == "turn_complete"
    assert demo.asks("POST", "/turns", {"message": "x", "after": "unknown"})[0] == 404


def test_an_invalid_message_is_refused_with_its_error(demo: Demo) -> None:
    wrong: list[Any] = [{"surface": "unknown"}, {"policy": "some"}, {"unknown": 1}, {"limit": "many"}, {"limit": -1}]
    for body in (b"no JSON", b"{}", {"message": " "}, *({"message": "x", **setting} for setting in wrong)):
        status, _, reply = demo.asks("POST", "/turns", body)
        assert (status, bool(json.loads(reply)["error"])) == (400, True), body
    status, _, reply = demo.asks("POST", "/turns", b'{"message": "' + b"x" * 200_000 + b'"}')
    assert (status, "larger than" in json.loads(reply)["error"]) == (413, True)


def test_only_requests_of_this_page_are_answered(demo: Demo) -> None:
    text = {"content-type": "text/plain"}
    assert demo.asks("POST", "/turns", {"message": BOTH}, **text)[0] == demo.asks("POST", "/kill", {}, **text)[0] == 400
    assert demo.asks("GET", "/", host="evil.example:80")[0] == 421
    assert demo.asks("GET", "/", host="localhost:1")[0] == 200
    for path in ("/turns/unknown/events", "/turns/unknown/trace", "/turns/unknown", "/../app.py"):
        assert demo.asks("GET", path)[0] == 404, path


def test_every_reply_restricts_the_page_to_its_server(demo: Demo) -> None:
    for path in ("/", "/app.js", "/base.css", "/style.css", "/states.svg", "/choices"):
        status, headers, reply = demo.asks("GET", path)
        assert (status, bool(reply)) == (200, True)
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"
        assert not re.search(b"https?://", reply.replace(b'xmlns="http://www.w3.org/2000/svg"', b"")), path


def test_the_animation_of_the_readme_is_small_and_described() -> None:
    data = demo_animation.FILE.read_bytes()
    assert (len(data) < 1_500_000, struct.unpack_from("<I", data, 4)[0]) == (True, len(data) - 8)
    width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
    assert (width, height) == (demo_animation.WIDTH, demo_animation.HEIGHT)
    assert data.count(b"ANMF") > 20
    readme = (ROOT / "README.md").read_text("utf-8")
    (words,) = re.findall(r"!\[([^\]]*)\]\(docs/pages/demo\.webp\)", readme)
    assert len(words.split()) > 10


#: Acts that end without an action of the user.
UNATTENDED = [id for id, act in acts().items() if not act.approval and act.action is None]
FINAL = "Pack for Porto: your train leaves at ten, and it will rain there."


def plays(demo: Demo, act: str, lane: int = 0, **settings: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Play one lane of an act to its end. Return its events and its trace."""
    played = acts()[act].lanes[lane]
    turn = demo.starts(act=act, policy=played.policy, limit=played.limit, **settings)
    events = demo.events(turn)
    return events, demo.trace(turn, events=len(events))


def ran(events: list[dict[str, Any]]) -> list[str]:
    return [event["name"] for event in events if event["type"] == "call_started"]


@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "plain"])
@pytest.mark.parametrize(("act", "surface"), [(act, at.name) for act in UNATTENDED for at in acts()[act].surfaces])
def test_every_act_ends_with_an_answer_on_every_wire(demo: Demo, act: str, surface: str, stream: bool) -> None:
    for lane in range(len(acts()[act].lanes)):
        events, trace = plays(demo, act, lane, surface=surface, stream=stream)
        assert events[-1]["type"] == "turn_complete"
        assert events[-1]["termination_reason"] == "natural_completion"
        assert [event["seq"] for event in events] == list(range(len(events)))
        assert trace["times"].keys() == {str(event["seq"]) for event in events}
        for exchange in trace["exchanges"]:
            assert exchange["response"] is not None
            is_streamed = stream or SURFACES[surface].by_messages
            assert (len(exchange["pieces"]) > 1) == is_streamed
        assert [bool(exchange["results"]) for exchange in trace["exchanges"]] == [
            False,
            *[True] * (len(trace["exchanges"]) - 1),
        ]


def test_batch_runs_the_calls_one_after_the_other_and_all_at_the_same_time(demo: Demo) -> None:
    def most_at_once(events: list[dict[str, Any]]) -> int:
        changes = {"call_started": 1, "call_finished": -1}
        running = [0]
        for event in events:
            running.append(running[-1] + changes.get(event["type"], 0))
        return max(running)

    assert most_at_once(plays(demo, "policies", 2)[0]) == 1
    demo.pace.gate.clear()
    turn = demo.starts(act="policies", policy="all")
    assert most_at_once(demo.until(turn, "call_started", 3)) == 3
    demo.pace.gate.set()
    assert demo.events(turn)[-1]["text"] == FINAL


@pytest.mark.parametrize(
    ("approved", "text"),
    [
        ((True, True), "You have one appointment on 20 January. You have one open invoice of 150 euros."),
        ((True, False), "You have one appointment on 20 January. You did not allow me to use open_invoices."),
        ((False, False), "You did not allow me to use list_appointments and open_invoices."),
    ],
)
def test_only_approved_calls_run_and_the_answer_says_so(demo: Demo, approved: tuple[bool, bool], text: str) -> None:
    turn = demo.starts(act="approval")
    waiting = [event for event in demo.until(turn, "turn_waiting") if event["type"] == "approval_needed"]
    for event, decision in zip(waiting, approved, strict=True):
        assert demo.posts(turn, "decide", call_id=event["call_id"], approved=decision)[0] == 202
    events = demo.events(turn)
    assert ran(events) == [event["name"] for event, decision in zip(waiting, approved, strict=True) if decision]
    assert events[-1]["text"] == text
    assert demo.posts(turn, "decide", call_id=waiting[0]["call_id"], approved=True)[0] == 409


def test_an_act_without_its_wire_or_a_successor_of_the_server_is_refused(demo: Demo) -> None:
    status, _, reply = demo.asks("POST", "/turns", {"act": "server-call", "surface": "openai.chat"})
    assert (status, "does not play" in reply.decode()) == (409, True)
    assert demo.asks("POST", "/turns", {"act": "unknown"})[0] == 409
    assert demo.asks("POST", "/kill", {"process": 1})[0] == 409
    offered = json.loads(demo.asks("GET", "/choices")[2])["acts"]
    assert [act["id"] for act in offered] == [id for id in acts() if id != "killed-server"]


def test_the_state_picture_has_every_arrow_of_the_table() -> None:
    picture = state_picture()
    for (source, target), names in arrows().items():
        group = picture.partition(f'data-from="{source}" data-to="{target}"')[2].partition("</g>")[0]
        assert [name for name in names if f">{name}<" not in group] == []
