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
from toolparity.normalizer.turns import Executor, Tool, ToolFailed, Tools, Turn
from toolparity.normalizer.turns import events as told
from toolparity.normalizer.turns.execution.exceptions import described, message
from toolparity.normalizer.turns.machine import state as states
from toolparity.normalizer.turns.narration.acknowledge import ModelAcknowledger, acknowledge
from toolparity.normalizer.turns.narration.narrating_provider import NarratingProvider
from toolparity.normalizer.turns.narration.narrator import Narrator
from toolparity.normalizer.turns.observer import Observer
from toolparity.normalizer.turns.orchestration import ContextBuilder, Coordinator

from ..turns.executing import asked, raising, ran, texts, tool
from ..turns.playing import WIRES, Counting, Emulated, Say, assert_legal, at_once, call, only, play, script

TWO = script([call("look"), call("count")], [Say("Done.")])


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Tracebacks of these exceptions cannot be sent from a worker of pytest-xdist: they hold half surrogate pairs."""
    caplog.set_level(logging.CRITICAL, "toolparity")
    caplog.set_level(logging.CRITICAL, "toolparity")


class Unsayable(Exception):
    def __str__(self) -> str:
        raise ValueError("not even that")

    __repr__ = __str__


class Exits(Exception):
    def __str__(self) -> str:
        raise SystemExit("from within")


class Odd(BaseException):
    pass


#: What no code should raise, and some does.
UNUSUAL: list[BaseException] = [
    GeneratorExit(),
    Unsayable(),
    Exits(),
    Odd("odd"),
    BaseExceptionGroup("several", [Odd("one"), GeneratorExit()]),
    ExceptionGroup("several", [Unsayable()]),
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
def test_the_clean_up_of_a_cancelled_tool_is_not_cut_short_by_its_siblings(policy: str, how: str) -> None:
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
            if isinstance(event, told.CallStarted) and len(turn.state.rounds[0].tools_used) == expected:
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
    assert sorted(one for one in log if "cleaned" in one) == sorted(
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
def test_going_on_from_a_waiting_turn_keeps_the_call_that_ran(wire: str, reload: bool) -> None:
    counting = Counting()
    tools = counting.tools(post={"approval": True})
    tools.add(Tool(name="away"))
    played = script([Say("Both."), call("look"), call("post"), call("away")], tools=["look", "post", "away"])
    turn = Turn(Emulated(wire, played), tools)
    outcome = at_once(turn.run("Go."))
    assert [one.name for one in outcome.waiting] == ["post", "away"]
    if reload:
        kept = states.load(states.dump(outcome.state))
        outcome = Turn(Emulated(wire, played), tools, state=kept).outcome
    turns = outcome.next("Never mind.").messages
    said, results = turns[-3], turns[-2]
    assert isinstance(said, Assistant)
    assert isinstance(results, ToolResults)
    assert [one.name for one in said.response.calls] == ["look", "post", "away"]
    contents = ["".join(getattr(part, "text", "") for part in one.parts) for one in results.results]
    assert contents[0] == "look ran"
    assert contents[1].startswith("This call was not executed")
    assert "handed out" in contents[2]
    assert counting.names == ["look"]
    assert_legal(turn)
    assert outcome.state.phase == "acting"  # it can be decided still
    assert [one.name for one in outcome.waiting] == ["post", "away"]


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


def ends(work: Any) -> Any:
    """What it returns; a turn that hangs fails here, and does not hold the tests."""

    async def run() -> Any:
        return await asyncio.wait_for(work, 60)

    return at_once(run())


@pytest.mark.parametrize("wire", WIRES)
def test_a_provider_whose_task_is_cancelled_from_inside_failed(wire: str) -> None:
    counting = Counting()
    turn = Turn(CancelsItself(wire, TWO), counting.tools())
    outcome = ends(turn.run("Go."))
    assert (outcome.termination, counting.ran) == ("provider_failed", [])
    assert outcome.error is not None
    assert outcome.error.type == "CancelledError"
    assert_legal(turn)


def others() -> list[asyncio.Task[Any]]:
    """The tasks of the turn: all but that of the test, and the running one."""
    return [one for one in asyncio.all_tasks() if one is not asyncio.current_task() and "wait_for" not in str(one)]


@pytest.mark.parametrize("policy", ["all", "batch", "first"])
@pytest.mark.parametrize("which", ["executing", "calls", "tools", "all of them"])
def test_a_turn_whose_executing_tasks_are_cancelled_from_inside_goes_on(which: str, policy: str) -> None:
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
        assert all(one.settled for one in round.calls)
    assert_legal(turn)
    assert counting.ran == []


def test_a_call_whose_task_is_cancelled_from_inside_takes_no_sibling_with_it() -> None:
    async def around(asked: ToolCall, run: Any) -> Any:
        if asked.name == "bad":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        return await run(asked)

    found = ran(
        [asked("bad", "c1"), asked("good", "c2")],
        Tool(name="bad", function=lambda: "ran"),
        Tool(name="good", function=lambda: "fine"),
        executor={"around": around},
    )
    assert [one.outcome for one in found] == ["cancelled", "returned"]


@pytest.mark.parametrize("at_once_too", [True, False])
def test_an_approver_whose_task_is_cancelled_from_inside_allows_nothing(at_once_too: bool) -> None:
    async def approve(_: Any) -> bool:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if not at_once_too:
            await asyncio.sleep(0)
        return True

    counting = Counting()
    turn = Turn(Emulated("openai.chat", TWO), counting.tools(look={"approval": True}), approve=approve)
    outcome = ends(turn.run("Go."))
    assert outcome.termination == "natural_completion"
    assert outcome.state.rounds[0].calls[0].settled


def test_a_program_that_ends_while_a_turn_is_left_open_does_not_hang() -> None:
    """A caller that leaves the stream without closing it: asyncio cancels all tasks, and they end."""

    async def slow(**_: Any) -> None:
        await asyncio.sleep(60)

    kept: list[Any] = []

    async def run() -> None:
        for fails in (None, Tool(name="look", function=slow)):
            provider = Emulated("openai.chat", TWO)
            turn = Turn(provider, [fails] if fails else Counting().tools())
            stream = turn.stream("Go.")
            kept.append(stream)
            async for event in stream:
                if isinstance(event, told.CallStarted if fails else told.TurnBlockStart):
                    break

    at_once(run())


# exceptions that no one expects


@unusual
@pytest.mark.parametrize("make", [raising, awaited], ids=["sync", "async"])
def test_whatever_a_tool_raises_it_is_the_result_of_its_call(error: BaseException, make: Any) -> None:
    function = make(error)
    calls = [asked("bad", "c1"), asked("good", "c2")]
    found = ran(calls, tool(lambda: "fine", "good"), Tool(name="bad", function=lambda **_: function()))
    assert found[0].result.is_error
    assert found[1].outcome == "returned"
    text = texts(found)[0][1]
    assert text.encode()  # it can be sent
    assert len(text) < 1_100_000


@unusual
def test_whatever_is_given_as_a_result_from_elsewhere_is_one(error: BaseException) -> None:
    provider = Emulated("openai.chat", script([call("away")], [Say("Done.")], tools=["away"]))
    turn = Turn(provider, [Tool(name="away")], on_all_failed="continue")
    outcome = at_once(turn.run("Go."))
    turn.answer(outcome.waiting[0].id, error)
    assert ends(turn.run()).termination == "natural_completion"


@unusual
@pytest.mark.parametrize("after", [0, 2])
def test_whatever_a_provider_raises_ends_the_turn_as_failed(error: BaseException, after: int) -> None:
    counting = Counting()
    turn = Turn(Emulated("anthropic.messages", TWO, fails={0: error}, after=after), counting.tools())
    outcome = ends(turn.run("Go."))
    assert (outcome.termination, counting.ran) == ("provider_failed", [])
    assert outcome.error is not None
    assert len(outcome.error.message) < 11_000
    assert states.load(states.dump(outcome.state)).termination == "provider_failed"
    assert_legal(turn)


@unusual
def test_whatever_a_provider_raises_a_directed_turn_answers(error: BaseException) -> None:
    coordinator = Coordinator(Emulated("openai.chat", TWO, fails={0: error}), Counting().tools())
    done = ends(coordinator.run("Go."))
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
def test_a_provider_that_raises_before_it_begins_failed(error: BaseException) -> None:
    outcome = ends(Turn(Raises(error, closing=False), Counting().tools()).run("Go."))
    assert outcome.termination == "provider_failed"


@unusual
def test_a_provider_that_fails_at_closing_takes_nothing_from_its_answer(error: BaseException) -> None:
    counting = Counting()
    for runs in (Turn, Coordinator):
        turn = runs(Raises(error, closing=True), counting.tools())
        assert ends(turn.run("Go.")).text == "Done."


@unusual
@pytest.mark.parametrize("make", [raising, awaited], ids=["sync", "async"])
def test_an_approver_that_raises_anything_allows_nothing(error: BaseException, make: Any) -> None:
    function = make(error)
    counting = Counting()
    tools = counting.tools(look={"approval": True})
    turn = Turn(Emulated("openai.chat", TWO), tools, approve=lambda _: function())
    assert ends(turn.run("Go.")).termination == "natural_completion"
    assert counting.names == ["count"]


@unusual
def test_an_approval_rule_that_raises_anything_asks(error: BaseException) -> None:
    def rule(_: Any) -> bool:
        raise error

    turn = Turn(Emulated("openai.chat", TWO), Counting().tools(look={"approval": rule}))
    assert [one.name for one in ends(turn.run("Go.")).waiting] == ["look"]


@unusual
@pytest.mark.parametrize("make", [raising, awaited], ids=["sync", "async"])
def test_an_acknowledgement_that_raises_anything_is_left_out(error: BaseException, make: Any) -> None:
    function = make(error)
    turn = Turn(Emulated("openai.chat", TWO), Counting().tools(), acknowledge=lambda *_: function())
    assert ends(turn.run("Go.")).termination == "natural_completion"


@unusual
@pytest.mark.parametrize("hook", ["prepare", "reader"])
def test_a_hook_of_the_request_that_raises_anything_failed_the_round(error: BaseException, hook: str) -> None:
    def function(*_: Any) -> Any:
        raise error

    options: Any = {hook: function}
    outcome = ends(Turn(Emulated("openai.chat", TWO), Counting().tools(), **options).run("Go."))
    assert outcome.termination == "provider_failed"


@unusual
def test_a_narrator_that_raises_anything_is_replaced_by_the_results(error: BaseException) -> None:
    narrator = Narrator(Emulated("openai.chat", script([Say("Never.")]), fails={0: error}))
    tools = Counting().tools()
    turn = Turn(NarratingProvider(Emulated("openai.chat", TWO), narrator, tools), tools)
    outcome = ends(turn.run("Go."))
    assert outcome.termination == "natural_completion"
    assert "look ran" in outcome.text


@unusual
def test_a_writer_of_the_acknowledgement_that_raises_anything_is_replaced(error: BaseException) -> None:
    writer = ModelAcknowledger(Emulated("openai.chat", script([Say("Never.")]), fails={0: error}))
    tools = Counting().tools(look={"waiting_hint": "looking around"})
    events = ends(play(Turn(Emulated("openai.chat", TWO), tools, acknowledge=writer)))
    sentence = acknowledge([ToolCall("c", "look", {}, "{}")], tools)
    assert [event.text for event in only(events, told.Acknowledged)] in (
        [sentence],
        [],
    )  # [] where the tools are quicker


@unusual
def test_what_a_directed_turn_calls_may_raise_anything(error: BaseException) -> None:
    def function(*_: Any) -> Any:
        raise error

    context = ContextBuilder(tokens=1, count=function, summarise=function)
    coordinator = Coordinator(Emulated("openai.chat", TWO), Counting().tools(), listeners=[function], context=context)
    assert ends(coordinator.run("Go.")).text


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_what_ends_the_program_ends_the_turn_first(error: BaseException) -> None:
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


class Watches(Observer):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def event(self, event: Any) -> None:
        raise self.error


def test_an_observer_that_raises_stops_the_turn_with_an_exception() -> None:
    with pytest.raises(RuntimeError, match="an observer raised GeneratorExit"):
        at_once(Turn(Emulated("openai.chat", TWO), observers=[Watches(GeneratorExit())]).run("Go."))
    with pytest.raises(Unsayable):
        at_once(Turn(Emulated("openai.chat", TWO), observers=[Watches(Unsayable())]).run("Go."))


def test_arguments_that_are_too_deep_to_be_copied_fail_their_call_alone() -> None:
    deep: dict[str, Any] = {}
    for _ in range(400):
        deep = {"a": deep}
    found = ran(
        [ToolCall("c1", "bad", deep, "{}"), asked("good", "c2")],
        Tool(name="bad", function=lambda **_: "ran"),
        Tool(name="good", function=lambda: "fine"),
    )
    assert [one.outcome for one in found] in (["raised", "returned"], ["returned", "returned"])


def test_a_schema_that_cannot_be_applied_is_a_problem_of_the_call() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number", "multipleOf": 0}}}
    odd = Tool(name="t", function=lambda **_: "ran", mapping=False)
    executor = Executor({"t": odd})
    assert executor.refused(asked("t", a=1)) is None
    from toolparity.normalizer.turns.execution.validation import problems

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


def test_a_generator_exit_out_of_a_future_ends_nothing_but_its_answer() -> None:
    async def awaits(*_: Any) -> Any:
        return await asyncio.ensure_future(awaited(GeneratorExit())())

    outcome = ends(Turn(AwaitsAFailedFuture("openai.chat", TWO), Counting().tools()).run("Go."))
    assert outcome.termination == "provider_failed"
    counting = Counting(look=lambda **_: awaits())
    turn = Turn(Emulated("openai.chat", TWO), counting.tools(count={"approval": True}), approve=awaits)
    assert ends(turn.run("Go.")).termination == "natural_completion"
    assert counting.names == ["look"]
    assert [one.outcome for one in turn.state.rounds[0].calls] == ["raised", "denied"]
