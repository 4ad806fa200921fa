"""The query coordinator: it applies limits, breakers and recovery to a turn, so that it always ends with an answer.

    coordinator = Coordinator(provider, tools, limits=Limits(rounds=4, tokens=50_000, seconds=60))
    orchestrated = await coordinator.run("Compare the two courses.")
    orchestrated.text, orchestrated.level

    async for event in coordinator.stream("…"): ...        # includes phases and recoveries, as `to_input` events

It wraps one `Turn`. Before each input of the machine, it computes the next step (a pure function) and may replace or
precede the input: with a retry of the round, or with a limit that makes the next answer the last one.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from ...conversation import Assistant, Request
from ...model import Error
from ..backoff import DEFAULT, Backoff, ran_elsewhere
from ..errors import TurnMisused
from ..events import ResultNeeded, TurnEvent
from ..execution.exceptions import is_failure
from ..execution.executor import Executor
from ..execution.tool_results import MOST
from ..execution.tools import ToolLike, Tools
from ..machine.effects import Ask, Effect, Emit, Wait
from ..machine.inputs import (
    AnswerFailed,
    AnswerReceived,
    Begin,
    BlockEnded,
    BlockExtended,
    BlockReplaced,
    BlockRevised,
    BlockStarted,
    CallProgressed,
    Finalize,
    Input,
    Resume,
    Retry,
)
from ..machine.state import TurnState
from ..machine.table import step
from ..model_call import Prepare
from ..outcome import outcome_of
from ..provider import Provider
from ..turn import Turn
from .assembler import Orchestrated, assembled
from .breakers import Breakers
from .context import Built, ContextBuilder, Level
from .dispatcher import Dispatcher
from .engine import GuardedProvider
from .limits import OUT_OF_TIME, LimitMeter, Limits
from .notes import (
    FinalPhase,
    OrchestrationNote,
    Phase,
    ReasoningPhase,
    Recovery,
    RecoveryLevel,
    SynthesisPhase,
    phases,
    recoveries,
    to_input,
)

_log = logging.getLogger("toolparity")

#: HTTP statuses that a retry with another request cannot fix.
_PERMANENT = (401, 403, 404)
#: Errors of this package, which do not count as failures of the provider.
_OWN_ERRORS = ("CircuitOpen", "OutOfTime")
#: Inputs that require no decision.
_PASSED_ON = (BlockStarted, BlockExtended, BlockReplaced, BlockEnded, BlockRevised, CallProgressed)

#: Called before each phase, with the phase and the state after it. If it returns False for a `SynthesisPhase`, the next
#: answer is the last one.
Listener = Callable[[Phase, TurnState], bool | Awaitable[bool | None] | None]


class Coordinator:
    """One turn with limits and recovery.

    ``breakers``: pass the same instance to several turns to share it. ``context``: builds each request. ``listeners``:
    called for each phase; exceptions are logged. ``most``: see `Executor`. ``clock``: returns seconds. ``options``: the
    arguments of `Turn`, such as ``state`` of a turn to resume; the limits count from the resumption. ``prepare`` gets
    the request that the context built, and ``backoff`` waits within the limits. Without ``on_all_failed``, the model
    sees the errors if all tools of a round fail, until that happened in ``limits.attempts`` consecutive rounds.

    Raises InvalidTool for a fallback that does not exist or cannot replace its tool, and TypeError for options of
    `Turn` that the coordinator sets itself.
    """

    def __init__(
        self,
        provider: Provider,
        tools: Tools | Sequence[ToolLike] = (),
        *,
        limits: Limits | None = None,
        breakers: Breakers | None = None,
        context: ContextBuilder | None = None,
        listeners: Sequence[Listener] = (),
        most: int = MOST,
        clock: Callable[[], float] = time.monotonic,
        **options: Any,
    ) -> None:
        for name in ("executor", "max_rounds", "budget", "direct"):
            if name in options:
                raise TypeError(f"{name} cannot be passed: the coordinator sets it")
        self.limits = limits if limits is not None else Limits()
        self.breakers = breakers if breakers is not None else Breakers(clock=clock)
        self.context = context if context is not None else ContextBuilder()
        self._listeners = tuple(listeners)
        self._meter = LimitMeter(self.limits, clock, self._cancel_calls)
        self._pending: list[OrchestrationNote] = []
        self._built: tuple[Request, Built] | None = None
        backoff: Backoff | None = options.pop("backoff", DEFAULT)
        self._backoff = replace(backoff, left=self._seconds_left) if backoff is not None else None
        self._limits_failures = "on_all_failed" not in options
        self._caller_prepare: Prepare | None = options.pop("prepare", None)
        self._level: Level = "whole"
        self._attempts: Counter[int] = Counter()
        state: TurnState | None = options.get("state")
        declared = tools if isinstance(tools, Tools) else Tools(tools)
        inject = options.pop("inject", None)
        dispatcher = Dispatcher(declared, self.breakers, self._meter.forbid, self._on_substitution)
        self._provider = GuardedProvider(provider, self.breakers, self._seconds_left)
        self.turn = Turn(
            self._provider,
            declared,
            direct=self._direct,
            executor=Executor(
                declared,
                most=most,
                admit=dispatcher.admit,
                around=dispatcher.around,
                elsewhere=dispatcher,
                inject=inject,
            ),
            prepare=self._prepare,
            backoff=self._backoff,
            max_rounds=self.limits.rounds,
            **options,
        )
        self.recoveries: list[Recovery] = recoveries(state) if state is not None else []

    @property
    def built(self) -> Built | None:
        """The last request that the context built, None before the first one."""
        return self._built[1] if self._built is not None else None

    async def run(self, message: str | Request | None = None) -> Orchestrated:
        """Run the turn until it is over or waits for a decision: then call ``turn.decide``, and `run` again."""
        async for _ in self.stream(message):
            pass
        return self.orchestrated

    @property
    def orchestrated(self) -> Orchestrated:
        """The current answer; before the turn is over, it may be incomplete."""
        return assembled(self.turn.outcome, self.recoveries)

    async def stream(self, message: str | Request | None = None) -> AsyncIterator[TurnEvent]:
        """Run the turn like `run`, and yield its events. A step's notes (`notes.note_of`) come first."""
        self._meter.start()
        events = self.turn.stream(message)
        try:
            async for event in events:
                yield event
        finally:
            self._meter.stop()
            await events.aclose()  # type: ignore[attr-defined]

    # inputs of the machine

    async def _direct(self, state: TurnState, input: Input) -> list[Input]:
        if isinstance(input, _PASSED_ON):
            return [input]
        self._meter.resume()
        inputs = self._recovered(state, input)
        after, effects = _ahead(state, inputs)
        ask = next((effect for effect in effects if isinstance(effect, Ask)), None)
        ended = [phase for phase in phases(after, effects) if not isinstance(phase, ReasoningPhase)]
        wants_more = all([await self._notify(phase, after) for phase in ended])
        if ask is not None and not ask.last:
            is_spent = not wants_more or self._meter.is_spent(after.usage)
            if is_spent or self._all_failed(after):
                inputs = [Finalize("budget_exceeded" if is_spent else "all_tools_failed"), *inputs]
                after, effects = _ahead(state, inputs)
        after_phases = phases(after, effects)
        for phase in after_phases:
            if isinstance(phase, ReasoningPhase):
                await self._notify(phase, after)
        if after.ending == "all_tools_failed" and state.ending is None:
            self._recover(len(state.rounds), "session", "all tools failed, round after round")
        current = [self._final(phase, after) if isinstance(phase, FinalPhase) else phase for phase in after_phases]
        notes = [to_input(note) for note in (*self._pending, *current)]
        self._pending.clear()
        for effect in effects:
            if isinstance(effect, Emit) and isinstance(effect.event, ResultNeeded):
                self._meter.calls += 1  # it runs elsewhere, so `LimitMeter.forbid` does not count it
            elif isinstance(effect, Wait):
                self._meter.pause()
            elif isinstance(effect, Ask):
                self._built = effect.request, await self._build(effect.request)
        begins = isinstance(input, (Begin, Resume))  # these must be the first input, also in the log
        return [*inputs, *notes] if begins else [*notes, *inputs]

    def _recovered(self, state: TurnState, input: Input) -> list[Input]:
        """Return the inputs that replace a failed answer: a retry, the last request, or the same input."""
        if not isinstance(input, (AnswerFailed, AnswerReceived)) or state.phase != "asking" or state.round is None:
            return [input]
        error, response = _failure(input, state), input.response
        usage = response.usage if response is not None else None
        if response is not None and usage is None and self.built is not None:
            self._meter.estimated_tokens += self.built.tokens + self.context.weight_of(Assistant(response))
        if error is None:
            self.breakers.succeeded("provider", self._provider.circuit)
            if self._level == "simplified":
                self._level = "whole"
            return [input]
        if error.type not in _OWN_ERRORS and error.retryable is not False:
            self.breakers.failed("provider", self._provider.circuit)
        demanded = input.retry_after
        if demanded is not None and self._backoff is not None and not self._backoff.allows(demanded):
            return [input]  # a retry would come before the delay that the provider demands
        if error.type == "CircuitOpen" or error.status in _PERMANENT or self._level == "session":
            return [input]
        round, why = state.round.round_number, f"{error.type}: {error.message}"
        self._attempts[round] += 1
        may_repeat = error.type != "OutOfTime" and not (response is not None and ran_elsewhere(response))
        if may_repeat and self._attempts[round] < self.limits.attempts:
            self._level = "simplified"
            self._recover(round, "round", why)
            return [Retry(usage)]
        self._level = "session"
        self._recover(round, "session", why)
        return [Finalize("incomplete"), Retry(usage)]

    def _prepare(self, request: Request) -> Request:
        """Return the request that `_direct` built before this step, because this method cannot await summaries."""
        if self._built is not None and self._built[0] is not self._built[1].request:
            request = self._built[1].request  # else keep the object, so that the writer can reuse its messages
        return self._caller_prepare(request) if self._caller_prepare is not None else request

    async def _build(self, request: Request) -> Built:
        try:
            async with asyncio.timeout(self._seconds_left()):
                return await self.context.build(request, self._level)
        except TimeoutError:
            _log.warning("the summaries took longer than the time left: the request quotes the rounds instead")
            without_model = ContextBuilder(self.context.tokens, count=self.context.count)
            return await without_model.build(request, self._level)

    # limits

    def _all_failed(self, state: TurnState) -> bool:
        """Return whether all tools failed in the last ``limits.attempts`` rounds."""
        attempts = max(self.limits.attempts, 1)
        failed = [round.all_failed for round in state.rounds[:-1][-attempts:]]
        return self._limits_failures and len(failed) >= attempts and all(failed)

    def _seconds_left(self) -> float | None:
        """Return the seconds left for the current answer, None for no limit. The last answer has more."""
        left = self._meter.seconds_left()
        if left is None:
            return None
        round = self.turn.state.round
        return left + self.limits.last_seconds if round is not None and round.last else left

    def _cancel_calls(self) -> None:
        """Cancel the running calls when the time is over, so that the last request follows."""
        round = self.turn.state.round
        for call in round.calls if round is not None else ():
            if call.status == "started":
                with suppress(TurnMisused):  # it has just ended
                    self.turn.cancel(OUT_OF_TIME, call_id=call.id)

    # notes

    def _recover(
        self, round: int, level: RecoveryLevel, why: str, call: str | None = None, tool: str | None = None
    ) -> None:
        recovery = Recovery(round, level, why, call, tool)
        self.recoveries.append(recovery)
        self._pending.append(recovery)

    def _final(self, phase: FinalPhase, state: TurnState) -> FinalPhase:
        """Return the phase with the answer, so that readers of a log get the same answer as the caller."""
        orchestrated = assembled(outcome_of(state), self.recoveries)
        added = orchestrated.recoveries[len(self.recoveries) :]
        self.recoveries += added
        self._pending += added
        return replace(phase, text=orchestrated.text, uncertainty=orchestrated.uncertainty)

    def _on_substitution(self, call_id: str, tool: str, why: str) -> None:
        self._recover(len(self.turn.state.rounds), "tool", why, call_id, tool)

    async def _notify(self, phase: Phase, state: TurnState) -> bool:
        """Call the listeners. Return False if one of them returned False for a `SynthesisPhase`."""
        wants_more = True
        for listener in self._listeners:
            try:
                result = listener(phase, state)
                result = await result if inspect.isawaitable(result) else result
            except BaseException as error:
                if not is_failure(error):
                    raise
                _log.warning("a listener failed", exc_info=True)
                continue
            wants_more = wants_more and (result is not False or not isinstance(phase, SynthesisPhase))
        return wants_more


def _ahead(state: TurnState, inputs: list[Input]) -> tuple[TurnState, list[Effect]]:
    """Return the state and the effects after these inputs. A step is pure, so it can be computed in advance."""
    effects: list[Effect] = []
    for input in inputs:
        state, added = step(state, input)
        effects += added
    return state, effects


def _failure(input: AnswerFailed | AnswerReceived, state: TurnState) -> Error | None:
    """Return the error of a failed answer, None for a usable one."""
    if isinstance(input, AnswerFailed):
        return input.error
    response = input.response
    choice = state.choice_of(response)
    if response.error is not None:
        return response.error
    if not response.complete or choice is None:
        return Error("Incomplete", "the answer broke off")
    if choice.stop.reason in ("malformed_call", "error"):
        return Error("Incomplete", f"the answer ended with stop reason {choice.stop.reason}")
    return None
