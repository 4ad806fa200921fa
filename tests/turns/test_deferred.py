"""Tools that are run elsewhere: their calls are handed out, the turn waits, and each gets exactly one result
(REQ: declare without implementation, hand the call back, take the result later).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from toolparity import StreamDecoder
from toolparity.normalizer.conversation import JsonPart, TextPart, ToolResult
from toolparity.normalizer.turns import ToolFailed
from toolparity.normalizer.turns import events as told
from toolparity.normalizer.turns.errors import InvalidTool, TurnMisused
from toolparity.normalizer.turns.execution.tools import Fallback, Tool, Tools
from toolparity.normalizer.turns.machine import state as states
from toolparity.normalizer.turns.machine.calls import CANCELLED_ELSEWHERE
from toolparity.normalizer.turns.orchestration import Coordinator, Limits
from toolparity.normalizer.turns.outcome import Waiting
from toolparity.normalizer.turns.turn import Turn

from . import playing
from .executing import asked, ran, texts, tool
from .playing import WIRES, Counting, Emulated, Say, Told, at_once, call, kinds, only, script
from .scripted import skeleton

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
#: `post` is run elsewhere.
AWAY: dict[str, Any] = {"post": {"function": None}}
THREE = script([call("look", at=1), call("post", text="a"), call("post", text="b")], [Say("Done.")])
ONE = script([call("post", text="a")], [Say("Done.")])


def offered(counting: Counting, **options: dict[str, Any]) -> Tools:
    """The tools of a test, some with other members."""
    return Tools(replace(one, **options.get(one.name, {})) for one in counting.tools().values())


def waiting(wire: str = "openai.chat", played: Any = THREE, away: Any = AWAY, **of: Any) -> tuple[Turn, Counting, Any]:
    """A turn that has run until it waits."""
    counting = Counting()
    turn = Turn(Emulated(wire, played), offered(counting, **away), **of)
    events = at_once(playing.play(turn))
    return turn, counting, events


def results(turn: Turn, round: int = 0) -> list[tuple[str, bool]]:
    """What the calls of a round were answered with."""
    found = turn.state.rounds[round].tool_results
    return [("".join(getattr(part, "text", "") for part in one.parts), one.is_error) for one in found]


# handed out


@pytest.mark.parametrize("wire", WIRES)
def test_calls_that_are_run_elsewhere_wait_and_the_others_run_meanwhile(wire: str) -> None:
    turn, counting, events = waiting(wire)
    assert counting.names == ["look"]
    assert [c.status for c in turn.state.rounds[0].calls] == ["done", "waiting_result", "waiting_result"]
    needed = only(events, told.ResultNeeded)
    assert [(e.name, e.arguments) for e in needed] == [("post", {"text": "a"}), ("post", {"text": "b"})]
    [waits] = only(events, told.TurnWaiting)
    assert waits.waiting == waits.results == [e.call_id for e in needed]
    assert turn.outcome.waiting == [
        Waiting(e.call_id, "post", "result", e.arguments, e.arguments_text, e.key) for e in needed
    ]
    assert turn.outcome.termination is None
    first, second = turn.outcome.waiting
    turn.answer(second.id, "b is out")
    turn.answer(first.id, "a is out")
    at_once(turn.run())
    assert results(turn) == [("look ran", False), ("a is out", False), ("b is out", False)]
    assert turn.state.rounds[0].tools_used == ["look", "post", "post"]
    assert (turn.outcome.text, turn.outcome.waiting) == ("Done.", [])
    playing.assert_legal(turn)


@pytest.mark.parametrize("wire", WIRES)
def test_results_are_given_one_by_one_in_other_processes(wire: str) -> None:
    log = Told()
    turn, counting, _ = waiting(wire, observers=[log])
    first, second = turn.outcome.waiting
    for one in (second, first):
        turn = Turn(turn.provider, offered(counting, **AWAY), observers=[log], state=states.load(log.states[-1]))
        turn.answer(one.id, f"{one.id} is out")
        at_once(turn.run())
    assert results(turn) == [("look ran", False), (f"{first.id} is out", False), (f"{second.id} is out", False)]
    assert turn.outcome.text == "Done."
    assert counting.names == ["look"]
    handed = [event.call_id for event in only(log.events, told.ResultNeeded)]
    assert handed == [first.id, second.id]  # once each, so that no worker runs a call twice
    assert [event.seq for event in log.events] == list(range(len(log.events)))
    playing.assert_legal(turn)


def test_a_turn_that_is_resumed_says_again_what_it_waits_for_and_hands_nothing_out_again() -> None:
    turn, _, _ = waiting()
    again = Turn(turn.provider, turn.tools, state=states.load(states.dump(turn.state)))
    events = at_once(playing.play(again, None))
    assert kinds(events) == ["turn_started", "turn_waiting"]
    assert again.outcome.waiting == turn.outcome.waiting


class Whole(Emulated):
    """Answers in one piece."""

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        decoder = StreamDecoder(self.wire, provider=self.name, request=body)
        async for piece in super().ask(body):
            decoder.feed(piece)
        yield decoder.finish()


@pytest.mark.parametrize("wire", WIRES)
def test_it_is_all_the_same_whether_the_answer_was_streamed(wire: str) -> None:
    found = []
    for provider in (Emulated(wire, THREE), Whole(wire, THREE)):
        turn = Turn(provider, offered(Counting(), **AWAY))
        events = at_once(playing.play(turn))
        for one in turn.outcome.waiting:
            turn.answer(one.id, "out")
        plain = skeleton([*events, *at_once(playing.play(turn, None))])
        found.append([{**one, "shown": None} if one.get("block") == "tool_use" else one for one in plain])
    assert found[0] == found[1]  # but for the text of arguments, which only streams show


def test_arguments_that_do_not_fit_are_answered_and_never_handed_out() -> None:
    counting = Counting()
    played = script([call("look", city=3), call("look", city="Ulm")], [Say("Done.")])
    turn = Turn(Emulated("openai.chat", played), offered(counting, look={"function": None, "parameters": CITY}))
    events = at_once(playing.play(turn))
    assert [event.arguments for event in only(events, told.ResultNeeded)] == [{"city": "Ulm"}]
    [one] = turn.outcome.waiting
    turn.answer(one.id, "rain")
    at_once(turn.run())
    (wrong, is_error), right = results(turn)
    assert is_error
    assert "do not fit its schema: city: 3 is not of type 'string'" in wrong
    assert right == ("rain", False)
    assert [c.outcome for c in turn.state.rounds[0].calls] == ["invalid_arguments", "returned"]


# answered


class Unreadable:
    """What JSON cannot say."""


OUTCOMES: list[Callable[[], Any]] = [
    lambda: "text",
    lambda: None,
    lambda: {"found": [1, 2.5, None]},
    lambda: b"bytes",
    lambda: [TextPart("in"), JsonPart({"parts": 2})],
    lambda: ToolResult("another id", [TextPart("no such invoice")], is_error=True),
    lambda: ToolFailed("in my own words"),
    lambda: KeyError("city"),
    lambda: SystemExit(2),
    asyncio.CancelledError,
    Unreadable,
    lambda: b"\xff\xfe",
    lambda: "x" * 50,
]


@pytest.mark.parametrize("made", OUTCOMES)
def test_whatever_came_of_it_elsewhere_is_what_it_would_be_here(made: Callable[[], Any]) -> None:
    def here(**_: Any) -> Any:
        outcome = made()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    given = {"on_all_failed": "continue"}
    own = Turn(Emulated("openai.chat", ONE), Counting(post=here).tools(), **given)  # type: ignore[arg-type]
    at_once(own.run("Go."))
    turn, _, _ = waiting(played=ONE, **given)
    turn.answer(turn.outcome.waiting[0].id, made())
    at_once(turn.run())
    assert turn.state.rounds[0].tool_results == own.state.rounds[0].tool_results
    assert turn.state.rounds[0].calls[0].outcome == own.state.rounds[0].calls[0].outcome
    assert turn.outcome.termination == "natural_completion"


def test_where_all_of_them_failed_elsewhere_all_tools_failed() -> None:
    turn, _, _ = waiting(played=ONE, on_all_failed="stop")
    turn.answer(turn.outcome.waiting[0].id, ToolFailed("the mail server is down"))
    at_once(turn.run())
    assert turn.outcome.termination == "all_tools_failed"
    assert "the mail server is down" in turn.outcome.text


def test_a_call_has_exactly_one_result_and_only_one_that_waits_has_any() -> None:
    turn, _, _ = waiting()
    first, second = turn.outcome.waiting
    turn.answer(first.id, "the first")
    with pytest.raises(TurnMisused, match="has its result"):
        turn.answer(first.id, "the second")
    with pytest.raises(TurnMisused, match="does not wait for a result"):
        turn.answer(turn.state.rounds[0].calls[0].id, "it ran here")
    with pytest.raises(TurnMisused, match=f"'nobody' does not wait for a result.*{second.id}"):
        turn.answer("nobody", "x")
    with pytest.raises(TurnMisused, match="does not wait for a decision"):
        turn.decide(second.id, True)
    at_once(turn.run())
    with pytest.raises(TurnMisused, match="does not wait for a result"):
        turn.answer(first.id, "the third")
    turn.answer(second.id, "the other")
    at_once(turn.run())
    assert results(turn)[1:] == [("the first", False), ("the other", False)]
    with pytest.raises(TurnMisused, match="does not wait for a result"):
        turn.answer(second.id, "it is over")


def test_nothing_can_be_answered_before_the_turn_has_begun() -> None:
    with pytest.raises(TurnMisused, match="has not begun"):
        Turn(Emulated("openai.chat", ONE), offered(Counting(), **AWAY)).answer("x", "y")


def test_a_result_that_comes_while_the_turn_runs_is_taken_at_once() -> None:
    """The other call ends after it."""
    given = asyncio.Event()

    async def look(**_: Any) -> str:
        await given.wait()
        return "looked"

    turn = Turn(Emulated("anthropic.messages", THREE), offered(Counting(look=look), **AWAY))
    seen: list[str] = []

    async def run() -> None:
        async for event in turn.stream("Go."):
            seen.append(str(event.__struct_config__.tag))
            if isinstance(event, told.ResultNeeded):
                turn.answer(event.call_id, f"{event.arguments} is out")
                with pytest.raises(TurnMisused, match="has its result"):
                    turn.answer(event.call_id, "again")
            elif isinstance(event, told.CallFinished) and event.name == "post":
                given.set()

    at_once(run())
    assert "turn_waiting" not in seen
    assert turn.outcome.text == "Done."
    assert results(turn)[0] == ("looked", False)
    assert results(turn)[1] == ("{'text': 'a'} is out", False)


# under the policies, and with approval


def test_a_batch_waits_where_a_call_is_run_elsewhere_and_keeps_its_order() -> None:
    played = script([call("look", at=1), call("post", text="a"), call("count"), call("post", text="b")], [Say("Done.")])
    turn, counting, events = waiting(played=played, policy="batch")
    assert counting.names == ["look"]
    assert [e.arguments for e in only(events, told.ResultNeeded)] == [{"text": "a"}]  # the other one's time will come
    turn.answer(turn.outcome.waiting[0].id, "a is out")
    events = at_once(playing.play(turn, None))
    assert counting.names == ["look", "count"]
    assert [e.arguments for e in only(events, told.ResultNeeded)] == [{"text": "b"}]
    turn.answer(turn.outcome.waiting[0].id, "b is out")
    at_once(turn.run())
    assert [text for text, _ in results(turn)] == ["look ran", "a is out", "count ran", "b is out"]
    assert turn.outcome.text == "Done."


def test_a_batch_that_stops_stops_at_a_failure_elsewhere() -> None:
    played = script([call("post", text="a"), call("look", at=1), call("post", text="b")], [Say("Done.")])
    turn, counting, _ = waiting(played=played, policy="batch", on_error="stop")
    turn.answer(turn.outcome.waiting[0].id, ToolFailed("no"))
    at_once(turn.run())
    assert counting.names == []
    assert [how.outcome for how in turn.state.rounds[0].calls] == ["failed", "skipped", "skipped"]
    assert turn.outcome.text == "Done."


@pytest.mark.parametrize(("options", "handed"), [({"policy": "first"}, []), ({"limit": 2}, [{"text": "a"}])])
def test_what_a_policy_or_a_limit_drops_is_not_handed_out(options: Any, handed: list[Any]) -> None:
    turn, counting, _ = waiting(**options)
    assert counting.names == ["look"]
    assert [one.arguments for one in turn.outcome.waiting] == handed
    for one in turn.outcome.waiting:
        turn.answer(one.id, "out")
    at_once(turn.run())
    assert turn.outcome.text == "Done."
    assert all("was not executed" in text for text, is_error in results(turn) if is_error)


def test_a_call_can_want_a_decision_first_and_a_result_then() -> None:
    away = {"post": {"function": None, "approval": lambda given: given["text"] == "a"}}
    turn, _, _ = waiting(away=away)
    first, second = turn.outcome.waiting
    assert [(one.arguments, one.wants) for one in (first, second)] == [
        ({"text": "a"}, "decision"),
        ({"text": "b"}, "result"),
    ]
    with pytest.raises(TurnMisused, match="does not wait for a result"):
        turn.answer(first.id, "too early")
    turn.decide(first.id, True)
    events = at_once(playing.play(turn, None))
    assert [event.call_id for event in only(events, told.ResultNeeded)] == [first.id]
    assert [one.wants for one in turn.outcome.waiting] == ["result", "result"]
    for one in turn.outcome.waiting:
        turn.answer(one.id, "out")
    at_once(turn.run())
    assert turn.outcome.text == "Done."


def test_what_was_not_allowed_is_never_handed_out() -> None:
    turn, _, _ = waiting(played=ONE, away={"post": {"function": None, "approval": True}})
    turn.decide(turn.outcome.waiting[0].id, False, "not now")
    events = at_once(playing.play(turn, None))
    assert only(events, told.ResultNeeded) == []
    assert results(turn) == [("This call was not executed: it was not allowed: not now", True)]


# given up


@pytest.mark.parametrize("wire", WIRES)
def test_cancelling_answers_what_was_handed_out_and_says_that_nobody_knows(wire: str) -> None:
    turn, _, _ = waiting(wire)
    turn.cancel()
    assert turn.outcome.termination == "cancelled"
    assert results(turn) == [("look ran", False), (CANCELLED_ELSEWHERE, True), (CANCELLED_ELSEWHERE, True)]
    assert [c.status for c in turn.state.rounds[0].calls] == ["done", "abandoned", "abandoned"]
    with pytest.raises(TurnMisused, match="does not wait for a result"):
        turn.answer(turn.state.rounds[0].calls[1].id, "too late")
    playing.assert_legal(turn)


def test_what_a_batch_never_handed_out_is_said_to_have_never_run() -> None:
    turn, _, _ = waiting(played=THREE, policy="batch")
    turn.cancel()
    assert [how.outcome for how in turn.state.rounds[0].calls] == ["returned", "cancelled", "skipped"]


def test_a_result_that_was_given_before_the_turn_was_cancelled_counts() -> None:
    log = Told()
    turn, _, _ = waiting(observers=[log])
    first, _ = turn.outcome.waiting
    turn.answer(first.id, "it was out")
    turn.cancel()
    assert results(turn)[1:] == [("it was out", False), (CANCELLED_ELSEWHERE, True)]
    at_once(turn.run())
    assert states.load(log.states[-1]) == turn.state
    assert [event.seq for event in log.events] == list(range(len(log.events)))
    playing.assert_legal(turn)


class Interrupted(Told):
    """Ctrl-C while the log is still writing the first event of a kind."""

    task: asyncio.Task[Any]

    def __init__(self, kind: type = object) -> None:
        super().__init__()
        self._kind: type | None = kind

    async def run(self, turn: Turn) -> None:
        self.task = asyncio.create_task(turn.run())
        await asyncio.wait([self.task])

    async def event(self, event: Any) -> None:
        await super().event(event)
        if self._kind is not None and isinstance(event, self._kind):
            self._kind = None
            self.task.cancel()
            await asyncio.sleep(0)


def test_what_was_done_to_a_turn_that_was_not_running_is_told_though_the_program_is_interrupted_meanwhile() -> None:
    turn, _, _ = waiting()
    log = Interrupted()
    again = Turn(turn.provider, turn.tools, observers=[log], state=turn.state)
    again.answer(again.outcome.waiting[0].id, "it was out")
    again.cancel()

    at_once(log.run(again))
    assert states.load(log.states[-1]) == again.state
    assert isinstance(log.events[-1], told.TurnFailed)


def test_a_result_that_comes_with_the_cancelling_changes_nothing() -> None:
    turn = Turn(Emulated("openai.chat", ONE), offered(Counting(), **AWAY))

    async def run() -> None:
        async for event in turn.stream("Go."):
            if isinstance(event, told.ResultNeeded):
                turn.cancel()
                turn.answer(event.call_id, "a moment too late")

    at_once(run())
    assert turn.outcome.termination == "cancelled"
    assert results(turn) == [(CANCELLED_ELSEWHERE, True)]


def test_a_result_that_was_given_counts_though_the_program_is_interrupted_before_it_is_taken() -> None:
    """Ctrl-C while the log still writes that the turn is resumed."""
    turn, _, _ = waiting()
    first, _ = turn.outcome.waiting

    log = Interrupted(told.TurnStarted)
    again = Turn(turn.provider, turn.tools, observers=[log], state=turn.state)
    again.answer(first.id, "it was out")

    at_once(log.run(again))
    assert log.task.cancelled()
    assert results(again)[1:] == [("it was out", False), (CANCELLED_ELSEWHERE, True)]
    assert states.load(log.states[-1]) == again.state


def test_what_was_given_stays_given_where_the_turn_is_told_to_begin_again() -> None:
    turn, _, _ = waiting(played=ONE)
    turn.answer(turn.outcome.waiting[0].id, "out")
    with pytest.raises(TurnMisused, match="has already begun"):
        at_once(turn.run("Go on."))
    at_once(turn.run())
    assert turn.outcome.text == "Done."


def test_an_answer_that_was_not_taken_because_the_turn_broke_can_be_given_again() -> None:
    class Breaks(Told):
        broken = False

        async def record(self, *arguments: Any) -> None:
            if self.broken:
                raise OSError("the disk is full")

    breaks = Breaks()
    turn, _, _ = waiting(played=ONE, observers=[breaks])
    [one] = turn.outcome.waiting
    turn.answer(one.id, "out")
    breaks.broken = True
    with pytest.raises(OSError, match="full"):
        at_once(turn.run())
    breaks.broken = False
    turn.answer(one.id, "out")
    at_once(turn.run())
    assert turn.outcome.text == "Done."


# declared


@pytest.mark.parametrize("options", [{"parallel": False}, {"fallback": "look"}, {"fallback": Fallback("look")}])
def test_a_tool_without_a_function_can_be_neither_alone_nor_helped_out(options: Any) -> None:
    with pytest.raises(InvalidTool, match="without a function"):
        Tools([Tool(name="post", **options)])


def test_nobody_falls_back_to_a_tool_that_is_run_elsewhere() -> None:
    tools = Tools([Tool(name="look", function=lambda: None, fallback="post"), Tool(name="post")])
    with pytest.raises(InvalidTool, match="its fallback 'post' runs elsewhere"):
        Coordinator(Emulated("openai.chat", ONE), tools)


def test_without_a_turn_around_it_such_a_call_is_answered_as_not_executed() -> None:
    found = ran([asked("post"), asked("here")], Tool(name="post"), tool(lambda: "ran", "here"))
    assert texts(found) == [("skipped", "This call was not executed: post is run elsewhere."), ("returned", "ran")]


def test_a_directed_turn_hands_out_and_waits_too() -> None:
    coordinator = Coordinator(Emulated("openai.chat", THREE), offered(Counting(), **AWAY), limits=Limits(rounds=3))
    assert at_once(coordinator.run("Go.")).text == ""
    for one in coordinator.turn.outcome.waiting:
        coordinator.turn.answer(one.id, "out")
    assert at_once(coordinator.run()).text == "Done."
    assert results(coordinator.turn)[1:] == [("out", False), ("out", False)]
