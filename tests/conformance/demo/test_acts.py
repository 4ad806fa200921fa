"""The acts of the demo: each is a real turn on each wire, and no call is lost, run twice, or run without permission."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.conformance.demo.conftest import Demo
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.demo.acts import acts
from toolparity.conformance.demo.state_picture import state_picture
from toolparity.turns.machine.table import arrows

pytestmark = pytest.mark.service("conformance/demo")

#: Acts that end without an action of the user.
UNATTENDED = [id for id, act in acts().items() if not act.approval and act.action is None]
FINAL = "Pack for Porto: your train leaves at ten, and it will rain there."


@pytest.fixture
def demo(shared_demo: Demo) -> Demo:
    return shared_demo


def plays(demo: Demo, act: str, lane: int = 0, **settings: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Play one lane of an act to its end. Return its events and its trace."""
    played = acts()[act].lanes[lane]
    turn = demo.starts(act=act, policy=played.policy, limit=played.limit, **settings)
    events = demo.events(turn)
    return events, demo.trace(turn, events=len(events))


def selections(events: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    """Kept, dropped and rejected calls of each answer."""
    known = [event for event in events if event["type"] == "calls_known"]
    return [(len(event["kept"]), len(event["dropped"]), len(event["rejected"])) for event in known]


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


def test_under_each_policy_the_same_three_calls_run_once(demo: Demo) -> None:
    for lane, expected in enumerate([[(1, 2, 0), (1, 1, 0), (1, 0, 0)], [(3, 0, 0)], [(3, 0, 0)]]):
        events, trace = plays(demo, "policies", lane)
        assert selections(events) == expected
        assert Counter(ran(events)) == {"get_weather": 2, "list_events": 1}
        assert events[-1]["text"] == FINAL
        answers = trace["exchanges"][0]["response"]["choices"][0]["blocks"]
        assert [block["type"] for block in answers] == ["text", "tool_call", "tool_call", "tool_call"]
        warned = [(event["total"], len(event["dropped"])) for event in events if event["type"] == "dropped"]
        assert warned == [(3, 2), (2, 1)] * (lane == 0)


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


#: Act, surface -> kept, dropped and rejected calls of each answer, the calls that run, words of the next request.
SELECTED: dict[tuple[str, str], tuple[list[tuple[int, int, int]], list[str], str]] = {
    ("limit", "openai.chat"): ([(2, 1, 0), (1, 0, 0)], ["get_weather", "get_weather", "list_events"], "the limit is 2"),
    ("truncated", "openai.chat"): ([(1, 0, 1), (1, 0, 0)], ["archive_rows", "delete_rows"], "not executed"),
    **{("server-call", at.name): ([(1, 0, 0)], ["save_note"], "") for at in acts()["server-call"].surfaces},
}


@pytest.mark.parametrize(("act", "surface"), SELECTED)
def test_calls_beyond_a_limit_truncated_ones_and_those_of_the_server_do_not_run(
    demo: Demo, act: str, surface: str
) -> None:
    selected, running, words = SELECTED[act, surface]
    events, trace = plays(demo, act, surface=surface)
    assert (selections(events), sorted(ran(events))) == (selected, running)
    first, second, *_ = trace["exchanges"]
    assert words in json.dumps(second["results"])
    findings = [finding["code"] for finding in first["findings"]]
    assert ("arguments-truncated" in findings) is (act == "truncated")
    blocks = [block["type"] for block in first["response"]["choices"][0]["blocks"]]
    assert ("server_tool_call" in blocks) is (act == "server-call")


def test_in_text_mode_the_stream_ends_at_the_second_call(demo: Demo) -> None:
    events, trace = plays(demo, "text-mode")
    first, second, _ = trace["exchanges"]
    text = "".join(piece["text"] for piece in first["pieces"])
    assert "Faro" in text
    assert "Braga" not in text
    assert "Braga" in "".join(first["unread"])
    assert first["unread_text"].strip().startswith('{"name": "get_weather", "arguments": {"city": "Braga"}}')
    assert second["unread"] == []
    assert "tool-limit" in [finding["code"] for finding in first["findings"]]
    assert "<tool_response>" in json.dumps(second["results"])
    assert ran(events) == ["get_weather", "get_weather"]


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
    assert demo.asks("POST", "/kill", {})[0] == 409
    offered = json.loads(demo.asks("GET", "/choices")[2])["acts"]
    assert [act["id"] for act in offered] == [id for id in acts() if id != "killed-server"]


def test_the_state_picture_has_every_arrow_of_the_table() -> None:
    picture = state_picture()
    for (source, target), names in arrows().items():
        group = picture.partition(f'data-from="{source}" data-to="{target}"')[2].partition("</g>")[0]
        assert [name for name in names if f">{name}<" not in group] == []
