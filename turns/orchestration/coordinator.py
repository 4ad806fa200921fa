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
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from toolparity.normalizer.conversation import Request
from toolparity.normalizer.model import Error, ToolCall

from ..backoff import DEFAULT, Backoff, ran_elsewhere
from ..errors import TurnMisused
from ..events import ResultNeeded, TurnEvent
from ..execution.exceptions import is_failure
from ..execution.executor import Executor
from ..execution.tool_results import MOST
from ..execution.tools import ToolLike, Tools
from ..machine.effects import Ask, Emit, Wait
from ..machine.inputs import (
    AddNote,
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
from ..model_call import Prepare
from ..outcome import outcome_of
from ..provider import Provider
from ..secrets import public_text
from ..turn import Turn
from .assembler import Orchestrated, assembled
from .breakers import Breakers
from .context import Built, ContextBuilder, Level
from .dispatcher import Dispatcher
from .engine import GuardedProvider, circuit_of
from .limits import OUT_OF_TIME, LimitMeter, Limits
from .listeners import Decision, Listener
from .notes import (
    FinalPhase,
    OrchestrationNote,
    ReasoningPhase,
    Recovery,
    phases,
    recoveries,
    to_input,
)
from .steering import Steerer, ahead, steered_request

_log = logging.getLogger("toolparity")

#: HTTP statuses that a retry with another request cannot fix.
_PERMANENT = (401, 403, 404)
#: Errors of this package, which do not count as failures of the provider.
_OWN_ERRORS = ("CircuitOpen", "OutOfTime", "PhaseVetoed")
#: Of these, the ones after which no request is sent.
_NOT_ASKED = ("CircuitOpen", "PhaseVetoed")
#: Inputs that require no decision.
_PASSED_ON = (BlockStarted, BlockExtended, BlockReplaced, BlockEnded, BlockRevised, CallProgressed)


class Coordinator:
    """One turn with limits and recovery.

    ``breakers``: pass the same instance to several turns to share it. ``context``: builds each request. ``listeners``:
    decide on each phase (`listeners`); exceptions are logged. ``most``: see `Executor`. ``clock``: returns seconds.
    ``options``: the arguments of `Turn`, such as ``state`` of a turn to resume; the limits count from the resumption.
    ``prepare`` gets the request that the context built, and ``backoff`` waits within the limits. Without
    ``on_all_failed``, the model sees the errors if all tools of a round fail, until that happened in
    ``limits.attempts`` consecutive rounds.

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
        for name in ("executor", "max_rounds", "budget", "count_tokens", "direct"):
            if name in options:
                raise TypeError(f"{name} cannot be passed: the coordinator sets it")
        self.limits = limits if limits is not None else Limits()
        self.breakers = breakers if breakers is not None else Breakers(clock=clock)
        self.context = context if context is not None else ContextBuilder()
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
        dispatcher = Dispatcher(declared, self.breakers, self._forbid, self._on_substitution)
        fallback = options.pop("fallback", ())
        others = fallback if isinstance(fallback, Sequence) else [fallback]
        self._guards = [GuardedProvider(each, self.breakers, self._seconds_left) for each in (provider, *others)]
        executor = Executor(
            declared,
            most=most,
            admit=dispatcher.admit,
            around=dispatcher.around,
            elsewhere=dispatcher,
            inject=inject,
        )
        self._steerer = Steerer(
            listeners, declared, lambda call, value: executor.finished(call, value).result, self._pending.append
        )
        self.turn = Turn(
            self._guards[0],
            declared,
            fallback=self._guards[1:],
            direct=self._direct,
            executor=executor,
            prepare=self._prepare,
            backoff=self._backoff,
            max_rounds=self.limits.rounds,
            count_tokens=self.context.count,
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
            if isinstance(input, BlockStarted):
                self._steerer.shown(input)
            return [input]
        self._meter.resume()
        if isinstance(input, AddNote) and input.note == "failover" and not input.data["why"].startswith(_OWN_ERRORS):
            failed = input.data["from"]
            self.breakers.failed("provider", failed["name"] or failed["wire"])
        inputs = self._recovered(state, input)
        if not isinstance(input, Retry) and any(isinstance(entry, Retry) and entry.wait for entry in inputs):
            return [*self._pending_notes(), *inputs]  # the retry comes back after its wait
        inputs = await self._steerer.steered(state, inputs)
        after, effects = ahead(state, inputs)
        ask = next((effect for effect in effects if isinstance(effect, Ask)), None)
        if ask is not None and not ask.last:
            is_spent = self._meter.is_spent(after.usage)
            if is_spent or self._all_failed(after):
                inputs = [Finalize("budget_exceeded" if is_spent else "all_tools_failed"), *inputs]
                after, effects = ahead(state, inputs)
        after_phases = phases(after, effects)
        made: list[Decision] = []
        for phase in after_phases:
            if isinstance(phase, ReasoningPhase):
                veto, made = await self._steerer.reasoned(phase, after)
                for guard in self._guards:
                    guard.veto = veto
        if after.ending == "all_tools_failed" and state.ending is None:
            self._recover(Recovery(len(state.rounds), "session", "all tools failed, round after round"))
        current = [self._final(phase, after) if isinstance(phase, FinalPhase) else phase for phase in after_phases]
        notes = [*self._pending_notes(), *map(to_input, current)]
        for effect in effects:
            if isinstance(effect, Emit) and isinstance(effect.event, ResultNeeded):
                self._meter.calls += 1  # it runs elsewhere, so `LimitMeter.forbid` does not count it
            elif isinstance(effect, Wait):
                self._meter.pause()
            elif isinstance(effect, Ask):
                built = await self._build(effect.request, effect.round)
                self._built = effect.request, replace(built, request=self._steered(built.request, made))
        begins = isinstance(input, (Begin, Resume))  # these must be the first input, also in the log
        return [*inputs, *notes] if begins else [*notes, *inputs]

    def _recovered(self, state: TurnState, input: Input) -> list[Input]:
        """Return the inputs that replace a failed answer: a retry, the last request, or the same input."""
        if not isinstance(input, (AnswerFailed, AnswerReceived)) or state.phase != "asking" or state.round is None:
            return [input]
        error, response = _failure(input, state), input.response
        usage = response.usage if response is not None else None
        if error is None:
            self.breakers.succeeded("provider", circuit_of(self.turn.asked_provider))
            if self._level == "simplified":
                self._level = "whole"
            return [input]
        if error.type not in _OWN_ERRORS and error.retryable is not False:
            self.breakers.failed("provider", circuit_of(self.turn.asked_provider))
        demanded = input.retry_after
        if demanded is not None and self._backoff is not None and not self._backoff.allows(demanded):
            return [input]  # a retry would come before the delay that the provider demands
        if error.type in _NOT_ASKED or error.status in _PERMANENT or self._level == "session":
            return [input]
        round, why = state.round.round_number, public_text(error)
        self._attempts[round] += 1
        may_repeat = error.type != "OutOfTime" and not (response is not None and ran_elsewhere(response))
        wait = self._wait(state.round.attempt, demanded)
        if may_repeat and self._attempts[round] < self.limits.attempts:
            self._level = "simplified"
            self._recover(Recovery(round, "round", why, seconds=wait))
            return [Retry(usage, wait)]
        self._level = "session"
        self._recover(Recovery(round, "session", why, seconds=wait))
        return [Finalize("incomplete"), Retry(usage, wait)]

    def _wait(self, attempt: int, demanded: float | None) -> float:
        """Return the seconds to wait before the next level of recovery: none if the time left is shorter."""
        if self._backoff is None:
            return demanded or 0.0
        wait = self._backoff.wait(attempt, demanded)
        return wait if self._backoff.allows(wait) else 0.0

    def _prepare(self, request: Request) -> Request:
        """Return the request that `_direct` built before this step, because this method cannot await summaries."""
        if self._built is not None and self._built[0] is not self._built[1].request:
            request = self._built[1].request  # else keep the object, so that the writer can reuse its messages
        return self._caller_prepare(request) if self._caller_prepare is not None else request

    async def _build(self, request: Request, round: int) -> Built:
        attempt = self._attempts[round]
        try:
            async with asyncio.timeout(self._seconds_left()):
                return await self.context.build(request, self._level, attempt)
        except TimeoutError:
            _log.warning("the summaries took longer than the time left: the request quotes the rounds instead")
            without_model = ContextBuilder(self.context.tokens, count=self.context.count)
            return await without_model.build(request, self._level, attempt)

    def _steered(self, request: Request, made: list[Decision]) -> Request:
        """Return the request with the listeners' decisions, or unchanged if a function of a listener raises."""
        try:
            return steered_request(request, made)
        except BaseException as error:
            if not is_failure(error):
                raise
            _log.warning("a listener's change of a request failed", exc_info=True)
            return request

    # limits

    def _forbid(self, call: ToolCall) -> str | None:
        """Return why a call must not run, None if it may. A call that a listener prevented does not count."""
        return "a listener prevented it" if call.id in self._steerer.vetoed else self._meter.forbid(call)

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

    def _pending_notes(self) -> list[Input]:
        notes: list[Input] = [to_input(note) for note in self._pending]
        self._pending.clear()
        return notes

    def _recover(self, recovery: Recovery) -> None:
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
        self._recover(Recovery(len(self.turn.state.rounds), "tool", why, call_id, tool))


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
