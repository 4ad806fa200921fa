"""Failures of the classes execution and cancel, and of policy where calls are run: as whole turns, on every wire.

Each turn here also ends in a history with which the provider lets the conversation continue.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from tests.turns import playing
from tests.turns.playing import WIRES, Counting, Emulated, RecordingObserver, Say, ServerCall, at_once, call, script
from toolparity.normalizer.conversation import Assistant, ToolResult, ToolResults
from toolparity.normalizer.turns import Tool, ToolFailed, Tools
from toolparity.normalizer.turns.errors import TurnMisused
from toolparity.normalizer.turns.events import TurnBlockStart
from toolparity.normalizer.turns.machine import state as states
from toolparity.normalizer.turns.turn import Turn

EVERY_WIRE = pytest.mark.parametrize("wire", WIRES)
THREE = script([call("look", at=1), call("post", text="a"), call("count", of="ducks")], [Say("Done.")])


def turn_of(
    wire: str, played: Any, counting: Counting, told: dict[str, dict[str, Any]] | None = None, **of: Any
) -> Turn:
    return Turn(Emulated(wire, played), counting.tools(**told or {}), **of)


def results(turn: Turn) -> list[ToolResult]:
    """The answers to the calls of the first round; they are in one turn, right behind the answer."""
    first = turn.state.rounds[0].messages
    assert [type(one) for one in first[:2]] == [Assistant, ToolResults]
    assert isinstance(first[1], ToolResults)
    return first[1].results


def said(turn: Turn) -> list[tuple[str, bool]]:
    return [("".join(getattr(part, "text", "") for part in one.parts), one.is_error) for one in results(turn)]


def fail(**_: Any) -> None:
    raise ToolFailed("no such door")


@EVERY_WIRE
def test_BATCH_01_a_bad_observation_is_a_result_and_cancels_no_sibling(wire: str) -> None:
    counting = Counting(look=lambda **_: {"exit_code": 1, "success": False})
    turn = turn_of(wire, THREE, counting, policy="batch", on_error="stop")
    at_once(turn.run("Go."))
    assert counting.names == ["look", "post", "count"]
    assert [error for _, error in said(turn)] == [False, False, False]
    playing.assert_legal(turn)


@EVERY_WIRE
def test_BATCH_02_a_sequential_tool_is_a_barrier_where_it_was_called_and_nothing_else_waits(wire: str) -> None:
    running: list[str] = []
    beside: dict[str, list[str]] = {}

    def tool(name: str) -> Any:
        async def run(**_: Any) -> str:
            running.append(name)
            for _ in range(20):
                await asyncio.sleep(0)
            beside[name] = sorted(running)
            running.remove(name)
            return name

        return run

    names = ("a", "b", "alone", "c", "d")
    played = script([call(name) for name in names], [Say("Done.")], tools=names)
    counting = Counting(**{name: tool(name) for name in names})
    turn = turn_of(wire, played, counting, {"alone": {"parallel": False}})
    at_once(turn.run("Go."))
    assert counting.names == list(names)
    assert beside["alone"] == ["alone"]
    assert beside["a"] == ["a", "b"]
    assert beside["c"] == ["c", "d"]
    playing.assert_legal(turn)


@EVERY_WIRE
def test_BATCH_03_a_batch_stops_at_its_first_failure_and_the_calls_behind_it_are_told_so(wire: str) -> None:
    names = ("click", "type", "key")
    played = script([call(name) for name in names], [Say("Done.")], tools=names)
    counting = Counting(click=lambda: "clicked", type=fail, key=lambda: "pressed")
    turn = turn_of(wire, played, counting, policy="batch", on_error="stop")
    at_once(turn.run("Go."))
    assert counting.names == ["click", "type"]
    told = said(turn)
    assert told[:2] == [("clicked", False), ("no such door", True)]
    assert told[2][1]
    assert "not executed" in told[2][0]
    playing.assert_legal(turn)


@EVERY_WIRE
@pytest.mark.parametrize("policy", ["first", "all", "batch"])
def test_EXEC_02_no_tool_ends_the_run_and_leaves_a_sibling_without_an_answer(wire: str, policy: str) -> None:
    names = ("final_answer", "side_effect")
    played = script([call(name) for name in names], [Say("Done.")], tools=names)
    counting = Counting(final_answer=lambda: "final", side_effect=lambda: "done")
    # a provider that makes two calls although it was asked for one
    turn = turn_of(wire, played, counting, policy=policy, prepare=lambda request: replace(request, parallel=None))
    at_once(turn.run("Go."))
    assert counting.names == ["final_answer"] + (["side_effect"] if policy != "first" else [])
    told = said(turn)
    assert told[0] == ("final", False)
    assert told[1] == ("done", False) or (policy == "first" and told[1][1] and "not executed" in told[1][0])
    playing.assert_legal(turn)


@EVERY_WIRE
def test_BED_06_results_that_come_early_still_stand_in_one_turn_behind_one_answer(wire: str) -> None:
    turn = turn_of(wire, THREE, Counting())
    at_once(turn.run("Go."))
    history = turn.state.history()
    kinds = [type(one) for one in history if isinstance(one, (Assistant, ToolResults))]
    assert kinds == [Assistant, ToolResults, Assistant]
    assert [result.name for result in results(turn)] == ["look", "post", "count"]
    playing.assert_legal(turn)


@EVERY_WIRE
def test_DUP_01_a_result_that_did_not_get_through_is_sent_again_and_its_tool_is_not_run_again(wire: str) -> None:
    log, counting = RecordingObserver(), Counting()
    lost = Turn(Emulated(wire, THREE, fails={1: ConnectionError("gone")}), counting.tools(), observers=[log], id="once")
    at_once(lost.run("Go."))
    assert lost.outcome.termination == "provider_failed"
    asking = next(text for text in reversed(log.states) if states.load(text).phase == "asking")
    again = Turn(Emulated(wire, THREE), counting.tools(), state=states.load(asking))
    at_once(again.run())
    assert again.outcome.termination == "natural_completion"
    assert counting.names == ["look", "post", "count"]
    playing.assert_legal(again)


@EVERY_WIRE
def test_DUP_02_a_tool_that_fails_was_called_once(wire: str) -> None:
    def broken(**_: Any) -> None:
        raise OSError("disk full")

    counting = Counting(post=broken)
    turn = turn_of(wire, THREE, counting)
    at_once(turn.run("Go."))
    assert counting.names.count("post") == 1
    assert [error for _, error in said(turn)] == [False, True, False]
    playing.assert_legal(turn)


@EVERY_WIRE
def test_ADK_01_one_of_three_that_wait_is_decided_and_the_others_are_neither_run_nor_answered(wire: str) -> None:
    names = ("first", "second", "third")
    played = script([call(name) for name in names], [Say("Done.")], tools=names)
    counting = Counting(**{name: lambda name=name: name for name in names})
    asks = {name: {"approval": True} for name in names}
    log = RecordingObserver()
    turn = turn_of(wire, played, counting, asks, observers=[log])
    at_once(turn.run("Go."))
    waiting = [one.id for one in turn.outcome.waiting]
    assert len(waiting) == 3
    for number, id in enumerate(waiting):
        turn = Turn(turn.provider, counting.tools(**asks), state=states.load(log.states[-1]), observers=[log])
        turn.decide(id, True)
        at_once(turn.run())
        assert counting.names == list(names[: number + 1])
    assert said(turn) == [(name, False) for name in names]
    assert turn.outcome.termination == "natural_completion"
    playing.assert_legal(turn)


@EVERY_WIRE
def test_ADK_01_a_result_that_arrives_first_runs_none_of_the_others_and_each_call_gets_one(wire: str) -> None:
    names = ("first", "second", "third")
    played = script([call(name) for name in names], [Say("Done.")], tools=names)
    tools = Tools(Tool(name=name) for name in names)
    provider = Emulated(wire, played)
    turn = Turn(provider, tools)
    at_once(turn.run("Go."))
    waiting = turn.outcome.waiting
    assert [one.name for one in waiting] == list(names)
    for number in (1, 2, 0):  # in another order than they were asked for
        turn.answer(waiting[number].id, f"{names[number]} done")
        at_once(turn.run())
        with pytest.raises(TurnMisused):
            turn.answer(waiting[number].id, "again")
    assert len(provider.bodies) == 2
    assert said(turn) == [(f"{name} done", False) for name in names]
    playing.assert_legal(turn)


@EVERY_WIRE
def test_NAME_06_an_unknown_tool_is_answered_with_the_known_ones_and_its_sibling_runs(wire: str) -> None:
    played = script([call("nothing"), call("look", at=1)], [Say("Done.")], tools=("nothing", "look"))
    counting = Counting()
    tools = counting.tools()
    turn = Turn(Emulated(wire, played), tools)
    at_once(turn.run("Go."))
    assert counting.names == ["look"]
    (unknown, failed), fine = said(turn)
    assert failed
    assert all(known in unknown for known in ("look", "count", "post"))
    assert fine == ("look ran", False)
    playing.assert_legal(turn)


@pytest.mark.parametrize("wire", ["openai.responses", "anthropic.messages", "xai.grpc"])
def test_HALL_01_beside_a_server_call_too_a_tool_that_nobody_declared_is_an_error_result(wire: str) -> None:
    search = ServerCall("web_search", {"query": "ducks"}, hits=[])
    played = script([search, call("nothing"), call("look", at=1)], [Say("Done.")], hosted=["web_search"])
    counting = Counting()
    turn = turn_of(wire, played, counting)
    asked = playing.opening(played, wire)
    assert "nothing" not in [tool.name for tool in asked.tools]
    at_once(turn.run(asked))
    assert counting.names == ["look"]
    assert [(result.name, result.is_error) for result in results(turn)] == [("nothing", True), ("look", False)]
    assert turn.outcome.termination == "natural_completion"
    playing.assert_legal(turn, wires=[wire])


@EVERY_WIRE
def test_CANC_01_a_cancelled_round_keeps_what_is_finished_and_answers_the_rest_in_call_order(wire: str) -> None:
    async def hang(**_: Any) -> None:
        await asyncio.Event().wait()

    counting = Counting(post=hang, count=hang)
    turn = turn_of(wire, THREE, counting)

    async def run() -> None:
        async for event in turn.stream("Go."):
            if getattr(event, "name", None) == "look" and type(event).__name__ == "CallFinished":
                turn.cancel("the user said something else")

    at_once(run())
    assert [result.name for result in results(turn)] == ["look", "post", "count"]
    assert said(turn)[0] == ("look ran", False)
    assert [error for _, error in said(turn)] == [False, True, True]
    assert all("cancelled" in text for text, _ in said(turn)[1:])
    playing.assert_legal(turn)


@EVERY_WIRE
def test_CANC_02_a_call_that_was_still_arriving_is_never_run_and_leaves_a_legal_history(wire: str) -> None:
    counting = Counting()
    turn = turn_of(wire, THREE, counting)

    async def run() -> None:
        stream = turn.stream("Go.")
        async for event in stream:
            if isinstance(event, TurnBlockStart) and event.block_type == "tool_use":
                break
        await stream.aclose()

    at_once(run())
    assert turn.outcome.termination == "cancelled"
    assert counting.ran == []
    playing.assert_legal(turn)
