"""The driver of a turn: it takes the user's message to the answer, through as many rounds of calls as needed.

    outcome = await Turn(provider, tools, policy="all", max_rounds=4).run("What do I owe?")

    async for event in Turn(provider, tools).stream("What do I owe?"): ...

The state machine (`machine`) decides, and `Turn` performs its effects: it asks the provider, executes calls and emits
events. All inputs of the machine pass through one queue. So the events have one order. The inputs in the queue are
processed together: the observers record all their steps before any effect starts, and before the consumer gets the
first event.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
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
from .machine.effects import Effect, Emit, Execute, Save, Wait
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
from .observer import Observer, Step, parts
from .options import Hooks, TurnOptions, check_options, group, settings_of
from .outcome import Outcome, outcome_of
from .output import output_type
from .performer import Performer
from .prompts import Prompt
from .provider import Provider
from .providers import Providers
from .request import RequestOptions, first_state, resume_with
from .synchronous import run_until_done
from .tasks import InputQueue, QueuedInputs, each

_INTERRUPTED = "the program was interrupted"
#: Inputs of blocks that were shown.
_SHOWN = (BlockStarted, BlockExtended, BlockReplaced, BlockEnded, BlockRevised)
#: Inputs that still reach the machine when the program is interrupted: output already shown, and results of calls.
_KEPT_ON_INTERRUPT = (*_SHOWN, CallSettled, ResultSupplied)
#: Iterations of the event loop from the effect `Execute` to the start of its calls: a task, and a task for each call.
_HOPS = 2


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
        self._pending: list[CallDecided | ResultSupplied] = []  # for the next run, while the turn does not run
        #: The reports that remain of the group whose recording failed or was interrupted.
        self._missed: list[tuple[Sequence[Observer], Sequence[Step]]] = []
        self._made: list[tuple[Step, list[Effect]]] = []  # not recorded yet, each with the effects to start then
        self._events: list[TurnEvent] = []  # recorded, and not yielded yet

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
                    self._apply(input)
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
            queue.put(first)
            entries: list[QueuedInputs] = []
            while True:
                await self._commit()
                undone = deque(entries)
                events, self._events = self._events, []
                for event in events:
                    while undone and undone[0].seq <= event.seq:  # not before the consumer has the events before
                        undone.popleft().processed()
                    yield event
                for entry in entries:
                    entry.delivered()
                if self._is_done(queue):
                    break
                entries = await queue.get()
                if self._performer.tasks.fault is not None:
                    taken.extend(input for entry in entries for input in entry.inputs)
                    raise self._performer.tasks.fault
                await self._process_all(entries, taken)
                while await self._start_calls():
                    entries += await self._process_all(queue.drain(), taken)
        except Exception as error:
            fault = error
            # Record the results of calls, of which no other copy exists. The observer that failed may fail again.
            with suppress(Exception):
                rest = (*taken, *queue.drained_inputs(), *self._performer.prevented_calls())
                await self._record_rest(rest, (CallSettled,))
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

        async def process(input: Input) -> None:
            await self._process(input)
            await self._commit()

        try:
            await self._record_rest((*taken, *queue.drained_inputs()), _KEPT_ON_INTERRUPT)
        finally:
            await each(process, self._cancel_inputs(_INTERRUPTED))

    async def _end_run(self, fault: BaseException | None) -> None:
        """End everything that still runs. ``fault``: the exception that ended the run."""
        self._queue = None
        self._discarded = None
        self._supplied.clear()
        self._events.clear()
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
        return [*inputs, Cancel(reason, response, self._performer.prevent_starts())]

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

    async def _process_all(self, entries: list[QueuedInputs], taken: deque[Input]) -> list[QueuedInputs]:
        """Process the inputs of these entries. ``taken`` holds those that are not processed yet."""
        for entry in entries:
            taken.extend(entry.inputs)
        for entry in entries:
            entry.seq = self.state.seq
            for _ in entry.inputs:
                input = taken.popleft()
                try:
                    await self._process(input)
                except BaseException:
                    taken.appendleft(input)  # a result that was applied is invalid when it comes again
                    raise
        return entries

    async def _process(self, input: Input) -> None:
        """Process one input. Ask again instead if a fallback or the backoff allows it."""
        if isinstance(input, (CallDecided, ResultSupplied)):
            if is_invalid(self.state, input):  # an earlier one counted, or the turn was cancelled
                return
            if isinstance(input, ResultSupplied):
                if self._performer.substitute(input):
                    return
                self._supplied.discard(input.call_id)
        elif isinstance(input, (AnswerReceived, AnswerFailed)):
            self._performer.model_call = None
            usage = input.response.usage if input.response is not None else None
            note = self._providers.after(self.state, input)
            if note is not None:
                await self._process_directed(note)
                await self._process_directed(Retry(usage))
                return
            retry = self._retries.after(self.state, input)
            if retry is not None:
                note, seconds = retry
                await self._process_directed(note)
                self._discarded = input.response
                self._post_later(seconds, [Retry(usage)])
                return
        await self._process_directed(input)

    async def _process_directed(self, input: Input) -> None:
        """Process the inputs that the ``direct`` middleware returns, from a retry on after its wait."""
        inputs, first, wait = [input], 1, 0.0
        if self._direct is not None:
            if not all(isinstance(step.input, _SHOWN) for step, _ in self._made):
                await self._commit()  # results must not wait for the middleware
            inputs = await self._direct(self.state, input)
            first = len(inputs)
            if isinstance(input, (AnswerReceived, AnswerFailed)):
                first, wait = retry_in(inputs, input)
        for directed in inputs[:first]:
            self._apply(directed)
        if wait and isinstance(input, (AnswerReceived, AnswerFailed)):
            self._discarded = input.response
            self._post_later(wait, inputs[first:])

    def _post_later(self, seconds: float, inputs: list[Input]) -> None:
        """Post the inputs after so many seconds, to ask the provider again."""

        def post(_: BaseException | None = None) -> None:
            self._discarded = None
            self._post(*inputs)

        async def wait() -> None:
            await self._retries.wait(seconds)
            post()

        self._performer.tasks.spawn(wait, on_lost=post)

    def _apply(self, input: Input) -> None:
        """Run one step of the machine. `_commit` records it and starts its effects."""
        self._state, effects = step(self.state, input)
        events = [effect.event for effect in effects if isinstance(effect, Emit)]
        saved = next((effect.state for effect in effects if isinstance(effect, Save)), None)
        actions: list[Effect] = [effect for effect in effects if not isinstance(effect, (Emit, Save))]
        if actions:
            self._waits = isinstance(actions[-1], Wait)
        self._made.append((Step(input, events, saved), actions))

    async def _start_calls(self) -> bool:
        """Let the executor begin the calls of steps that are not recorded yet. Return whether there are any.

        Each call then waits until its start is recorded, and that is recorded together with the steps before.
        """
        begins = False
        for made, actions in self._made if self.state.phase == "acting" else ():
            if isinstance(made.input, AnswerReceived) and self._performer.acknowledges:
                continue  # the acknowledgement comes first
            for effect in [effect for effect in actions if isinstance(effect, Execute)]:
                actions.remove(effect)
                self._performer.perform(effect)
                begins = True
        for _ in range(_HOPS if begins else 0):
            await asyncio.sleep(0)
        return begins

    async def _commit(self) -> None:
        """Report the steps that were made to the observers. Then start their effects."""
        made, self._made = self._made, []
        await self._record(made)
        for (input, _, _), actions in made if self.state.phase != "over" else ():
            for effect in actions:
                self._performer.perform(effect)
            if isinstance(input, AnswerReceived) and self.state.phase == "acting":
                self._performer.acknowledge_calls()

    async def _record(self, made: Sequence[tuple[Step, list[Effect]]]) -> None:
        """Report steps to the observers. The consumer may then receive their events."""
        steps = [step for step, _ in made]
        await self._report(self._observers, steps)
        events = [event for step in steps for event in step.events]
        log_step(events, self.state)
        self._events += events

    async def _report(self, observers: Sequence[Observer], steps: Sequence[Step]) -> None:
        """Report steps to observers. Each receives only what those before it have recorded.

        If an observer fails, or the recording is interrupted, ``_missed`` has the reports that remain.
        """
        left = deque((number, part) for number, observer in enumerate(observers) for part in parts(observer, steps))
        while left:
            number, part = left.popleft()
            try:
                await observers[number].record_steps(part)
            except BaseException as error:
                if not isinstance(error, (Exception, GeneratorExit)):
                    self._missed = [([observers[number]], part) for number, part in left]
                    raise
                after = sum(len(part) for other, part in left if other == number)
                failed = len(steps) - after - len(part)
                self._missed = [(observers[number + 1 :], steps[:failed])]
                self._missed += [(observers[number:], [step]) for step in steps[failed + len(part) :]]
                if isinstance(error, GeneratorExit):  # raised from here, it would close the stream
                    raise RuntimeError(f"an observer raised {described(error)}") from error
                raise

    async def _record_rest(self, inputs: Iterable[Input], kinds: tuple[type[Input], ...]) -> None:
        """Record the steps that were made, then those of inputs of these kinds, one by one, even if an observer fails.

        The observers first receive what they missed when the recording of a group was interrupted. The effects of the
        steps do not start.
        """

        async def record(input: Input) -> None:
            if not is_invalid(self.state, input):
                self._apply(input)
                await self._record([self._made.pop()])

        made, self._made = self._made, []
        missed, self._missed = self._missed, []
        try:
            await each(lambda one: self._report(*one), missed)
            await each(lambda step: self._record([step]), made)
        finally:
            await each(record, [input for input in inputs if isinstance(input, kinds)])
