"""Approval: call by call, during or after a run, in any process; every call gets a result, and no denied call runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolparity import ApprovalRequest, ToolCall, normalize
from toolparity.normalizer.conversation import TextPart
from toolparity.normalizer.requests import check_request, read_request
from toolparity.turns import events as turn_events
from toolparity.turns.errors import TurnMisused
from toolparity.turns.machine import state as states
from toolparity.turns.turn import Turn

from . import playing
from .playing import Counting, Emulated, RecordingObserver, Say, at_once, call, kinds, on_every_wire, only, script

THREE = script([call("look", at=1), call("post", text="a"), call("post", text="b")], [Say("Done.")])
ASKS: dict[str, dict[str, Any]] = {"post": {"approval": True}}


def waiting(
    wire: str = "openai.chat", played: Any = THREE, **options: Any
) -> tuple[Turn, Counting, list[Any], Emulated]:
    """A turn that has run until it waits."""
    counting = Counting()
    provider = Emulated(wire, played)
    turn = Turn(provider, counting.tools(**ASKS), **options)
    events = at_once(playing.play(turn))
    return turn, counting, events, provider


@on_every_wire
def test_calls_wait_while_others_run_and_are_approved_and_denied_one_by_one_in_another_process(wire: str) -> None:
    log = RecordingObserver()
    turn, counting, events, provider = waiting(wire, observers=[log])
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
    results = read_request(provider.bodies[-1], wire, provider=provider.name).messages[2].results  # type: ignore[union-attr]
    assert [result.is_error for result in results] == [False, False, True]
    assert results[2].parts == [TextPart("This call was not executed: it was not allowed: not in public")]
    decided = [(e.approved, e.reason) for e in only(events, turn_events.ApprovalDecided)]
    assert decided == [(True, None), (False, "not in public")]
    playing.assert_legal(resumed)


@on_every_wire
def test_cancelling_a_waiting_turn_gives_every_call_a_result_and_is_stored_at_the_next_run(wire: str) -> None:
    log = RecordingObserver()
    turn, counting, _, _ = waiting(wire, observers=[log])
    turn.cancel("the user asked for something else")
    results = turn.state.rounds[0].tool_results
    assert [result.is_error for result in results] == [False, True, True]
    assert "the user asked for something else" in str(results[1].parts)
    assert counting.names == ["look"]
    playing.assert_legal(turn)
    assert states.load(log.states[-1]).termination is None
    events = at_once(playing.play(turn, None))
    assert kinds(events)[-2:] == ["round_finished", "turn_failed"]
    assert log.events[-len(events) :] == events
    assert states.load(log.states[-1]).termination == turn.outcome.termination == "cancelled"
    assert at_once(playing.play(turn, None)) == []


def test_under_batch_calls_after_a_waiting_call_also_wait() -> None:
    played = script([call("post", text="a"), call("look", at=1), call("count")], [Say("Done.")])
    turn, counting, _, _ = waiting(played=played, policy="batch")
    assert counting.ran == []
    (waiting_call,) = turn.outcome.waiting
    turn.decide(waiting_call.id, True)
    at_once(turn.run())
    assert counting.names == ["post", "look", "count"]
    assert turn.outcome.text == "Done."


def test_an_approver_decides_while_the_turn_runs() -> None:
    seen: list[tuple[str, Any]] = []

    async def approve(request: ToolCall | ApprovalRequest) -> bool | str:
        arguments = request.arguments if isinstance(request, ToolCall) else None
        seen.append((request.name, arguments))
        await asyncio.sleep(0)
        return True if arguments == {"text": "a"} else "too rude"

    turn, counting, events, _ = waiting(approve=approve)
    assert seen == [("post", {"text": "a"}), ("post", {"text": "b"})]
    assert sorted(counting.names) == ["look", "post"]
    assert turn.outcome.text == "Done."
    denied = turn.state.rounds[0].tool_results[2]
    assert denied.is_error
    assert "too rude" in str(denied.parts)
    assert "turn_complete" in kinds(events)


def test_an_approver_that_returns_none_makes_the_turn_wait_and_one_that_fails_denies() -> None:
    turn, counting, _, _ = waiting(approve=lambda _: None)
    assert len(turn.outcome.waiting) == 2
    assert counting.names == ["look"]

    def broken(_: Any) -> bool:
        raise RuntimeError("no window to ask in")

    async def gone(_: Any) -> bool:
        raise asyncio.CancelledError  # the approver was cancelled, the turn was not

    for approver, name in ((broken, "RuntimeError"), (gone, "CancelledError")):
        turn, counting, _, _ = waiting(approve=approver)
        assert counting.names == ["look"]
        assert f"the approval failed: {name}" in str(turn.state.rounds[0].tool_results[1].parts)


def test_approval_may_depend_on_the_arguments_and_a_failing_rule_requires_it() -> None:
    rules: dict[str, Any] = {"post": lambda arguments: arguments["text"] == "b", "": lambda _: 1 / 0}
    for ran, rule in rules.items():
        counting = Counting()
        at_once(Turn(Emulated("openai.chat", THREE), counting.tools(post={"approval": rule})).run("Go."))
        assert counting.names == ["look", *ran.split()]


def test_an_unexpected_decision_is_an_error_and_a_second_one_changes_nothing() -> None:
    turn, _, _, _ = waiting()
    with pytest.raises(TurnMisused, match="does not wait for a decision"):
        turn.decide("call_of_another_turn", True)
    first, second = (waiting_call.id for waiting_call in turn.outcome.waiting)
    turn.decide(first, False)
    turn.decide(first, True)
    turn.decide(second, False)
    assert at_once(turn.run()).termination == "natural_completion"  # denied calls are not failed tools
    assert turn.state.rounds[0].calls[1].status == "denied"


# server calls: MCP


class Mcp:
    """Requests approval for a server call beside a client call, and answers after the decision."""

    wire, name, model = "openai.responses", "openai", "gpt-5-mini"

    def __init__(self) -> None:
        self.bodies: list[Any] = []

    async def ask(self, body: Any) -> Any:
        self.bodies.append(body)
        assert check_request(body, self.wire, provider=self.name) == []
        approval_request = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "n"}
        approval_request["arguments"] = "{}"
        client_call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}"}
        message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        message["content"] = [{"type": "output_text", "text": "Done.", "annotations": []}]  # type: ignore[assignment]
        output = [approval_request, {**client_call, "status": "completed"}] if len(self.bodies) == 1 else [message]
        body = {"id": "resp_1", "object": "response", "status": "completed", "model": self.model, "output": output}
        yield normalize(body, wire=self.wire, provider=self.name)


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


def test_cancelling_a_turn_denies_the_open_approval_of_a_server_call() -> None:
    provider = Mcp()
    turn = Turn(provider, Counting().tools())
    at_once(turn.run("Go."))
    turn.cancel()
    playing.assert_legal(turn, wires=["openai.responses"])
    last = turn.state.history()[-1]
    assert last.raw["approve"] is False  # type: ignore[union-attr]
