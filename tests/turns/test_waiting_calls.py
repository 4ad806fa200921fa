"""Calls that wait for a decision or for a result from elsewhere: each gets one result, and no denied call runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from toolparity import ApprovalRequest, Choice, Response, Stop, Text, ToolCall
from toolparity.normalizer.conversation import JsonPart, TextPart, ToolResult
from toolparity.normalizer.requests import check_request
from toolparity.turns import ToolFailed
from toolparity.turns import events as turn_events
from toolparity.turns.errors import InvalidTool, TurnMisused
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.machine import state as states
from toolparity.turns.machine.calls import CANCELLED_ELSEWHERE
from toolparity.turns.orchestration import Coordinator
from toolparity.turns.outcome import Waiting
from toolparity.turns.turn import Turn

from . import playing
from .executing import asked, ran, texts
from .playing import Counting, Emulated, RecordingObserver, Say, at_once, call, on_every_wire, only, results, script

THREE = script([call("look", at=1), call("post", text="a"), call("post", text="b")], [Say("Done.")])
ONE = script([call("post", text="a")], [Say("Done.")])
ASKS: dict[str, Any] = {"post": {"approval": True}}
#: `post` has no function.
HANDED_OVER: dict[str, Any] = {"post": {"function": None}}


def waiting(
    wire: str = "openai.chat", played: Any = THREE, tools: Any = ASKS, **options: Any
) -> tuple[Turn, Counting, list[Any]]:
    """A turn that has run until it waits."""
    counting = Counting()
    turn = Turn(Emulated(wire, played), counting.tools(**tools), **options)
    events = at_once(playing.play(turn))
    return turn, counting, events


@on_every_wire
def test_calls_wait_while_others_run_and_are_approved_and_denied_one_by_one_in_another_process(wire: str) -> None:
    log = RecordingObserver()
    turn, counting, events = waiting(wire, observers=[log])
    provider: Any = turn.provider
    assert counting.names == ["look"]
    assert [c.status for c in turn.state.rounds[0].calls] == ["done", "waiting_approval", "waiting_approval"]
    needed = [(e.call_id, e.name, e.arguments) for e in only(events, turn_events.ApprovalNeeded)]
    assert [(name, arguments) for _, name, arguments in needed] == [("post", {"text": "a"}), ("post", {"text": "b"})]
    assert [(w.id, w.name, w.arguments) for w in turn.outcome.waiting if w.wants == "decision"] == needed
    (first, *_), (second, *_) = needed
    resumed = Turn(provider, counting.tools(**ASKS), state=states.load(log.states[-1]))
    resumed.decide(first, True)
    events = at_once(playing.play(resumed, None))
    assert [waiting_call.id for waiting_call in resumed.outcome.waiting] == [second]
    resumed.decide(second, False, "not in public")
    events += at_once(playing.play(resumed, None))
    assert resumed.outcome.termination == "natural_completion"
    assert counting.ran == [("look", {"at": 1}), ("post", {"text": "a"})]
    results = provider.asked().messages[2].results
    assert [result.is_error for result in results] == [False, False, True]
    assert results[2].parts == [TextPart("This call was not executed: it was not allowed: not in public")]
    decided = [(e.approved, e.reason) for e in only(events, turn_events.ApprovalDecided)]
    assert decided == [(True, None), (False, "not in public")]
    playing.assert_legal(resumed)


@on_every_wire
def test_cancelling_a_waiting_turn_gives_every_call_a_result_and_is_stored_at_the_next_run(wire: str) -> None:
    log = RecordingObserver()
    turn, counting, _ = waiting(wire, observers=[log])
    turn.cancel("the user asked for something else")
    results = turn.state.rounds[0].tool_results
    assert [result.is_error for result in results] == [False, True, True]
    assert "the user asked for something else" in str(results[1].parts)
    assert counting.names == ["look"]
    playing.assert_legal(turn)
    assert states.load(log.states[-1]).termination is None
    events = at_once(playing.play(turn, None))
    assert playing.kinds(events)[-2:] == ["round_finished", "turn_failed"]
    assert log.events[-len(events) :] == events
    assert states.load(log.states[-1]).termination == turn.outcome.termination == "cancelled"
    assert at_once(playing.play(turn, None)) == []


def test_an_approver_decides_while_the_turn_runs_or_returns_none_to_make_it_wait() -> None:
    seen: list[tuple[str, Any]] = []

    async def approve(request: ToolCall | ApprovalRequest) -> bool | str:
        arguments = request.arguments if isinstance(request, ToolCall) else None
        seen.append((request.name, arguments))
        await asyncio.sleep(0)
        return True if arguments == {"text": "a"} else "too rude"

    turn, counting, events = waiting(approve=approve)
    assert seen == [("post", {"text": "a"}), ("post", {"text": "b"})]
    assert sorted(counting.names) == ["look", "post"]
    assert turn.outcome.text == "Done."
    text, is_error = results(turn)[2]
    assert is_error
    assert "too rude" in text
    assert "turn_complete" in playing.kinds(events)
    turn, counting, _ = waiting(approve=lambda _: None)
    assert (len(turn.outcome.waiting), counting.names) == (2, ["look"])
    turn, counting, _ = waiting(played=ONE, approve=lambda _: False)
    assert (turn.outcome.termination, counting.names) == ("natural_completion", [])  # a denied call did not fail
    turn, counting, _ = waiting(tools={"post": {"approval": lambda arguments: arguments["text"] == "b"}})
    assert (len(turn.outcome.waiting), counting.names) == (1, ["look", "post"])


# server calls: MCP


class Mcp:
    """Requests approval for a server call beside a client call, and answers after the decision."""

    wire, name, model = "openai.responses", "openai", "gpt-5-mini"

    def __init__(self) -> None:
        self.bodies: list[Any] = []

    async def ask(self, body: Any) -> Any:
        self.bodies.append(body)
        assert check_request(body, self.wire, provider=self.name) == []
        approval = ApprovalRequest("mcpr_1", "s", "n", "{}")
        blocks = [approval, ToolCall("call_1", "look", {}, "{}")] if len(self.bodies) == 1 else [Text("Done.")]
        yield Response(self.wire, self.name, "resp_1", self.model, [Choice(0, blocks, Stop("end_turn"))])


@pytest.mark.parametrize("allowed", [True, False])
def test_rsp_06_a_server_call_that_needs_approval_uses_the_same_decision(allowed: bool) -> None:
    provider, counting = Mcp(), Counting()
    turn = Turn(provider, counting.tools())
    events = at_once(playing.play(turn))
    (needed,) = only(events, turn_events.ApprovalNeeded)
    assert (needed.call_id, needed.name, needed.server) == ("mcpr_1", "n", "s")
    [waiting] = turn.outcome.waiting
    assert (waiting.id, waiting.name, waiting.wants, waiting.server) == ("mcpr_1", "n", "decision", "s")
    assert counting.names == ["look"]  # the client call ran meanwhile
    resumed = Turn(provider, counting.tools(), state=states.load(states.dump(turn.state)))
    resumed.decide("mcpr_1", allowed, None if allowed else "not there")
    events = at_once(playing.play(resumed, None))
    response = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": allowed}
    assert provider.bodies[1]["input"][-1] == (response if allowed else {**response, "reason": "not there"})
    assert resumed.outcome.text == "Done."
    stop = next(e for e in only(events, turn_events.TurnBlockStop) if e.block.block_type == "approval_response")
    assert stop.block.content["approve"] is allowed
    assert counting.names == ["look"]
    turn.cancel()  # denies the open approval
    playing.assert_legal(turn, wires=["openai.responses"])
    assert turn.state.history()[-1].raw["approve"] is False  # type: ignore[union-attr]


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


# hand-over


@on_every_wire
def test_calls_of_handed_over_tools_wait_while_other_calls_run(wire: str) -> None:
    turn, counting, events = waiting(wire, tools=HANDED_OVER)
    assert counting.names == ["look"]
    assert [c.status for c in turn.state.rounds[0].calls] == ["done", "waiting_result", "waiting_result"]
    needed = only(events, turn_events.ResultNeeded)
    assert [(e.name, e.arguments) for e in needed] == [("post", {"text": "a"}), ("post", {"text": "b"})]
    [waiting_event] = only(events, turn_events.TurnWaiting)
    assert waiting_event.waiting == waiting_event.results == [e.call_id for e in needed]
    assert turn.outcome.waiting == [
        Waiting(e.call_id, "post", "result", e.arguments, e.arguments_text, e.key) for e in needed
    ]
    assert turn.outcome.termination is None
    resumed = Turn(turn.provider, turn.tools, state=states.load(states.dump(turn.state)))
    events = at_once(playing.play(resumed, None))
    assert playing.kinds(events) == ["turn_started", "turn_waiting"]  # without a second hand-over
    first, second = turn.outcome.waiting
    turn.answer(second.id, "b is out")
    turn.answer(first.id, "a is out")
    at_once(turn.run())
    assert results(turn) == [("look ran", False), ("a is out", False), ("b is out", False)]
    assert turn.state.rounds[0].tools_used == ["look", "post", "post"]
    assert (turn.outcome.text, turn.outcome.waiting) == ("Done.", [])
    playing.assert_legal(turn)


def test_calls_with_invalid_arguments_are_never_handed_over() -> None:
    counting = Counting()
    played = script([call("look", city=3), call("look", city="Ulm")], [Say("Done.")])
    turn = Turn(Emulated("openai.chat", played), counting.tools(look={"function": None, "parameters": CITY}))
    events = at_once(playing.play(turn))
    assert [event.arguments for event in only(events, turn_events.ResultNeeded)] == [{"city": "Ulm"}]
    [waiting_call] = turn.outcome.waiting
    turn.answer(waiting_call.id, "rain")
    at_once(turn.run())
    (wrong, is_error), right = results(turn)
    assert is_error
    assert "do not fit its schema: city: 3 is not of type 'string'" in wrong
    assert right == ("rain", False)
    assert [c.outcome for c in turn.state.rounds[0].calls] == ["invalid_arguments", "returned"]


# supplied results


OUTCOMES: dict[str, Callable[[], Any]] = {
    "text": lambda: "text",
    "nothing": lambda: None,
    "a value": lambda: {"found": [1, 2.5, None]},
    "parts": lambda: [TextPart("in"), JsonPart({"parts": 2})],
    "a failed result": lambda: ToolResult("another id", [TextPart("no such invoice")], is_error=True),
    "a failure in its own words": lambda: ToolFailed("in my own words"),
    "an exception": lambda: KeyError("city"),
    "an exit": lambda: SystemExit(2),
    "a cancellation": asyncio.CancelledError,
    "a value that is not JSON": object,
    "bytes that are not text": lambda: b"\xff\xfe",
}


@pytest.mark.parametrize("make_outcome", OUTCOMES.values(), ids=OUTCOMES)
def test_a_supplied_result_is_treated_like_the_result_of_a_local_tool(make_outcome: Callable[[], Any]) -> None:
    def run_locally(**_: Any) -> Any:
        outcome = make_outcome()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    settings = {"on_all_failed": "continue"}
    local = Turn(Emulated("openai.chat", ONE), Counting(post=run_locally).tools(), **settings)  # type: ignore[arg-type]
    at_once(local.run("Go."))
    turn, _, _ = waiting(tools=HANDED_OVER, played=ONE, **settings)
    turn.answer(turn.outcome.waiting[0].id, make_outcome())
    at_once(turn.run())
    assert turn.state.rounds[0].tool_results == local.state.rounds[0].tool_results
    assert turn.state.rounds[0].calls[0].outcome == local.state.rounds[0].calls[0].outcome
    assert turn.outcome.termination == "natural_completion"


def test_a_result_is_accepted_only_once_and_only_for_a_waiting_call() -> None:
    with pytest.raises(TurnMisused, match="has not begun"):
        Turn(Emulated("openai.chat", ONE), Counting().tools(**HANDED_OVER)).answer("x", "y")
    turn, _, _ = waiting(tools=HANDED_OVER)
    first, second = turn.outcome.waiting
    turn.answer(first.id, "the first")
    with pytest.raises(TurnMisused, match="has already begun"):
        at_once(turn.run("Go again."))  # and the result is kept
    with pytest.raises(TurnMisused, match="has its result"):
        turn.answer(first.id, "the second")
    with pytest.raises(TurnMisused, match="does not wait for a result"):
        turn.answer(turn.state.rounds[0].calls[0].id, "it ran here")
    with pytest.raises(TurnMisused, match=f"'unknown' does not wait for a result.*{second.id}"):
        turn.answer("unknown", "x")
    for unknown in (second.id, "call_of_another_turn"):
        with pytest.raises(TurnMisused, match="does not wait for a decision"):
            turn.decide(unknown, True)
    at_once(turn.run())
    with pytest.raises(TurnMisused, match="does not wait for a result"):
        turn.answer(first.id, "the third")
    turn.answer(second.id, "the other")
    at_once(turn.run())
    assert results(turn)[1:] == [("the first", False), ("the other", False)]
    with pytest.raises(TurnMisused, match="does not wait for a result"):
        turn.answer(second.id, "it is over")


def test_a_result_supplied_while_the_turn_runs_takes_effect_immediately() -> None:
    """The local call ends after the result is supplied."""
    result_supplied = asyncio.Event()

    async def look(**_: Any) -> str:
        await result_supplied.wait()
        return "looked"

    turn = Turn(Emulated("anthropic.messages", THREE), Counting(look=look).tools(**HANDED_OVER))

    def react(event: Any) -> None:
        if isinstance(event, turn_events.ResultNeeded):
            turn.answer(event.call_id, f"{event.arguments} is out")
            with pytest.raises(TurnMisused, match="has its result"):
                turn.answer(event.call_id, "again")
        elif isinstance(event, turn_events.CallFinished) and event.name == "post":
            result_supplied.set()

    assert "turn_waiting" not in playing.kinds(at_once(playing.play(turn, react=react)))
    assert turn.outcome.text == "Done."
    assert results(turn)[0] == ("looked", False)
    assert results(turn)[1] == ("{'text': 'a'} is out", False)


# policies and approval


def test_a_batch_waits_at_a_handed_over_call_and_keeps_its_order() -> None:
    played = script([call("look", at=1), call("post", text="a"), call("count"), call("post", text="b")], [Say("Done.")])
    turn, counting, events = waiting(tools=HANDED_OVER, played=played, policy="batch")
    assert counting.names == ["look"]
    assert [e.arguments for e in only(events, turn_events.ResultNeeded)] == [{"text": "a"}]  # the other one, later
    loaded = states.load(states.dump(turn.state))
    for options, outcomes in (
        ({}, ["returned", "cancelled", "skipped", "skipped"]),
        ({"on_error": "stop"}, ["returned", "failed", "skipped", "skipped"]),
    ):
        state = replace(loaded, settings=replace(loaded.settings, **options))
        other = Turn(turn.provider, turn.tools, state=state)
        if options:
            other.answer(other.outcome.waiting[0].id, ToolFailed("no"))
        else:
            other.cancel()
        at_once(other.run())
        assert [call_state.outcome for call_state in other.state.rounds[0].calls] == outcomes
    turn.answer(turn.outcome.waiting[0].id, "a is out")
    events = at_once(playing.play(turn, None))
    assert counting.names == ["look", "count"]
    assert [e.arguments for e in only(events, turn_events.ResultNeeded)] == [{"text": "b"}]
    turn.answer(turn.outcome.waiting[0].id, "b is out")
    at_once(turn.run())
    assert [text for text, _ in results(turn)] == ["look ran", "a is out", "count ran", "b is out"]
    assert turn.outcome.text == "Done."


@pytest.mark.parametrize(("options", "handed_over"), [({"policy": "first"}, []), ({"limit": 2}, [{"text": "a"}])])
def test_calls_dropped_by_a_policy_or_limit_are_not_handed_over(options: Any, handed_over: list[Any]) -> None:
    turn, counting, _ = waiting(tools=HANDED_OVER, **options)
    assert counting.names == ["look"]
    assert [waiting_call.arguments for waiting_call in turn.outcome.waiting] == handed_over
    for waiting_call in turn.outcome.waiting:
        turn.answer(waiting_call.id, "out")
    at_once(turn.run())
    assert turn.outcome.text == "Done."
    assert all("was not executed" in text for text, is_error in results(turn) if is_error)


def test_a_handed_over_call_can_need_a_decision_before_its_result() -> None:
    external = {"post": {"function": None, "approval": lambda arguments: arguments["text"] == "a"}}
    turn, _, _ = waiting(tools=external)
    first, second = turn.outcome.waiting
    assert [(waiting_call.arguments["text"], waiting_call.wants) for waiting_call in (first, second)] == [
        ("a", "decision"),
        ("b", "result"),
    ]
    denied = Turn(turn.provider, turn.tools, state=states.load(states.dump(turn.state)))
    denied.decide(first.id, False, "not now")
    assert only(at_once(playing.play(denied, None)), turn_events.ResultNeeded) == []
    assert [w.id for w in denied.outcome.waiting] == [second.id]
    with pytest.raises(TurnMisused, match="does not wait for a result"):
        turn.answer(first.id, "too early")
    turn.decide(first.id, True)
    events = at_once(playing.play(turn, None))
    assert [event.call_id for event in only(events, turn_events.ResultNeeded)] == [first.id]
    assert [waiting_call.wants for waiting_call in turn.outcome.waiting] == ["result", "result"]
    for waiting_call in turn.outcome.waiting:
        turn.answer(waiting_call.id, "out")
    at_once(turn.run())
    assert turn.outcome.text == "Done."


# cancelling


@on_every_wire
def test_cancelling_gives_handed_over_calls_an_unknown_outcome_result(wire: str) -> None:
    turn, _, _ = waiting(wire, tools=HANDED_OVER)
    turn.cancel()
    assert turn.outcome.termination == "cancelled"
    assert results(turn) == [("look ran", False), (CANCELLED_ELSEWHERE, True), (CANCELLED_ELSEWHERE, True)]
    assert [c.status for c in turn.state.rounds[0].calls] == ["done", "abandoned", "abandoned"]
    with pytest.raises(TurnMisused, match="does not wait for a result"):
        turn.answer(turn.state.rounds[0].calls[1].id, "too late")
    playing.assert_legal(turn)
    turn = Turn(Emulated(wire, ONE), Counting().tools(**HANDED_OVER))

    def react(event: Any) -> None:
        if isinstance(event, turn_events.ResultNeeded):
            turn.cancel()
            turn.answer(event.call_id, "a moment too late")

    at_once(playing.play(turn, react=react))
    assert (turn.outcome.termination, results(turn)) == ("cancelled", [(CANCELLED_ELSEWHERE, True)])


@pytest.mark.parametrize("cancels", [False, True])
def test_a_supplied_result_is_kept_if_the_next_run_is_interrupted(cancels: bool) -> None:
    """The run is cancelled while the log writes that the turn is resumed, or cancelled."""

    running: Any = None

    class Interrupting(RecordingObserver):
        async def event(self, event: Any) -> None:
            await super().event(event)
            if len(self.events) == 1:
                running.cancel()
                await asyncio.sleep(0)

    async def run() -> None:
        nonlocal running
        running = asyncio.create_task(resumed.run())
        await asyncio.wait([running])

    turn, _, _ = waiting(tools=HANDED_OVER)
    log = Interrupting()
    resumed = Turn(turn.provider, turn.tools, observers=[log], state=turn.state)
    resumed.answer(resumed.outcome.waiting[0].id, "it was out")
    if cancels:
        resumed.cancel()
    at_once(run())
    assert isinstance(log.events[0], turn_events.TurnStarted) != cancels
    assert results(resumed)[1:] == [("it was out", False), (CANCELLED_ELSEWHERE, True)]
    assert states.load(log.states[-1]) == resumed.state
    assert isinstance(log.events[-1], turn_events.TurnFailed)


def test_a_supplied_result_is_kept_after_a_failed_write() -> None:
    class FailingObserver(RecordingObserver):
        broken = False

        async def record(self, *arguments: Any) -> None:
            if self.broken:
                raise OSError("the disk is full")

    failing_observer = FailingObserver()
    turn, _, _ = waiting(tools=HANDED_OVER, played=ONE, observers=[failing_observer])
    [waiting_call] = turn.outcome.waiting
    turn.answer(waiting_call.id, "out")
    failing_observer.broken = True
    with pytest.raises(OSError, match="full"):
        at_once(turn.run())
    failing_observer.broken = False
    at_once(turn.run())
    assert (turn.outcome.text, results(turn)) == ("Done.", [("out", False)])


# other uses


def test_a_tool_without_a_function_is_neither_exclusive_nor_a_fallback_nor_run_by_an_executor() -> None:
    with pytest.raises(InvalidTool, match="without a function"):
        Tools([Tool(name="post", parallel=False)])
    tools = Tools([Tool(name="look", function=lambda: None, fallback="post"), Tool(name="post")])
    with pytest.raises(InvalidTool, match="its fallback 'post' runs elsewhere"):
        Coordinator(Emulated("openai.chat", ONE), tools)
    skipped = "skipped", "This call was not executed: post is run elsewhere."
    assert texts(ran([asked("post"), asked("look")], *tools.values())) == [skipped, ("returned", "")]
