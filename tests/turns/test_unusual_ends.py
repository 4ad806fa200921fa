"""Item 18: whatever ends a tool, a provider or a hook, the turn ends with every call answered, and forgets nothing."""

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
from toolparity.turns.narration.acknowledge import ModelAcknowledger, acknowledge
from toolparity.turns.narration.narrating_provider import NarratingProvider
from toolparity.turns.narration.narrator import Narrator
from toolparity.turns.observer import Observer
from toolparity.turns.orchestration import ContextBuilder, Coordinator

from .executing import asked, raising, ran, texts, tool
from .playing import WIRES, Counting, Emulated, Say, assert_legal, at_once, call, only, play, script

TWO = script([call("look"), call("count")], [Say("Done.")])


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Tracebacks of these exceptions cannot be sent from a worker of pytest-xdist: they hold half surrogate pairs."""
    caplog.set_level(logging.CRITICAL, "toolparity")
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


#: What no code should raise, and some does.
UNUSUAL: list[BaseException] = [
    GeneratorExit(),
    UnprintableError(),
    Exits(),
    CustomBaseException("odd"),
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
ids = [type(error).__name__ for error in UNUSUAL]
unusual = pytest.mark.parametrize("error", UNUSUAL, ids=ids)


def awaited(error: BaseException) -> Callable[..., Any]:
    async def function(**_: Any) -> None:
        await asyncio.sleep(0)
        raise error

    return function


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
def test_the_cleanup_of_a_cancelled_tool_is_not_interrupted_by_other_calls(policy: str, how: str) -> None:
    log: list[str] = []
    tools = [cleaning(log, "look", 0.0), cleaning(log, "count", 0.02), cleaning(log, "post", 0.1)]
    provider = Emulated("openai.chat", script([call("look"), call("count"), call("post")], [Say("Done.")]))
    turn = Turn(provider, tools, policy=policy, executor=Executor(Tools(tools), grace=60))
    expected = 1 if policy == "batch" else 3

    async def run() -> None:
        stream = turn.stream("Go.")
        task = asyncio.current_task()
        assert task is not None
        async for event in stream:
            if isinstance(event, turn_events.CallStarted) and len(turn.state.rounds[0].tools_used) == expected:
                while len(log) < expected:
                    await asyncio.sleep(0)
                if how == "aclose":
                    break
                turn.cancel() if how == "cancel" else task.cancel()
        await stream.aclose()  # type: ignore[attr-defined]

    if how == "task":
        with pytest.raises(asyncio.CancelledError):
            at_once(run())
    else:
        at_once(run())
    assert sorted(item for item in log if "cleaned" in item) == sorted(
        f"{name} cleaned up" for name in ("look", "count", "post")[:expected]
    )
    assert turn.outcome.termination == "cancelled"


def test_an_executor_cancels_each_call_once() -> None:
    """The first one that ends does not cancel the others again, while they clean up."""
    log: list[str] = []
    cancelled: list[str] = []

    def counted(name: str, steps: int) -> Tool:
        async def function() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                for _ in range(steps):
                    try:
                        await asyncio.sleep(0)
                    except asyncio.CancelledError:
                        cancelled.append(name)
                log.append(name)

        return Tool(name=name, function=function)

    async def run() -> None:
        executor = Executor(Tools([counted("a", 1), counted("b", 50)]), grace=60)
        task = asyncio.create_task(executor.run([asked("a"), asked("b")]))
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (log, cancelled, executor.abandoned) == (["a", "b"], [], 0)

    at_once(run())


# resuming a turn that waits


@pytest.mark.parametrize("wire", WIRES)
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
    contents = ["".join(getattr(part, "text", "") for part in entry.parts) for entry in results.results]
    assert contents[0] == "look ran"
    assert contents[1].startswith("This call was not executed")
    assert "handed out" in contents[2]
    assert counting.names == ["look"]
    assert_legal(turn)
    assert outcome.state.phase == "acting"  # it can be decided still
    assert [entry.name for entry in outcome.waiting] == ["post", "away"]


# tasks that are cancelled from inside


class CancelsItself(Emulated):
    """Its task is cancelled in the midst of the answer, by its own code."""

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        pieces = super().ask(body)
        async for piece in pieces:
            yield piece
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)


def run_with_timeout(work: Any) -> Any:
    """What it returns; a turn that hangs fails here, and does not hold the tests."""

    async def run() -> Any:
        return await asyncio.wait_for(work, 60)

    return at_once(run())


@pytest.mark.parametrize("wire", WIRES)
def test_a_provider_that_cancels_its_own_task_counts_as_failed(wire: str) -> None:
    counting = Counting()
    turn = Turn(CancelsItself(wire, TWO), counting.tools())
    outcome = run_with_timeout(turn.run("Go."))
    assert (outcome.termination, counting.ran) == ("provider_failed", [])
    assert outcome.error is not None
    assert outcome.error.type == "CancelledError"
    assert_legal(turn)


def others() -> list[asyncio.Task[Any]]:
    """The tasks of the turn: all but that of the test, and the running one."""
    return [item for item in asyncio.all_tasks() if item is not asyncio.current_task() and "wait_for" not in str(item)]


@pytest.mark.parametrize("policy", ["all", "batch", "first"])
@pytest.mark.parametrize("which", ["executing", "calls", "tools", "all of them"])
def test_a_turn_continues_if_a_tool_cancels_its_internal_tasks(which: str, policy: str) -> None:
    main: list[asyncio.Task[Any]] = []

    async def look(**_: Any) -> str:
        for task in others():
            name = str(task.get_coro())
            wanted = {"executing": "_watched", "calls": "execute", "tools": "_invoke"}.get(which, "")
            if task not in main and wanted in name:
                task.cancel()
        return "looked"

    async def count(**_: Any) -> str:
        await asyncio.sleep(0.01)
        return "counted"

    counting = Counting()
    tools = Tools([Tool(name="look", function=look), Tool(name="count", function=count)])
    turn = Turn(Emulated("anthropic.messages", TWO), tools, policy=policy)

    async def run() -> Any:
        main.extend(asyncio.all_tasks())
        return await asyncio.wait_for(turn.run("Go."), 60)

    async def outer() -> Any:
        task = asyncio.ensure_future(run())
        main.append(task)
        return await task

    outcome = at_once(outer())
    assert outcome.termination in ("natural_completion", "max_rounds_reached", "all_tools_failed"), outcome
    for round in outcome.state.rounds:
        assert all(item.settled for item in round.calls)
    assert_legal(turn)
    assert counting.ran == []


def test_a_call_that_cancels_its_own_task_does_not_affect_other_calls() -> None:
    async def around(asked: ToolCall, run: Any) -> Any:
        if asked.name == "bad":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        return await run(asked)

    finished_calls = ran(
        [asked("bad", "c1"), asked("good", "c2")],
        Tool(name="bad", function=lambda: "ran"),
        Tool(name="good", function=lambda: "fine"),
        executor={"around": around},
    )
    assert [item.outcome for item in finished_calls] == ["cancelled", "returned"]


@pytest.mark.parametrize("at_once_too", [True, False])
def test_an_approver_that_cancels_its_own_task_does_not_end_the_turn(at_once_too: bool) -> None:
    async def approve(_: Any) -> bool:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if not at_once_too:
            await asyncio.sleep(0)
        return True

    counting = Counting()
    turn = Turn(Emulated("openai.chat", TWO), counting.tools(look={"approval": True}), approve=approve)
    outcome = run_with_timeout(turn.run("Go."))
    assert outcome.termination == "natural_completion"
    assert outcome.state.rounds[0].calls[0].settled


def test_a_program_that_ends_with_an_open_stream_does_not_hang() -> None:
    """A caller that leaves the stream without closing it: asyncio cancels all tasks, and they end."""

    async def slow(**_: Any) -> None:
        await asyncio.sleep(60)

    loaded: list[Any] = []

    async def run() -> None:
        for fails in (None, Tool(name="look", function=slow)):
            provider = Emulated("openai.chat", TWO)
            turn = Turn(provider, [fails] if fails else Counting().tools())
            stream = turn.stream("Go.")
            loaded.append(stream)
            async for event in stream:
                if isinstance(event, turn_events.CallStarted if fails else turn_events.TurnBlockStart):
                    break

    at_once(run())


# exceptions that no one expects


@pytest.mark.thorough(keep=6)
@unusual
@pytest.mark.parametrize("make", [raising, awaited], ids=["sync", "async"])
def test_any_exception_of_a_tool_becomes_the_result_of_its_call(error: BaseException, make: Any) -> None:
    function = make(error)
    calls = [asked("bad", "c1"), asked("good", "c2")]
    finished_calls = ran(calls, tool(lambda: "fine", "good"), Tool(name="bad", function=lambda **_: function()))
    assert finished_calls[0].result.is_error
    assert finished_calls[1].outcome == "returned"
    text = texts(finished_calls)[0][1]
    assert text.encode()  # it can be sent
    assert len(text) < 1_100_000


@unusual
def test_any_exception_can_be_supplied_as_a_result(error: BaseException) -> None:
    provider = Emulated("openai.chat", script([call("away")], [Say("Done.")], tools=["away"]))
    turn = Turn(provider, [Tool(name="away")], on_all_failed="continue")
    outcome = at_once(turn.run("Go."))
    turn.answer(outcome.waiting[0].id, error)
    assert run_with_timeout(turn.run()).termination == "natural_completion"


@pytest.mark.thorough(keep=6)
@unusual
@pytest.mark.parametrize("after", [0, 2])
def test_any_exception_of_a_provider_ends_the_turn_as_failed(error: BaseException, after: int) -> None:
    counting = Counting()
    turn = Turn(Emulated("anthropic.messages", TWO, fails={0: error}, after=after), counting.tools())
    outcome = run_with_timeout(turn.run("Go."))
    assert (outcome.termination, counting.ran) == ("provider_failed", [])
    assert outcome.error is not None
    assert len(outcome.error.message) < 11_000
    assert states.load(states.dump(outcome.state)).termination == "provider_failed"
    assert_legal(turn)


@unusual
def test_an_orchestrated_turn_answers_after_any_exception_of_a_provider(error: BaseException) -> None:
    coordinator = Coordinator(Emulated("openai.chat", TWO, fails={0: error}), Counting().tools(), backoff=None)
    done = run_with_timeout(coordinator.run("Go."))
    assert done.text


class Raises(Emulated):
    """Does not even begin, or fails when it is closed."""

    def __init__(self, error: BaseException, *, closing: bool) -> None:
        super().__init__("openai.chat", TWO)
        self.error = error
        self.closing = closing

    def ask(self, body: Any) -> Any:
        if not self.closing:
            raise self.error
        pieces = super().ask(body)
        error = self.error

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
def test_a_provider_whose_ask_raises_counts_as_failed(error: BaseException) -> None:
    outcome = run_with_timeout(Turn(Raises(error, closing=False), Counting().tools()).run("Go."))
    assert outcome.termination == "provider_failed"


@unusual
def test_a_provider_that_raises_when_closed_keeps_its_answer(error: BaseException) -> None:
    counting = Counting()
    for runs in (Turn, Coordinator):
        turn = runs(Raises(error, closing=True), counting.tools())
        assert run_with_timeout(turn.run("Go.")).text == "Done."


@pytest.mark.thorough(keep=6)
@unusual
@pytest.mark.parametrize("make", [raising, awaited], ids=["sync", "async"])
def test_an_approver_that_raises_any_exception_denies_the_call(error: BaseException, make: Any) -> None:
    function = make(error)
    counting = Counting()
    tools = counting.tools(look={"approval": True})
    turn = Turn(Emulated("openai.chat", TWO), tools, approve=lambda _: function())
    assert run_with_timeout(turn.run("Go.")).termination == "natural_completion"
    assert counting.names == ["count"]


@unusual
def test_an_approval_rule_that_raises_any_exception_requires_approval(error: BaseException) -> None:
    def rule(_: Any) -> bool:
        raise error

    turn = Turn(Emulated("openai.chat", TWO), Counting().tools(look={"approval": rule}))
    assert [item.name for item in run_with_timeout(turn.run("Go.")).waiting] == ["look"]


@pytest.mark.thorough(keep=6)
@unusual
@pytest.mark.parametrize("make", [raising, awaited], ids=["sync", "async"])
def test_an_acknowledgement_that_raises_any_exception_is_omitted(error: BaseException, make: Any) -> None:
    function = make(error)
    turn = Turn(Emulated("openai.chat", TWO), Counting().tools(), acknowledge=lambda *_: function())
    assert run_with_timeout(turn.run("Go.")).termination == "natural_completion"


@pytest.mark.thorough(keep=6)
@unusual
@pytest.mark.parametrize("hook", ["prepare", "reader"])
def test_a_request_hook_that_raises_any_exception_ends_the_turn_as_failed(error: BaseException, hook: str) -> None:
    def function(*_: Any) -> Any:
        raise error

    options: Any = {hook: function}
    outcome = run_with_timeout(Turn(Emulated("openai.chat", TWO), Counting().tools(), **options).run("Go."))
    assert outcome.termination == "provider_failed"


@unusual
def test_a_narrator_that_raises_any_exception_is_replaced_by_the_plain_results(error: BaseException) -> None:
    narrator = Narrator(Emulated("openai.chat", script([Say("Never.")]), fails={0: error}))
    tools = Counting().tools()
    turn = Turn(NarratingProvider(Emulated("openai.chat", TWO), narrator, tools), tools)
    outcome = run_with_timeout(turn.run("Go."))
    assert outcome.termination == "natural_completion"
    assert "look ran" in outcome.text


@unusual
def test_an_acknowledging_model_that_raises_any_exception_is_replaced_by_the_hints(error: BaseException) -> None:
    writer = ModelAcknowledger(Emulated("openai.chat", script([Say("Never.")]), fails={0: error}))
    tools = Counting().tools(look={"waiting_hint": "looking around"})
    events = run_with_timeout(play(Turn(Emulated("openai.chat", TWO), tools, acknowledge=writer)))
    sentence = acknowledge([ToolCall("c", "look", {}, "{}")], tools)
    assert [event.text for event in only(events, turn_events.Acknowledged)] in (
        [sentence],
        [],
    )  # [] where the tools are quicker


@unusual
def test_listeners_and_context_functions_may_raise_any_exception(error: BaseException) -> None:
    def function(*_: Any) -> Any:
        raise error

    context = ContextBuilder(tokens=1, count=function, summarise=function)
    coordinator = Coordinator(Emulated("openai.chat", TWO), Counting().tools(), listeners=[function], context=context)
    assert run_with_timeout(coordinator.run("Go.")).text


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_keyboard_interrupt_and_system_exit_end_the_turn_before_they_propagate(error: BaseException) -> None:
    """Raised by the provider, or by a hook: the turn is over, its history legal, and run() raises it."""

    def rule(_: Any) -> bool:
        raise error

    counting = Counting()
    by_provider = Turn(Emulated("openai.chat", TWO, fails={1: error}), counting.tools())
    by_hook = Turn(Emulated("openai.chat", TWO), counting.tools(look={"approval": rule}))
    for turn in (by_provider, by_hook):
        with pytest.raises(type(error)):
            at_once(turn.run("Go."))
        assert turn.outcome.termination == "cancelled"
        assert_legal(turn)
    assert counting.names == ["look", "count"]


class RaisingObserver(Observer):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def event(self, event: Any) -> None:
        raise self.error


def test_an_observer_that_raises_stops_the_turn_with_its_exception() -> None:
    with pytest.raises(RuntimeError, match="an observer raised GeneratorExit"):
        at_once(Turn(Emulated("openai.chat", TWO), observers=[RaisingObserver(GeneratorExit())]).run("Go."))
    with pytest.raises(UnprintableError):
        at_once(Turn(Emulated("openai.chat", TWO), observers=[RaisingObserver(UnprintableError())]).run("Go."))


def test_arguments_nested_too_deep_to_copy_affect_only_their_call() -> None:
    deep: dict[str, Any] = {}
    for _ in range(400):
        deep = {"a": deep}
    finished_calls = ran(
        [ToolCall("c1", "bad", deep, "{}"), asked("good", "c2")],
        Tool(name="bad", function=lambda **_: "ran"),
        Tool(name="good", function=lambda: "fine"),
    )
    assert [item.outcome for item in finished_calls] in (["raised", "returned"], ["returned", "returned"])


def test_a_schema_that_cannot_be_applied_is_reported_as_a_problem_of_the_call() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number", "multipleOf": 0}}}
    bad_tool = Tool(name="t", function=lambda **_: "ran", mapping=False)
    executor = Executor({"t": bad_tool})
    assert executor.refused(asked("t", a=1)) is None
    from toolparity.turns.execution.validation import problems

    assert "cannot be applied" in problems(schema, {"a": 1})[0]


@given(st.text(st.characters(exclude_categories=()), max_size=50))
def test_the_message_of_an_exception_can_always_be_encoded(text: str) -> None:
    assert message(ValueError(text)).encode() or not text
    assert described(ValueError(text)).startswith("ValueError")


class AwaitsAFailedFuture(Emulated):
    """A GeneratorExit that comes out of a future passes every coroutine of its task, whatever that catches."""

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        async def fails() -> None:
            await asyncio.sleep(0)
            raise GeneratorExit

        await asyncio.ensure_future(fails())
        yield b""


def test_a_generator_exit_from_a_future_ends_only_its_answer_or_call() -> None:
    async def awaits(*_: Any) -> Any:
        return await asyncio.ensure_future(awaited(GeneratorExit())())

    outcome = run_with_timeout(Turn(AwaitsAFailedFuture("openai.chat", TWO), Counting().tools()).run("Go."))
    assert outcome.termination == "provider_failed"
    counting = Counting(look=lambda **_: awaits())
    turn = Turn(Emulated("openai.chat", TWO), counting.tools(count={"approval": True}), approve=awaits)
    assert run_with_timeout(turn.run("Go.")).termination == "natural_completion"
    assert counting.names == ["look"]
    assert [item.outcome for item in turn.state.rounds[0].calls] == ["raised", "denied"]
