"""Failures of the classes execution and cancel, and of policy where calls are run: as whole turns, on every wire.

Each turn here also ends in a history with which the provider lets the conversation continue.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from toolparity.normalizer.conversation import Assistant, ToolResults
from toolparity.turns import Tool, ToolFailed, Tools
from toolparity.turns.errors import TurnMisused
from toolparity.turns.events import CallFinished
from toolparity.turns.machine import state as states
from toolparity.turns.turn import Turn

from . import playing
from .playing import Counting, Emulated, RecordingObserver, Say, ServerCall, at_once, call, on_every_wire, script

THREE = script([call("look", at=1), call("post", text="a"), call("count", of="ducks")], [Say("Done.")])


def result_names(turn: Turn) -> list[str | None]:
    """The tools of the answers to the calls of the first round; they are in one turn, right behind the answer."""
    answer, results, *_ = turn.state.rounds[0].messages
    assert isinstance(answer, Assistant)
    assert isinstance(results, ToolResults)
    return [result.name for result in results.results]


def fail(**_: Any) -> None:
    raise ToolFailed("no such door")


NAMES = ("look", "post", "count")
STOP = {"policy": "batch", "on_error": "stop"}
#: Calls of one answer: the functions of the tools, the options of the turn, the calls that run, and their errors.
CALLS: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, ...], list[bool]]] = {
    "a failure in a result does not stop a batch": ({"look": lambda **_: {"exit_code": 1}}, STOP, NAMES, [False] * 3),
    "a batch stops at its first failure": ({"post": fail}, STOP, ("look", "post"), [False, True, True]),
    "a failed tool is not called again": ({"post": fail}, {}, NAMES, [False, True, False]),
    "under first a provider makes several calls although one was requested": (
        {},
        {"policy": "first", "prepare": lambda request: replace(request, parallel=None)},
        ("look",),
        [False, True, True],
    ),
    "a final answer tool does not end the others": ({"look": lambda **_: "final"}, {}, NAMES, [False] * 3),
    "a batch runs in order": ({}, {"policy": "batch"}, NAMES, [False] * 3),
}


@pytest.mark.parametrize("case", CALLS)
@on_every_wire
def test_BATCH_01_BATCH_03_BED_06_DUP_02_EXEC_02_each_call_has_one_result_right_after_the_answer(
    wire: str, case: str
) -> None:
    functions, options, ran, errors = CALLS[case]
    counting = Counting(**functions)
    turn = playing.finished(Turn(Emulated(wire, THREE), counting.tools(), **options))
    assert counting.names == list(ran)
    assert result_names(turn) == list(NAMES)
    assert [is_error for _, is_error in playing.results(turn)] == errors
    for name, (text, _) in zip(NAMES, playing.results(turn), strict=True):
        assert (name in ran) != ("not executed" in text)
    kinds = [type(message) for message in turn.state.history() if isinstance(message, (Assistant, ToolResults))]
    assert kinds == [Assistant, ToolResults, Assistant]
    playing.assert_legal(turn)


@on_every_wire
def test_BATCH_02_a_sequential_tool_is_a_barrier_and_other_tools_run_concurrently(wire: str) -> None:
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
    turn = playing.finished(Turn(Emulated(wire, played), counting.tools(alone={"parallel": False})))
    assert counting.names == list(names)
    assert beside["alone"] == ["alone"]
    assert beside["a"] == ["a", "b"]
    assert beside["c"] == ["c", "d"]
    playing.assert_legal(turn)


@on_every_wire
def test_DUP_01_a_lost_result_is_sent_again_without_rerunning_its_tool(wire: str) -> None:
    log, counting = RecordingObserver(), Counting()
    lost = Turn(Emulated(wire, THREE, fails={1: ConnectionError("gone")}), counting.tools(), observers=[log], id="once")
    at_once(lost.run("Go."))
    assert lost.outcome.termination == "provider_failed"
    asking = next(text for text in reversed(log.states) if states.load(text).phase == "asking")
    again = playing.finished(Turn(Emulated(wire, THREE), counting.tools(), state=states.load(asking)), None)
    assert again.outcome.termination == "natural_completion"
    assert counting.names == ["look", "post", "count"]
    playing.assert_legal(again)


@on_every_wire
def test_ADK_01_results_supplied_in_any_order_give_each_call_exactly_one(wire: str) -> None:
    names = ("first", "second", "third")
    played = script([call(name) for name in names], [Say("Done.")], tools=names)
    tools = Tools(Tool(name=name) for name in names)
    provider = Emulated(wire, played)
    turn = playing.finished(Turn(provider, tools))
    waiting = turn.outcome.waiting
    assert [message.name for message in waiting] == list(names)
    for number in (1, 2, 0):  # in another order than they were asked for
        turn = Turn(provider, tools, state=states.load(states.dump(turn.state)))  # as in another process
        turn.answer(waiting[number].id, f"{names[number]} done")
        at_once(turn.run())
        with pytest.raises(TurnMisused):
            turn.answer(waiting[number].id, "again")
    assert len(provider.bodies) == 2
    assert playing.results(turn) == [(f"{name} done", False) for name in names]
    playing.assert_legal(turn)


@on_every_wire
def test_HALL_01_NAME_06_a_call_of_an_unknown_tool_gets_the_known_names_and_the_other_call_runs(wire: str) -> None:
    """004, 3. Executor Calls Tool: the result of a call of an unknown tool names the known ones."""
    calls = [call("nothing"), call("look", at=1)]
    played = [script(calls, [Say("Done.")], tools=("nothing", "look"))]
    if wire in ("openai.responses", "anthropic.messages", "xai.grpc"):  # the tool is not declared, beside a server call
        search = ServerCall("web_search", {"query": "ducks"}, hits=[])
        played.append(script([search, *calls], [Say("Done.")], hosted=["web_search"]))
    for one in played:
        counting = Counting()
        turn = playing.finished(Turn(Emulated(wire, one), counting.tools()), playing.opening(one, wire))
        assert counting.names == ["look"]
        assert result_names(turn) == ["nothing", "look"]
        (unknown, failed), fine = playing.results(turn)
        assert failed
        assert all(known in unknown for known in ("look", "count", "post"))
        assert fine == ("look ran", False)
        assert turn.outcome.termination == "natural_completion"
        playing.assert_legal(turn, wires=[wire] if one.hosted else playing.WIRES)


@on_every_wire
def test_CANC_01_a_cancelled_round_keeps_finished_results_and_adds_the_others_in_call_order(wire: str) -> None:
    async def hang(**_: Any) -> None:
        await asyncio.Event().wait()

    turn = Turn(Emulated(wire, THREE), Counting(post=hang, count=hang).tools())

    def react(event: Any) -> None:
        if isinstance(event, CallFinished) and event.name == "look":
            turn.cancel("the user asked for something else")

    at_once(playing.play(turn, react=react))
    assert result_names(turn) == ["look", "post", "count"]
    assert playing.results(turn)[0] == ("look ran", False)
    assert [error for _, error in playing.results(turn)] == [False, True, True]
    assert all("cancelled" in text for text, _ in playing.results(turn)[1:])
    playing.assert_legal(turn)
