"""The driver of a turn: it takes the user's message to the answer, through as many rounds of calls as needed.

    outcome = await Turn(provider, tools, policy="all", max_rounds=4).run("What do I owe?")

    async for event in Turn(provider, tools).stream("What do I owe?"): ...

The state machine (`machine`) decides, and `Turn` performs its effects: it asks the provider, executes calls and emits
events. All inputs of the machine pass through one queue. So the events have one order, and the observers have recorded
a step before any of its effects starts.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Unpack

from toolparity.normalizer.model import Response

from .backoff import Retries, retry_in
from .errors import TurnMisused
from .events import TurnEvent
from .execution.exceptions import EXITS, described
from .execution.fallbacks import executor_with_fallbacks
from .execution.tools import ToolLike, Tools
from .instrument import InstrumentedRun
from .log_lines import log_step
from .machine.effects import Effect, Emit, Save, Wait
from .machine.inputs import (
    AddNote,
    AnswerFailed,
    AnswerReceived,
    Begin,
    BlockEnded,
    BlockExtended,
    BlockReplaced,
    BlockRevised,
    BlockStarted,
    CallDecided,
    CallSettled,
    Cancel,
    Input,
    ResultSupplied,
    Retry,
)
from .machine.state import TurnState
from .machine.table import accepting_call, is_invalid, step
from .options import Hooks, TurnOptions, check_options, group, settings_of
from .outcome import Outcome, outcome_of
from .output import output_type
from .performer import Performer
from .prompts import Prompt
from .provider import Provider
from .providers import Providers
from .request import RequestOptions, first_state, resume_with
from .synchronous import run_until_done
from .tasks import InputQueue, each

_INTERRUPTED = "the program was interrupted"
#: Inputs that still reach the machine when the program is interrupted: output already shown, and results of calls.
_KEPT_ON_INTERRUPT = (BlockStarted, BlockExtended, BlockReplaced, BlockEnded, BlockRevised, CallSettled, ResultSupplied)


class Turn:
    """One turn, run once: from its beginning, or resumed from a saved state.

    ``tools``: functions, tools or MCP servers, declared in addition to those of the request. ``options``: see
    `options.TurnOptions`.

    Raises TypeError for an unknown option, PolicyError for one without effect, and InvalidTool.
    """

    def __init__(
        self,
        provider: Provider,
        tools: Tools | Sequence[ToolLike] = (),
        **options: Unpack[TurnOptions],
    ) -> None:
        check_options(options, TurnOptions, "Turn()")
        hooks = group(Hooks, options)
        self.provider = provider
        self.tools = tools if isinstance(tools, Tools) else Tools(tools)
        self._settings = settings_of(options, provider)
        self._output = output_type(options.get("output"))
        self._request_options = group(RequestOptions, options)
        self._id = options.get("id") or uuid.uuid4().hex
        self._state: TurnState | None = options.get("state")
        self._observers = tuple(hooks.observers)
        self._direct = hooks.direct
        self._telemetry = hooks.telemetry
        self._measured: InstrumentedRun | None = None  # the telemetry of the current run
        self._executor = hooks.executor or executor_with_fallbacks(self.tools, hooks.inject, self._on_substitution)
        self._providers = Providers(provider, hooks.fallback, self._output)
        self._performer = Performer(
            self._providers,
            self.tools,
            self._executor,
            lambda: self.state,
            self._post,
            approve=hooks.approve,
            acknowledge=hooks.acknowledge,
            prepare=hooks.prepare,
            reader=hooks.reader,
            output=self._output,
            count_tokens=hooks.count_tokens,
        )
        self._retries = Retries(hooks.backoff)
        self._discarded: Response | None = None  # the partial answer of the round to be retried
        self._queue: InputQueue | None = None  # while the turn runs
        self._waits = False  # the last effect was a `Wait`
        self._supplied: set[str] = set()  # calls whose result is still queued for the machine
        # While the turn does not run: inputs for the next run, and steps that the observers have not recorded yet.
        self._pending: list[CallDecided | ResultSupplied] = []
        self._unrecorded: deque[tuple[Input, list[Effect]]] = deque()

    @property
    def has_begun(self) -> bool:
        """Whether the turn has a state: it was run with a message, or it resumes one."""
        return self._state is not None

    @property
    def state(self) -> TurnState:
        """The current state. Raises TurnMisused before the turn has begun."""
        if self._state is None:
            raise TurnMisused("the turn has not begun", hint="run it with a message")
        return self._state

    @property
    def asked_provider(self) -> Provider:
        """The provider that answers: ``provider``, or the one of ``fallback`` with which the turn continues."""
        return self._providers.current.provider

    @property
    def outcome(self) -> Outcome:
        """The outcome of the current state: how the turn ended, or which calls it waits for."""
        return outcome_of(self.state, self._output)

    async def run(self, message: Prompt | None = None) -> Outcome:
        """Run the turn until it is over or waits.

        ``message``: the user's text, messages of any wire, or a complete request. None resumes the state.
        """
        async for _ in self.stream(message):
            pass
        return self.outcome

    def run_sync(self, message: Prompt | None = None) -> Outcome:
        """Do the same as `run` from code without a running event loop."""
        return run_until_done(self.run(message))

    def decide(self, call_id: str, approved: bool, reason: str | None = None) -> None:
        """Approve or deny a call that waits for approval. The first of several decisions about a call counts.

        A turn that is not running applies the decision when it is run again. Raises TurnMisused for a call that does
        not wait for approval.
        """
        accepting_call(self.state, CallDecided, call_id)
        self._post_or_keep(CallDecided(call_id, approved, reason))

    def answer(self, call_id: str, outcome: Any) -> None:
        """Supply the result of a call that was handed over (`Outcome.waiting`).

        ``outcome``: any value that a tool may return, or an exception, handled as if a tool had raised it
        (`ToolFailed`). A turn that is not running applies it when it is run again. Raises TurnMisused for a call that
        does not wait for a result, and for a second result.
        """
        call = accepting_call(self.state, ResultSupplied, call_id)
        if call_id in self._supplied:
            raise TurnMisused(f"{call_id!r} has its result", hint="each call has exactly one")
        finished = self._executor.finished(self.state.tool_call(call), outcome)
        self._supplied.add(call_id)
        self._post_or_keep(ResultSupplied(call_id, finished.result, finished.outcome))

    def cancel(self, reason: str | None = None, *, call_id: str | None = None) -> None:
        """End the turn and answer every open call. With ``call_id``, cancel only that running call.

        Any thread may call this, `decide` and `answer`. ``reason`` appears in the results of calls that did not start.
        If the turn is not running, its observers are notified when it is run again. Raises TurnMisused if the turn has
        not begun, or if the call with ``call_id`` is not running here.
        """
        if call_id is not None:
            self._in_run(partial(self._performer.cancel_call, call_id))
        elif (queue := self._queue) is not None:
            queue.call(lambda: queue.put(self._cancel_inputs(reason)))
        else:
            for input in (*self._pending, Cancel(reason)):
                if not is_invalid(self.state, input):
                    self._unrecorded.append((input, self._apply(input)))
            self._pending.clear()

    async def stream(self, message: Prompt | None = None) -> AsyncIterator[TurnEvent]:
        """Do the same as `run`, and yield each event. Close the iterator (``aclose``) to cancel the turn.

        However the stream ends, its tasks are cancelled, and the provider accepts the history of the state. Raises
        TurnMisused if the turn is running already, or if ``message`` is given for a turn that has begun.
        """
        if self._queue is not None:
            raise TurnMisused("the turn is running")
        first = self._first_inputs(message)
        queue = self._queue = InputQueue()
        self._waits = False
        self._performer.start(self._measured)
        timer = self._start_timer()
        taken: deque[Input] = deque()
        fault: BaseException | None = None
        try:
            for event in await self._record_all():
                yield event
            queue.put(first)
            while not self._is_done(queue):
                entry = await queue.get()
                if self._performer.tasks.fault is not None:
                    raise self._performer.tasks.fault
                taken.extend(entry.inputs)
                events: list[TurnEvent] = []
                while taken:
                    events += await self._process(taken.popleft())
                entry.processed()
                for event in events:
                    yield event
                entry.delivered()
        except Exception as error:
            fault = error
            # Record the results of calls, of which no other copy exists. The observer that failed may fail again.
            ended = [input for input in (*taken, *queue.drain()) if isinstance(input, CallSettled)]
            with suppress(Exception):
                await each(self._step_if_valid, ended)
            raise
        except (asyncio.CancelledError, GeneratorExit, *EXITS) as error:
            fault = error
            await self._interrupt(taken, queue)
            raise
        finally:
            if timer is not None:
                timer.cancel()
            await self._end_run(fault)

    async def _interrupt(self, taken: deque[Input], queue: InputQueue) -> None:
        """Record what was shown and what ran, and cancel the turn, even if an observer fails."""
        try:
            await self._record_all()
        finally:
            kept = [input for input in (*taken, *queue.drain()) if isinstance(input, _KEPT_ON_INTERRUPT)]
            try:
                await each(self._step_if_valid, kept)
            finally:
                await each(self._process, self._cancel_inputs(_INTERRUPTED))

    async def _end_run(self, fault: BaseException | None) -> None:
        """End everything that still runs. ``fault``: the exception that ended the run."""
        self._queue = None
        self._discarded = None
        self._supplied.clear()
        try:
            await self._performer.stop()
        finally:
            if self._measured is not None:
                self._measured.end(self.state, fault)

    def _on_substitution(self, call_id: str, tool: str, why: str) -> None:
        self._post(AddNote(len(self.state.rounds), "fallback", {"call": call_id, "tool": tool, "why": why}))

    def _first_inputs(self, message: Prompt | None) -> list[Input]:
        if message is not None:
            if self._state is not None:
                raise TurnMisused("the turn has already begun", hint="run outcome.next(message) in a new one")
            self._state = first_state(
                self._id, message, self.provider, self.tools, self._request_options, self._settings
            )
            return [Begin(self._measure())]
        self._state, resume = resume_with(self.state, self.provider, self.tools)
        self._measure()
        pending, self._pending = self._pending, []
        return [resume, *pending]

    def _measure(self) -> dict[str, str]:
        """Begin the telemetry of this run, if there is one. Return its trace context."""
        if self._telemetry is None:
            return {}
        self._measured = self._telemetry.run(self.state, self.provider, self.tools)
        return self._measured.trace

    def _start_timer(self) -> asyncio.TimerHandle | None:
        """Start the timer that cancels this run, None if its time is not limited."""
        seconds = self.state.settings.seconds
        if seconds is None:
            return None
        why = f"the time limit of {seconds:g} seconds is reached"
        return asyncio.get_running_loop().call_later(seconds, self.cancel, why)

    def _cancel_inputs(self, reason: str | None) -> list[Input]:
        model_call = self._performer.model_call
        inputs, response = model_call.partial() if model_call is not None else ([], self._discarded)
        return [*inputs, Cancel(reason, response)]

    def _post(self, *inputs: Input, paced: bool = False) -> asyncio.Future[None]:
        """Queue inputs for the current run. After its end they are discarded."""
        return (self._queue or InputQueue()).put(inputs, paced=paced)

    def _post_or_keep(self, input: CallDecided | ResultSupplied) -> None:
        self._in_run(lambda: self._pending.append(input) if self._queue is None else self._queue.put([input]))

    def _in_run(self, work: Callable[[], object]) -> None:
        """Call ``work`` in the event loop of the run, or here if the turn is not running."""
        work() if self._queue is None else self._queue.call(work)

    def _is_done(self, queue: InputQueue) -> bool:
        return self.state.phase == "over" or (self._waits and not self._performer.busy and queue.empty)

    async def _process(self, input: Input) -> list[TurnEvent]:
        """Process one input and return its events. Ask again instead if a fallback or the backoff allows it."""
        if isinstance(input, (CallDecided, ResultSupplied)):
            if is_invalid(self.state, input):  # an earlier one counted, or the turn was cancelled
                return []
            if isinstance(input, ResultSupplied):
                if self._performer.substitute(input):
                    return []
                self._supplied.discard(input.call_id)
        elif isinstance(input, (AnswerReceived, AnswerFailed)):
            self._performer.model_call = None
            usage = input.response.usage if input.response is not None else None
            note = self._providers.after(self.state, input)
            if note is not None:
                return [*await self._process_directed(note), *await self._process_directed(Retry(usage))]
            retry = self._retries.after(self.state, input)
            if retry is not None:
                note, seconds = retry
                events = await self._process_directed(note)
                self._discarded = input.response
                self._post_later(seconds, [Retry(usage)])
                return events
        return await self._process_directed(input)

    async def _process_directed(self, input: Input) -> list[TurnEvent]:
        """Process the inputs that the ``direct`` middleware returns, from a retry on after its wait."""
        if self._direct is None:
            return await self._step(input)
        inputs = await self._direct(self.state, input)
        if not isinstance(input, (AnswerReceived, AnswerFailed)):
            return [event for directed in inputs for event in await self._step(directed)]
        first, wait = retry_in(inputs, input)
        events = [event for directed in inputs[:first] for event in await self._step(directed)]
        if wait:
            self._discarded = input.response
            self._post_later(wait, inputs[first:])
        return events

    def _post_later(self, seconds: float, inputs: list[Input]) -> None:
        """Post the inputs after so many seconds, to ask the provider again."""

        def post(_: BaseException | None = None) -> None:
            self._discarded = None
            self._post(*inputs)

        async def wait() -> None:
            await self._retries.wait(seconds)
            post()

        self._performer.tasks.spawn(wait, on_lost=post)

    async def _step(self, input: Input) -> list[TurnEvent]:
        """Run one step of the machine: the observers record it, then its effects start."""
        effects = self._apply(input)
        events = await self._record(input, effects)
        for effect in effects:
            if not isinstance(effect, (Emit, Save)):
                self._waits = isinstance(effect, Wait)
                self._performer.perform(effect)
        if isinstance(input, AnswerReceived) and self.state.phase == "acting":
            self._performer.acknowledge_calls()
        return events

    async def _step_if_valid(self, input: Input) -> None:
        """Run a step for its record only: its effects do not start."""
        if not is_invalid(self.state, input):
            await self._record(input, self._apply(input))

    def _apply(self, input: Input) -> list[Effect]:
        self._state, effects = step(self.state, input)
        return effects

    async def _record(self, input: Input, effects: Sequence[Effect]) -> list[TurnEvent]:
        """Report a step to the observers, before its effects start, log it, and return its events."""
        events = [effect.event for effect in effects if isinstance(effect, Emit)]
        saved = next((effect.state for effect in effects if isinstance(effect, Save)), None)
        for observer in self._observers:
            try:
                await observer.input(input)
                if effects:
                    await observer.record(events, saved)
            except GeneratorExit as error:  # raised from here, it would close the stream
                raise RuntimeError(f"an observer raised {described(error)}") from error
        log_step(events, self.state)
        return events

    async def _record_all(self) -> list[TurnEvent]:
        """Report the steps made while the turn was not running, all before the first event is yielded."""
        events: list[TurnEvent] = []
        while self._unrecorded:
            events += await self._record(*self._unrecorded.popleft())
        return events
