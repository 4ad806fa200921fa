"""Whatever ends a tool, a provider or a hook, the turn ends, every call has a result, and the history is legal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolparity.normalizer.conversation import Assistant, ToolResults
from toolparity.normalizer.model import ToolCall
from toolparity.turns import Executor, Tool, ToolFailed, Tools, Turn
from toolparity.turns import events as turn_events
from toolparity.turns.execution.exceptions import described, message
from toolparity.turns.machine import state as states
from toolparity.turns.machine.inputs import AnswerReceived, CallSettled
from toolparity.turns.narration.acknowledge import ModelAcknowledger, acknowledge
from toolparity.turns.narration.narrating_provider import NarratingProvider
from toolparity.turns.narration.narrator import Narrator
from toolparity.turns.observer import Observer
from toolparity.turns.orchestration import ContextBuilder, Coordinator

from . import playing
from .executing import asked, raising, raising_later, ran, texts, tool
from .playing import (
    Counting,
    Emulated,
    RecordingObserver,
    Say,
    assert_legal,
    at_once,
    call,
    on_every_wire,
    only,
    play,
    script,
)

TWO = script([call("look"), call("count")], [Say("Done.")])


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Tracebacks of these exceptions cannot be sent from a worker of pytest-xdist: they hold half surrogate pairs."""
    caplog.set_level(logging.CRITICAL, "toolparity")


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise ValueError("not even that")

    __repr__ = __str__


class Exits(Exception):
    def __str__(self) -> str:
        raise SystemExit("from within")


class CustomBaseException(BaseException):
    pass


#: Exceptions that no code should raise, and some does.
UNUSUAL: list[BaseException] = [
    GeneratorExit(),
    UnprintableError(),
    Exits(),
    CustomBaseException("unusual"),
    BaseExceptionGroup("several", [CustomBaseException("one"), GeneratorExit()]),
    ExceptionGroup("several", [UnprintableError()]),
    StopIteration("stop"),
    StopAsyncIteration("stop"),
    asyncio.CancelledError("by itself"),
    ValueError("x" * 3_000_000),
    ValueError("half \ud800 a pair"),
    ToolFailed("half \udfff a pair"),
    RecursionError(),
]
unusual = pytest.mark.parametrize("error", UNUSUAL, ids=[type(error).__name__ for error in UNUSUAL])


def emulated(**options: Any) -> Emulated:
    return Emulated("openai.chat", TWO, **options)


def run(turn: Any) -> Any:
    """The outcome of a turn. A turn that hangs fails here, and does not block the tests."""

    async def run() -> Any:
        return await asyncio.wait_for(turn.run("Go."), 60)

    return at_once(run())


def cancel_itself() -> None:
    task: Any = asyncio.current_task()
    task.cancel()


# clean-up of cancelled tools


def cleaning(log: list[str], name: str, seconds: float) -> Tool:
    async def function() -> None:
        try:
            log.append(f"{name} began")
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(seconds)
            log.append(f"{name} cleaned up")

    return Tool(name=name, function=function)


@pytest.mark.parametrize("how", ["cancel", "aclose", "task"])
@pytest.mark.parametrize("policy", ["all", "batch"])
def test_the_cleanup_of_a_cancelled_tool_is_not_interrupted_by_other_calls(policy: Any, how: str) -> None:
    log: list[str] = []
    tools = [cleaning(log, "look", 0.0), cleaning(log, "count", 0.02), cleaning(log, "post", 0.1)]
    provider = Emulated("openai.chat", script([call("look"), call("count"), call("post")], [Say("Done.")]))
    turn = Turn(provider, tools, policy=policy, executor=Executor(Tools(tools), grace=60))
    names = ["look"] if policy == "batch" else ["look", "count", "post"]

    async def when(event: Any) -> bool:
        if not isinstance(event, turn_events.CallStarted) or event.name != names[-1]:
            return False
        while len(log) < len(names):
            await asyncio.sleep(0)
        return True

    playing.interrupted(turn, how, when)
    assert sorted(item for item in log if "cleaned" in item) == sorted(f"{name} cleaned up" for name in names)
    assert turn.outcome.termination == "cancelled"


# resuming a turn that waits


@on_every_wire
@pytest.mark.parametrize("reload", [False, True])
def test_continuing_the_conversation_of_a_waiting_turn_keeps_finished_results(wire: str, reload: bool) -> None:
    counting = Counting()
    tools = counting.tools(post={"approval": True})
    tools.add(Tool(name="away"))
    played = script([Say("Both."), call("look"), call("post"), call("away")], tools=["look", "post", "away"])
    turn = Turn(Emulated(wire, played), tools)
    outcome = at_once(turn.run("Go."))
    assert [entry.name for entry in outcome.waiting] == ["post", "away"]
    if reload:
        loaded = states.load(states.dump(outcome.state))
        outcome = Turn(Emulated(wire, played), tools, state=loaded).outcome
    turns = outcome.next("Never mind.").messages
    assistant, results = turns[-3], turns[-2]
    assert isinstance(assistant, Assistant)
    assert isinstance(results, ToolResults)
    assert [entry.name for entry in assistant.response.calls] == ["look", "post", "away"]
    ran, post, away = [entry.parts[0].text for entry in results.results]  # type: ignore[union-attr]
    assert (ran, post.partition(" executed")[0]) == ("look ran", "This call was not")
    assert "handed out" in away
    assert counting.names == ["look"]
    assert_legal(turn)
    assert outcome.state.phase == "acting"  # it can be decided still
    assert [entry.name for entry in outcome.waiting] == ["post", "away"]


# tasks that are cancelled from inside


class Interrupted(Emulated):
    """Runs a function during the answer."""

    def __init__(self, wire: str, function: Callable[[], Any]) -> None:
        super().__init__(wire, TWO)
        self._function = function

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        async for piece in super().ask(body):
            yield piece
            await self._function()


@on_every_wire
def test_a_provider_that_cancels_its_own_task_counts_as_failed(wire: str) -> None:
    async def cancel() -> None:
        cancel_itself()
        await asyncio.sleep(0)

    counting = Counting()
    turn = Turn(Interrupted(wire, cancel), counting.tools())
    outcome = run(turn)
    assert (outcome.termination, outcome.error.type, counting.ran) == ("provider_failed", "CancelledError", [])
    assert_legal(turn)


@pytest.mark.parametrize("policy", ["all", "batch", "first"])
@pytest.mark.parametrize("which", ["_watched", "execute", "_invoke", ""])
def test_a_turn_continues_if_a_tool_cancels_its_internal_tasks(which: str, policy: Any) -> None:
    main: set[Any] = set()

    async def look(**_: Any) -> None:
        for task in asyncio.all_tasks() - {asyncio.current_task(), *main}:
            if "wait_for" not in str(task) and which in str(task.get_coro()):
                task.cancel()

    async def count(**_: Any) -> None:
        await asyncio.sleep(0.01)

    turn = Turn(Emulated("anthropic.messages", TWO), Counting(look=look, count=count).tools(), policy=policy)

    async def inner() -> Any:
        main.update(asyncio.all_tasks())  # also the task of asyncio.run
        return await asyncio.wait_for(turn.run("Go."), 60)

    async def outer() -> Any:
        return await asyncio.ensure_future(inner())

    outcome = at_once(outer())
    assert outcome.termination in ("natural_completion", "max_rounds_reached", "all_tools_failed"), outcome
    assert all(call_state.settled for round in outcome.state.rounds for call_state in round.calls)
    assert_legal(turn)


def test_a_wrapper_that_cancels_its_own_task_or_raises_does_not_affect_other_calls() -> None:
    async def around(asked: ToolCall, run: Any) -> Any:
        if asked.name == "bad":
            cancel_itself()
        if asked.name == "worse":
            raise LookupError("the breaker broke")
        return await run(asked)

    tools = [tool(lambda: "ran", name) for name in ("bad", "worse", "good")]
    finished_calls = ran([asked(each.name) for each in tools], *tools, executor={"around": around})
    assert [finished.outcome for finished in finished_calls] == ["cancelled", "raised", "returned"]
    assert [finished.result.is_error for finished in finished_calls] == [True, True, False]


@pytest.mark.parametrize("returns_at_once", [True, False])
def test_an_approver_that_cancels_its_own_task_does_not_end_the_turn(returns_at_once: bool) -> None:
    async def approve(_: Any) -> bool:
        cancel_itself()
        if not returns_at_once:
            await asyncio.sleep(0)
        return True

    outcome = run(Turn(emulated(), Counting().tools(look={"approval": True}), approve=approve))
    assert outcome.termination == "natural_completion"
    assert outcome.state.rounds[0].calls[0].settled


def test_a_program_that_ends_with_an_open_stream_does_not_hang() -> None:
    """A caller leaves the stream without closing it: asyncio cancels all tasks, and they end."""

    async def slow(**_: Any) -> None:
        await asyncio.sleep(60)

    kept: list[Any] = []
    cases = (Counting(), turn_events.TurnBlockStart), (Counting(look=slow), turn_events.CallStarted)

    async def main() -> None:
        for counting, last in cases:
            kept.append(Turn(emulated(), counting.tools()).stream("Go."))
            async for event in kept[-1]:
                if isinstance(event, last):
                    break

    at_once(main())


# unexpected exceptions


@unusual
def test_any_exception_of_a_tool_becomes_the_result_of_its_call(error: BaseException) -> None:
    for function in (raising(error), raising_later(error)):
        tools = tool(lambda: "fine", "good"), tool(function, "bad")
        (bad, text), good = texts(ran([asked("bad", "c1"), asked("good", "c2")], *tools))
        assert (bad != "returned", good) == (True, ("returned", "fine"))
        assert text.encode()  # it can be sent
        assert len(text) < 1_100_000


class Raises(Emulated):
    """Raises before the answer begins, or when it is closed."""

    def __init__(self, error: BaseException, *, closing: bool) -> None:
        super().__init__("openai.chat", TWO)
        self.error, self.closing = error, closing

    def ask(self, body: Any) -> Any:
        if not self.closing:
            raise self.error
        pieces, error = super().ask(body), self.error

        class Answer:
            def __aiter__(self) -> Any:
                return self

            async def __anext__(self) -> Any:
                return await anext(pieces)

            async def aclose(self) -> None:
                await pieces.aclose()  # type: ignore[attr-defined]
                raise error

        return Answer()


@unusual
def test_any_exception_of_a_provider_or_of_its_hooks_ends_the_turn_as_failed(error: BaseException) -> None:
    def hook(*_: Any) -> Any:
        raise error

    cases: list[tuple[Emulated, Any]] = [
        (Emulated("anthropic.messages", TWO, fails={0: error}), {}),
        (Emulated("anthropic.messages", TWO, fails={0: error}, after=2), {}),
        (Raises(error, closing=False), {}),
        (emulated(), {"prepare": hook}),
        (emulated(), {"reader": hook}),
    ]
    for provider, options in cases:
        counting = Counting()
        turn = Turn(provider, counting.tools(), **options)
        outcome = run(turn)
        assert (outcome.termination, counting.ran) == ("provider_failed", [])
        assert len(outcome.error.message) < 11_000
        assert states.load(states.dump(outcome.state)).termination == "provider_failed"
        assert_legal(turn, wires=["openai.chat"])
    assert run(Coordinator(emulated(fails={0: error}), Counting().tools(), backoff=None)).text


@unusual
def test_a_provider_that_raises_when_closed_keeps_its_answer(error: BaseException) -> None:
    for kind in (Turn, Coordinator):
        assert run(kind(Raises(error, closing=True), Counting().tools())).text == "Done."


@unusual
def test_an_approver_that_raises_denies_and_an_approval_rule_that_raises_asks(error: BaseException) -> None:
    for function in (raising(error), raising_later(error)):
        counting = Counting()
        tools = counting.tools(look={"approval": True})
        outcome = run(Turn(emulated(), tools, approve=lambda _, raises=function: raises()))  # type: ignore[misc]
        assert (outcome.termination, counting.names) == ("natural_completion", ["count"])
        assert "the approval failed: " in str(outcome.state.rounds[0].tool_results[0].parts)
    tools = Counting().tools(look={"approval": lambda _: raising(error)()})
    assert [waiting.name for waiting in run(Turn(emulated(), tools)).waiting] == ["look"]


@unusual
def test_a_text_writer_that_raises_any_exception_is_replaced_or_omitted(error: BaseException) -> None:
    """The acknowledgement is omitted, the narration is the plain results, the acknowledging model's is the hints."""
    for function in (raising(error), raising_later(error)):
        turn = Turn(emulated(), Counting().tools(), acknowledge=lambda *_, function=function: function())
        assert run(turn).termination == "natural_completion"
    tools = Counting().tools(look={"waiting_hint": "looking around"})
    outcome = run(Turn(NarratingProvider(emulated(), Narrator(emulated(fails={0: error})), tools), tools))
    assert (outcome.termination, "look ran" in outcome.text) == ("natural_completion", True)
    events = at_once(play(Turn(emulated(), tools, acknowledge=ModelAcknowledger(emulated(fails={0: error})))))
    sentence = acknowledge([ToolCall("c", "look", {}, "{}")], tools)
    shown = [event.text for event in only(events, turn_events.Acknowledged)]
    assert shown in ([sentence], [])  # [] if the tools are quicker


@unusual
def test_listeners_and_context_functions_may_raise_any_exception(error: BaseException) -> None:
    def function(*_: Any) -> Any:
        raise error

    context = ContextBuilder(tokens=1, count=function, summarise=function)
    assert run(Coordinator(emulated(), Counting().tools(), listeners=[function], context=context)).text


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_keyboard_interrupt_and_system_exit_end_the_turn_before_they_propagate(error: BaseException) -> None:
    """Raised by the provider, or by a hook: the turn is over, its history legal, and run() raises it."""
    counting = Counting()
    by_provider = Turn(emulated(fails={1: error}), counting.tools())
    by_hook = Turn(emulated(), counting.tools(look={"approval": lambda _: raising(error)()}))
    for turn in (by_provider, by_hook):
        with pytest.raises(type(error)):
            at_once(turn.run("Go."))
        assert turn.outcome.termination == "cancelled"
        assert_legal(turn)
    assert counting.names == ["look", "count"]


def test_an_observer_that_raises_stops_the_turn_with_its_exception() -> None:
    class RaisingObserver(Observer):
        error: BaseException = GeneratorExit()

        async def event(self, event: Any) -> None:
            raise self.error

    observer = RaisingObserver()
    with pytest.raises(RuntimeError, match="an observer raised GeneratorExit"):
        at_once(Turn(emulated(), observers=[observer]).run("Go."))
    observer.error = UnprintableError()
    with pytest.raises(UnprintableError):
        at_once(Turn(emulated(), observers=[observer]).run("Go."))


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("kind", [AnswerReceived, CallSettled])
@pytest.mark.parametrize("make", [Turn, Coordinator])
def test_a_failing_observer_loses_no_result_and_leaves_no_call_in_doubt(make: Any, kind: Any, nth: int) -> None:
    """An observer before it has every result, and one after it only what it recorded."""

    class Fails(RecordingObserver):
        seen = 0

        async def input(self, input: Any) -> None:
            self.seen += isinstance(input, kind)
            if isinstance(input, kind) and self.seen == nth:
                raise OSError("the disk is full")

    before, failing, after = RecordingObserver(), Fails(), RecordingObserver()
    counting = Counting()
    with pytest.raises(OSError, match="full"):
        at_once(make(emulated(), counting.tools(), observers=[before, failing, after]).run("Go."))
    calls = states.load(before.states[-1]).rounds[0].calls
    begins = (kind, nth) != (AnswerReceived, 1)
    assert len(counting.ran) == 2 * begins
    assert {(one.status, one.outcome) for one in calls} <= (
        {("done", "returned")} if begins else {("skipped", "skipped"), ("approved", None)}
    )
    assert after.events == failing.events


@given(st.text(st.characters(exclude_categories=()), max_size=50))
def test_the_message_of_an_exception_can_always_be_encoded(text: str) -> None:
    assert message(ValueError(text)).encode() or not text
    assert described(ValueError(text)).startswith("ValueError")


def test_a_generator_exit_from_a_future_ends_only_its_answer_or_call() -> None:
    """It passes every coroutine of its task, whatever that catches."""

    async def awaits(*_: Any) -> Any:
        return await asyncio.ensure_future(raising_later(GeneratorExit())())

    outcome = run(Turn(Interrupted("openai.chat", awaits), Counting().tools()))
    assert outcome.termination == "provider_failed"
    counting = Counting(look=lambda **_: awaits())
    turn = Turn(emulated(), counting.tools(count={"approval": True}), approve=awaits)
    assert (run(turn).termination, counting.names) == ("natural_completion", ["look"])
    assert [call_state.outcome for call_state in turn.state.rounds[0].calls] == ["raised", "denied"]
