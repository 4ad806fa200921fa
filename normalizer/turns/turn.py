"""The driver of a turn: it takes the user's message to the answer, through as many rounds of calls as needed.

    outcome = await Turn(provider, tools, policy="all", max_rounds=4).run("What do I owe?")

    async for event in Turn(provider, tools).stream("What do I owe?"): ...

The state machine (`machine`) decides, and `Turn` performs its effects: it asks the provider, executes calls and emits
events. All inputs of the machine pass through one queue. So the events have one order, and the observers have recorded
a step before any of its effects starts.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import uuid
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ..conversation import Request
from ..model import Policy, Response, ToolCall
from ..pairing import unanswered
from ..requests import RequestWriter
from ..wires.registry import wire_name
from .backoff import DEFAULT, Backoff, Retries
from .errors import TurnMisused
from .events import TurnEvent
from .execution.barrier import Barrier
from .execution.exceptions import EXITS, described, is_failure
from .execution.executor import NOT_STARTED, Executor, FinishedCall
from .execution.tools import Tool, Tools
from .hooks import Acknowledger, Approver, acknowledgement, decide, written
from .input_queue import InputQueue
from .machine.calls import CANCELLED_RUNNING
from .machine.effects import Approve, Ask, Effect, Emit, Execute, Save, Wait
from .machine.inputs import (
    AcknowledgementReady,
    AnswerFailed,
    AnswerReceived,
    Begin,
    BlockEnded,
    BlockExtended,
    BlockReplaced,
    BlockRevised,
    BlockStarted,
    CallDecided,
    CallEnded,
    CallProgressed,
    CallStarting,
    Cancel,
    Input,
    ResultSupplied,
    Retry,
)
from .machine.state import CallOutcome, OnAllFailed, OnError, Settings, TurnState
from .machine.table import accepting_call, is_invalid, step
from .model_call import ModelCall, Prepare, Reader, broken
from .observer import Observer
from .outcome import Outcome, outcome_of
from .provider import Provider
from .request import first_request, gone_on_with
from .tasks import Tasks

_log = logging.getLogger("toolparity")
_INTERRUPTED = "the program was interrupted"
#: Inputs that still reach the machine when the program is interrupted: output already shown, and results of calls.
_KNOWN = (BlockStarted, BlockExtended, BlockReplaced, BlockEnded, BlockRevised, CallEnded, ResultSupplied)

#: Middleware over the machine's inputs: maps an input to the inputs that the machine gets in its place.
Direct = Callable[[TurnState, Input], Awaitable[list[Input]]]


class Turn:
    """One turn, run once: from its beginning, or resumed from a saved state.

    ``tools``: declared in addition to those of the request. ``approve`` decides on calls that need approval. Without
    it, or where it returns None, the turn waits: call `decide`, then run the turn again. ``acknowledge`` returns the
    text for the user while calls run. ``observers`` record each step before its effects run (`Observer`).
    ``executor``: pass one to share threads among turns, or to wrap calls. ``prepare`` changes each request before it
    is sent, and ``reader`` wraps the decoder of its answer (`asking`). ``backoff``: when to retry an overloaded
    provider, None for never. ``direct``: middleware over the machine's inputs. ``state``: a saved state to resume, of
    any wire; its own settings then apply. For the other arguments see `state.Settings`.
    """

    def __init__(
        self,
        provider: Provider,
        tools: Tools | Sequence[Tool] = (),
        *,
        policy: Policy = "all",
        max_rounds: int = 8,
        limit: int | None = None,
        on_error: OnError = "continue",
        on_all_failed: OnAllFailed = "continue",
        budget: int | None = None,
        loop_after: int = 3,
        loop_limit: int | None = None,
        approve: Approver | None = None,
        acknowledge: Acknowledger | None = None,
        observers: Sequence[Observer] = (),
        executor: Executor | None = None,
        prepare: Prepare | None = None,
        reader: Reader | None = None,
        backoff: Backoff | None = DEFAULT,
        direct: Direct | None = None,
        id: str | None = None,
        state: TurnState | None = None,
    ) -> None:
        self.provider = provider
        self.tools = tools if isinstance(tools, Tools) else Tools(tools)
        self._settings = Settings(policy, max_rounds, limit, on_error, on_all_failed, budget, loop_after, loop_limit)
        self._id = id or uuid.uuid4().hex
        self._approve = approve
        self._acknowledge = acknowledge
        self._observers = tuple(observers)
        self._executor = executor if executor is not None else Executor(self.tools)
        self._prepare = prepare
        self._reader = reader
        self._direct = direct
        self._state = state
        self._retries = Retries(backoff)
        self._refused: Response | None = None  # the partial answer of the round to be retried
        self._writer = RequestWriter(wire_name(provider.wire), provider=provider.name)
        self._said: list[CallDecided | ResultSupplied] = []  # inputs given while the turn was not running
        self._answered: set[str] = set()  # calls whose result is still queued for the machine
        self._untold: deque[tuple[Input, list[Effect]]] = deque()
        self._mail: InputQueue | None = None
        self._barrier = Barrier()
        self._tasks = Tasks(self._post, self._executor.grace)
        self._deciding: set[str] = set()
        self._cancellations: dict[str, asyncio.Future[None]] = {}
        self._asking: ModelCall | None = None
        self._waits = False

    @property
    def state(self) -> TurnState:
        """The current state. Raises TurnMisused before the turn has begun."""
        if self._state is None:
            raise TurnMisused("the turn has not begun", hint="run it with a message")
        return self._state

    @property
    def outcome(self) -> Outcome:
        """The outcome of the current state: how the turn ended, or which calls it waits for."""
        return outcome_of(self.state)

    async def run(self, message: str | Request | None = None) -> Outcome:
        """Run the turn until it is over or waits.

        ``message``: the user's text, or a complete request. None resumes the state.
        """
        async for _ in self.stream(message):
            pass
        return self.outcome

    def run_sync(self, message: str | Request | None = None) -> Outcome:
        """Do the same as `run` from code without a running event loop."""
        return asyncio.run(self.run(message))

    def decide(self, call_id: str, approved: bool, reason: str | None = None) -> None:
        """Approve or deny a call that waits for approval. The first of several decisions about a call counts.

        A turn that is not running applies the decision when it is run again. Raises TurnMisused for a call that does
        not wait for approval.
        """
        accepting_call(self.state, CallDecided, call_id)
        self._say(CallDecided(call_id, approved, reason))

    def answer(self, call_id: str, outcome: Any) -> None:
        """Supply the result of a call that was handed over (`Outcome.waiting`).

        ``outcome``: any value that a tool may return, or an exception, handled as if a tool had raised it
        (`ToolFailed`). A turn that is not running applies it when it is run again. Raises TurnMisused for a call that
        does not wait for a result, and for a second result.
        """
        call = accepting_call(self.state, ResultSupplied, call_id)
        if call_id in self._answered:
            raise TurnMisused(f"{call_id!r} has its result", hint="each call has exactly one")
        finished = self._executor.finished(self.state.tool_call(call), outcome)
        self._answered.add(call_id)
        self._say(ResultSupplied(call_id, finished.result, finished.outcome))

    def cancel(self, reason: str | None = None, *, call_id: str | None = None) -> None:
        """End the turn and answer every open call. With ``call_id``, cancel only that running call.

        ``reason`` appears in the results of calls that did not start. If the turn is not running, its observers are
        notified when it is run again. Raises TurnMisused if the turn has not begun, or if the call with ``call_id`` is
        not running here.
        """
        if call_id is not None:
            cancellation = self._cancellations.get(call_id)
            if cancellation is None:
                raise TurnMisused(f"no call {call_id!r} is running here", hint="answer one that runs elsewhere")
            if not cancellation.done():
                cancellation.set_result(None)
        elif self._mail is not None:
            self._mail.post(self._given_up(reason))
        else:
            for input in (*self._said, Cancel(reason)):
                if not is_invalid(self.state, input):
                    self._untold.append((input, self._stepped(input)))
            self._said.clear()

    async def stream(self, message: str | Request | None = None) -> AsyncIterator[TurnEvent]:
        """Do the same as `run`, and yield each event. Close the iterator (``aclose``) to cancel the turn.

        However the stream ends, its tasks are cancelled, and the provider accepts the history of the state. Raises
        TurnMisused if the turn is running already, or if ``message`` is given for a turn that has begun.
        """
        if self._mail is not None:
            raise TurnMisused("the turn is running")
        beginning = self._beginning(message)
        mail = self._mail = InputQueue()
        self._waits = False
        self._barrier = Barrier()
        self._deciding.clear()
        self._tasks.fault = None
        taking: deque[Input] = deque()
        try:
            for event in await self._tell_untold():
                yield event
            mail.post(beginning)
            while not self._is_over(mail):
                posted = await mail.take()
                if self._tasks.fault is not None:
                    raise self._tasks.fault
                taking.extend(posted.inputs)
                events: list[TurnEvent] = []
                while taking:
                    events += await self._take(taking.popleft())
                posted.told()
                for event in events:
                    yield event
                posted.taken()
        except Exception:
            with suppress(Exception):  # the observer that failed before fails again
                await _each(self._tell_result, (*taking, *mail.rest()))
            raise
        except (asyncio.CancelledError, GeneratorExit, *EXITS):
            try:
                await self._tell_untold()
            finally:
                try:
                    await _each(self._tell_known, (*taking, *mail.rest()))
                finally:
                    await _each(self._take, self._given_up(_INTERRUPTED))
            raise
        finally:
            self._mail = None
            self._asking = None
            self._refused = None
            self._answered.clear()
            self._cancellations.clear()
            await self._tasks.stop()

    # inputs

    def _beginning(self, message: str | Request | None) -> list[Input]:
        if message is not None:
            if self._state is not None:
                raise TurnMisused("the turn has already begun", hint="run outcome.next(message) in a new one")
            request = first_request(message, self.provider, self.tools)
            self._state = TurnState(self._id, self.provider.wire, request, self._settings)
            return [Begin()]
        self._state, resumed = gone_on_with(self.state, self.provider, self.tools)
        said, self._said = self._said, []
        return [resumed, *said]

    def _given_up(self, reason: str | None) -> list[Input]:
        inputs, response = self._asking.arrived() if self._asking is not None else ([], self._refused)
        return [*inputs, Cancel(reason, response)]

    def _say(self, input: CallDecided | ResultSupplied) -> None:
        if self._mail is None:
            self._said.append(input)
        else:
            self._mail.post([input])

    def _post(self, *inputs: Input, paced: bool = False) -> asyncio.Future[None]:
        """Queue inputs for the current run. After its end they are discarded."""
        return (self._mail or InputQueue()).post(inputs, paced=paced)

    def _is_over(self, mail: InputQueue) -> bool:
        return self.state.phase == "over" or (self._waits and not self._deciding and mail.empty)

    async def _take(self, input: Input) -> list[TurnEvent]:
        """Apply one input and return its events. Schedule a retry instead where the backoff allows one."""
        if isinstance(input, ResultSupplied):
            self._answered.discard(input.call_id)
        elif isinstance(input, (AnswerReceived, AnswerFailed)):
            self._asking = None
            retry = self._retries.after(self.state, input)
            if retry is not None:
                events = await self._directed(retry[0])
                self._refused = input.response
                usage = input.response.usage if input.response is not None else None
                self._later(retry[1], [Retry(usage)])
                return events
        if is_invalid(self.state, input):
            return []
        return await self._directed(input)

    async def _directed(self, input: Input) -> list[TurnEvent]:
        directed = [input] if self._direct is None else await self._direct(self.state, input)
        demanded = input.retry_after if isinstance(input, (AnswerReceived, AnswerFailed)) else None
        at = next((place for place, one in enumerate(directed) if isinstance(one, Retry)), len(directed))
        now, later = (directed[:at], directed[at:]) if demanded else (directed, [])
        events = [event for one in now for event in await self._step(one)]
        if demanded and later:
            self._later(demanded, later)
        return events

    def _later(self, seconds: float, inputs: list[Input]) -> None:
        """Post the inputs after so many seconds, to ask the provider again."""

        def ask(_: BaseException | None = None) -> None:
            self._refused = None
            self._post(*inputs)

        async def wait() -> None:
            await self._retries.wait(seconds)
            ask()

        self._tasks.spawn(wait, lost=ask)

    async def _step(self, input: Input) -> list[TurnEvent]:
        """Run one step of the machine: the observers record it, then its effects start."""
        effects = self._stepped(input)
        events = await self._tell(input, effects)
        for effect in effects:
            if not isinstance(effect, (Emit, Save)):
                self._do(effect)
        if isinstance(input, AnswerReceived):
            if self.state.phase == "acting":
                self._acknowledged()
            if self.state.settings.budget is not None and input.response.usage is None:
                _log.warning("the provider told no usage: the budget of turn %s is not kept", self.state.id)
        return events

    def _stepped(self, input: Input) -> list[Effect]:
        """Run one step of the machine without notifying the observers."""
        self._state, effects = step(self.state, input)
        return effects

    async def _tell(self, input: Input, effects: Sequence[Effect]) -> list[TurnEvent]:
        """Report a step to the observers, before its effects start, and return its events."""
        events = [effect.event for effect in effects if isinstance(effect, Emit)]
        kept = next((effect.state for effect in effects if isinstance(effect, Save)), None)
        for observer in self._observers:
            try:
                await observer.input(input)
                if effects:
                    await observer.keep(events, kept)
            except GeneratorExit as error:  # raised from here, it would close the stream
                raise RuntimeError(f"an observer raised {described(error)}") from error
        return events

    async def _tell_known(self, input: Input) -> None:
        if isinstance(input, _KNOWN) and not is_invalid(self.state, input):
            await self._tell(input, self._stepped(input))

    async def _tell_result(self, input: Input) -> None:
        if isinstance(input, CallEnded):  # no other copy exists; a supplied result can be supplied again
            await self._tell_known(input)

    async def _tell_untold(self) -> list[TurnEvent]:
        """Report the steps made while the turn was not running, all before the first event is yielded."""
        events: list[TurnEvent] = []
        while self._untold:
            events += await self._tell(*self._untold.popleft())
        return events

    # effects

    def _do(self, effect: Effect) -> None:
        self._waits = isinstance(effect, Wait)
        if isinstance(effect, Ask):
            self._tasks.spawn(self._ask, effect, lost=self._lost_answer)
        elif isinstance(effect, Execute):
            self._tasks.spawn(self._execute, effect.calls, lost=partial(self._lost_calls, effect.calls))
        elif isinstance(effect, Approve) and self._approve is not None:
            for id in effect.call_ids:
                self._deciding.add(id)
                self._tasks.spawn(self._decide, self._approve, id, lost=partial(self._lost_decision, id))

    async def _ask(self, ask: Ask) -> None:
        settings, hooks = self.state.settings, (self._prepare, self._reader)
        try:
            asking = self._asking = ModelCall(self.provider, self._writer, ask.request, settings.choice, *hooks)
        except BaseException as error:  # a conversation that the wire cannot express
            if not is_failure(error):
                raise
            self._post(AnswerFailed(broken(error)))
            return

        async def post(inputs: list[Input]) -> None:
            await self._post(*inputs, paced=True)

        response = await asking.run(post)
        if not isinstance(response, Response):
            self._post(*response)
            return
        choice = self.state.choice_of(response)
        calls = [call for call in (choice.calls if choice is not None else []) if call.name in self.tools]
        wants = [call.id for call in calls if self.tools[call.name].needs_approval(call.arguments or {})]
        away = [call for call in calls if self.tools[call.name].function is None]
        fit = [call.id for call in away if self._executor.refused(call) is None]
        self._post(AnswerReceived(response, wants, fit, asking.retry_after))

    def _lost_answer(self, error: BaseException) -> None:
        """Report the answer as broken: the provider or a hook cancelled the task that asks."""
        self._post(*(self._asking.broke(error) if self._asking is not None else [AnswerFailed(broken(error))]))

    async def _execute(self, calls: list[ToolCall]) -> None:
        state = self.state
        round = len(state.rounds)
        loop = asyncio.get_running_loop()
        cancellations = {call.id: loop.create_future() for call in calls}
        self._cancellations.update(cancellations)

        async def on_start(call: ToolCall) -> bool:
            await self._post(CallStarting(call.id))
            now = self.state.rounds[round - 1].call(call.id)
            return now is not None and now.status == "started"

        async def on_finish(finished: FinishedCall) -> None:
            self._cancellations.pop(finished.call.id, None)
            await self._post(CallEnded(finished.call.id, finished.result, finished.outcome))

        def on_progress(call: ToolCall, data: Any) -> None:
            self._post(CallProgressed(call.id, data))

        await self._executor.run(
            calls,
            turn=state.id,
            round=round,
            barrier=self._barrier,
            cancellations=cancellations,
            on_start=on_start,
            on_finish=on_finish,
            on_progress=on_progress,
        )

    def _lost_calls(self, calls: list[ToolCall], _: BaseException) -> None:
        """Answer the open calls: a tool or a hook cancelled the task that executes them."""
        round = self.state.rounds[-1]
        for asked in calls:
            call = round.call(asked.id)
            if call is not None and not call.settled:
                how: CallOutcome = "cancelled" if call.attempts else "skipped"
                text = CANCELLED_RUNNING if call.attempts else NOT_STARTED
                self._post(CallEnded(call.id, unanswered(asked, text), how))

    def _lost_decision(self, id: str, error: BaseException) -> None:
        """Deny the call: the approver cancelled the task that it decides in."""
        self._deciding.discard(id)
        self._post(CallDecided(id, False, f"the approval failed: {type(error).__name__}"))

    async def _decide(self, approve: Approver, id: str) -> None:
        state, round = self.state, self.state.rounds[-1]
        call = round.call(id)
        try:
            decided = await decide(approve, state.block_of(call)[1]) if call is not None else None
        finally:
            self._deciding.discard(id)
        self._post(*([decided] if decided is not None else []))  # an empty post lets `_is_over` run again

    def _acknowledged(self) -> None:
        """Post the acknowledgement of the round's calls: at once, or when the awaitable that writes it is done."""
        state, round = self.state, self.state.rounds[-1]
        calls = [state.tool_call(call) for call in round.calls if call.server is None]
        if self._acknowledge is None or not calls:
            return
        choice = state.choice_of(round.response)
        spoken = choice.text.strip() if choice is not None else ""  # the model acknowledged its calls itself
        text = spoken or acknowledgement(self._acknowledge, calls, self.tools)
        if inspect.isawaitable(text):
            writing = asyncio.ensure_future(text)
            self._tasks.keep(writing)
            self._tasks.spawn(self._write, writing, round.round_number)
        elif text:
            self._post(AcknowledgementReady(text, bool(spoken), round.round_number))

    async def _write(self, writing: asyncio.Future[str | None], round: int) -> None:
        text = await written(writing)
        if text:
            self._post(AcknowledgementReady(text, False, round))


async def _each(take: Callable[[Input], Awaitable[object]], inputs: Sequence[Input]) -> None:
    """Call ``take`` with each input, even after an observer failed. Raise the first error at the end."""
    failed: Exception | None = None
    for input in inputs:
        try:
            await take(input)
        except Exception as error:
            failed = failed or error
    if failed is not None:
        raise failed
