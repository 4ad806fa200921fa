"""The query coordinator: it applies limits, breakers and recovery to a turn, so that it always ends with an answer.

    coordinator = Coordinator(provider, tools, limits=Limits(rounds=4, tokens=50_000, seconds=60))
    orchestrated = await coordinator.run("Compare the two courses.")
    orchestrated.text, orchestrated.level

    async for event in coordinator.stream("…"): ...        # includes phases and recoveries, as `noted` events

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
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...conversation import Assistant, Request
from ...errors import PolicyError
from ...model import Error, ToolCall
from ..backoff import DEFAULT, Backoff, ran_elsewhere
from ..errors import TurnMisused
from ..events import ResultNeeded, TurnEvent
from ..execution.exceptions import is_failure
from ..execution.executor import Executor
from ..execution.tool_results import MOST
from ..execution.tools import Tool, Tools
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
from .engine import Engine
from .messages import (
    FinalResponse,
    Message,
    Phase,
    Reasoning,
    Recovery,
    RecoveryLevel,
    Synthesis,
    noted,
    phases,
    recoveries,
)

_log = logging.getLogger("toolparity")

#: HTTP statuses that a retry with another request cannot fix.
_HOPELESS = (401, 403, 404)
#: Errors of this package, which do not count as failures of the provider.
_OURS = ("CircuitOpen", "OutOfTime")

#: Inputs that require no decision.
_GROWING = (BlockStarted, BlockExtended, BlockReplaced, BlockEnded, BlockRevised, CallProgressed)

#: Called before each phase, with the phase and the state after it. If it returns False for a `Synthesis`, the next
#: answer is the last one.
Listener = Callable[[Phase, TurnState], bool | Awaitable[bool | None] | None]


class Limits(Struct, frozen=True):
    """Limits of one turn; None means no limit.

    ``rounds``: answers whose calls are executed. ``calls``: calls in the turn; those that run elsewhere count, but the
    limit does not stop them. ``tokens``: input plus output; if a provider reports no usage, `ContextBuilder` counts
    them. ``seconds``: duration of the turn, without the time it waits for decisions.

    When a limit is reached, the model gets one last request without calls, with ``last_seconds`` beyond ``seconds``.
    ``attempts``: how often a round that fails is requested, and how many consecutive rounds may have only failed tools,
    before the last request. Retries for an overloaded provider (`backoff.Backoff`) do not count.
    """

    rounds: int = 8
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    last_seconds: float = 30.0
    attempts: int = 2

    def __post_init__(self) -> None:
        """Raises PolicyError for a negative limit."""
        for name in self.__struct_fields__:
            given = getattr(self, name)
            if given is not None and given < 0:
                raise PolicyError(f"{name} must be >= 0, got {given}")


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
        tools: Tools | Sequence[Tool] = (),
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
                raise TypeError(f"{name} is the coordinator's own")
        self.limits = limits if limits is not None else Limits()
        self.breakers = breakers if breakers is not None else Breakers(clock=clock)
        self.context = context if context is not None else ContextBuilder()
        self._listeners = tuple(listeners)
        self._clock = clock
        self._untold: list[Message] = []
        self._built: tuple[Request, Built] | None = None
        backoff: Backoff | None = options.pop("backoff", DEFAULT)
        self._backoff = replace(backoff, left=self._left) if backoff is not None else None
        self._bounds_failures = "on_all_failed" not in options
        self._then: Prepare | None = options.pop("prepare", None)
        self._level: Level = "whole"
        self._began: float | None = None
        self._used = 0.0
        self._waits: float | None = None  # since when the turn waits for a decision or a result from outside
        self._timer: asyncio.TimerHandle | None = None
        self._tries: Counter[int] = Counter()
        self._ran = 0
        self._estimated = 0  # tokens of answers without usage
        own = tools if isinstance(tools, Tools) else Tools(tools)
        dispatcher = Dispatcher(own, self.breakers, self._forbidden, self._substituted)
        self._engine = Engine(provider, self.breakers, self._left)
        self.turn = Turn(
            self._engine,
            own,
            direct=self._direct,
            executor=Executor(own, most=most, admit=dispatcher.admit, around=dispatcher.around),
            prepare=self._prepare,
            backoff=self._backoff,
            max_rounds=self.limits.rounds,
            **options,
        )
        state: TurnState | None = options.get("state")
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
        """Run the turn like `run`, and yield its events. A step's messages (`messages.message_of`) come first."""
        self._began, self._waits = self._clock() - self._used, None
        self._watch()
        events = self.turn.stream(message)
        try:
            async for event in events:
                yield event
        finally:
            self._used = (self._clock() if self._waits is None else self._waits) - self._began
            self._unwatch()
            await events.aclose()  # type: ignore[attr-defined]

    # inputs of the machine

    async def _direct(self, state: TurnState, input: Input) -> list[Input]:
        if isinstance(input, _GROWING):
            return [input]
        if self._waits is not None and self._began is not None:
            self._began, self._waits = self._began + self._clock() - self._waits, None
            self._watch()
        told = self._recovered(state, input)
        after, effects = _ahead(state, told)
        ask = next((effect for effect in effects if isinstance(effect, Ask)), None)
        ended = [one for one in phases(after, effects) if not isinstance(one, Reasoning)]
        wanted = [await self._heard(message, after) for message in ended]
        if ask is not None and not ask.last and (not all(wanted) or self._spent(after)):
            told = [Finalize("budget_exceeded"), *told]
            after, effects = _ahead(state, told)
        elif ask is not None and not ask.last and self._all_failed(after):
            told = [Finalize("all_tools_failed"), *told]
            after, effects = _ahead(state, told)
        for message in phases(after, effects):
            if isinstance(message, Reasoning):
                await self._heard(message, after)
        if after.ending == "all_tools_failed" and state.ending is None:
            self._recover(len(state.rounds), "session", "all tools failed, round after round")
        begun = [self._final(one, after) if isinstance(one, FinalResponse) else one for one in phases(after, effects)]
        notes = [noted(one) for one in (*self._untold, *begun)]
        self._untold.clear()
        for effect in effects:
            if isinstance(effect, Emit) and isinstance(effect.event, ResultNeeded):
                self._ran += 1  # it runs elsewhere, so `_forbidden` does not count it
            elif isinstance(effect, Wait):
                self._waits = self._clock()
                self._unwatch()
            elif isinstance(effect, Ask):
                self._built = effect.request, await self._build(effect.request)
        begins = isinstance(input, (Begin, Resume))  # these must be the first input, also in the log
        return [*told, *notes] if begins else [*notes, *told]

    def _recovered(self, state: TurnState, input: Input) -> list[Input]:
        """Return the inputs that replace a failed answer: a retry, the last request, or the same input."""
        if not isinstance(input, (AnswerFailed, AnswerReceived)) or state.phase != "asking" or state.round is None:
            return [input]
        error, response = _trouble(input, state), input.response
        usage = response.usage if response is not None else None
        if response is not None and usage is None and self.built is not None:
            self._estimated += self.built.tokens + self.context.weight_of(Assistant(response))
        if error is None:
            self.breakers.succeeded("provider", self._engine.circuit)
            if self._level == "simplified":
                self._level = "whole"
            return [input]
        if error.type not in _OURS and error.retryable is not False:
            self.breakers.failed("provider", self._engine.circuit)
        why = f"{error.type}: {error.message}"
        demanded = input.retry_after
        if demanded is not None and self._backoff is not None and not self._backoff.allows(demanded):
            return [input]  # a retry would come before the delay that the provider demands
        if error.type == "CircuitOpen" or error.status in _HOPELESS or self._level == "session":
            return [input]
        self._tries[state.round.round_number] += 1
        may_repeat = error.type != "OutOfTime" and not (response is not None and ran_elsewhere(response))
        if may_repeat and self._tries[state.round.round_number] < self.limits.attempts:
            self._level = "simplified"
            self._recover(state.round.round_number, "round", why)
            return [Retry(usage)]
        self._level = "session"
        self._recover(state.round.round_number, "session", why)
        return [Finalize("incomplete"), Retry(usage)]

    def _prepare(self, request: Request) -> Request:
        """Return the request that `_direct` built before this step, because this method cannot await summaries."""
        if self._built is not None and self._built[0] is not self._built[1].request:
            request = self._built[1].request  # else keep the object, so that the writer can reuse its messages
        return self._then(request) if self._then is not None else request

    async def _build(self, request: Request) -> Built:
        try:
            async with asyncio.timeout(self._left()):
                return await self.context.build(request, self._level)
        except TimeoutError:
            _log.warning("the summaries took all the time that was left")
            plain = ContextBuilder(self.context.tokens, count=self.context.count)
            return await plain.build(request, self._level)

    # limits

    def _spent(self, state: TurnState) -> str | None:
        """Return which limit is reached, None if the turn may continue with calls."""
        limit, usage = self.limits.tokens, state.usage
        used = (usage.input_tokens or 0) + (usage.output_tokens or 0) if usage is not None else 0
        used += self._estimated
        if limit is not None and used >= limit:
            return f"the limit of {limit} tokens is used up"
        return self._forbidden(None)

    def _all_failed(self, state: TurnState) -> bool:
        """Return whether all tools failed in the last ``limits.attempts`` rounds."""
        closed = state.rounds[:-1]
        failed = [round.all_failed for round in closed[-max(self.limits.attempts, 1) :]]
        return self._bounds_failures and len(failed) >= max(self.limits.attempts, 1) and all(failed)

    def _forbidden(self, call: ToolCall | None) -> str | None:
        """Return why a call must not run. If it may, count it and return None."""
        limit, left = self.limits.calls, self._seconds_left()
        if limit is not None and self._ran >= limit:
            return f"the limit of {limit} calls in this turn is used up"
        if left is not None and left <= 0:
            return "the time of this turn is over"
        self._ran += call is not None
        return None

    def _seconds_left(self) -> float | None:
        if self.limits.seconds is None or self._began is None:
            return None
        return self._began + self.limits.seconds - (self._clock() if self._waits is None else self._waits)

    def _left(self) -> float | None:
        """Return the seconds left for the current answer, None for no limit. The last answer has more."""
        left = self._seconds_left()
        if left is None:
            return None
        round = self.turn.state.round
        return left + self.limits.last_seconds if round is not None and round.last else left

    def _watch(self) -> None:
        left = self._seconds_left()
        if left is not None:
            self._timer = asyncio.get_running_loop().call_later(max(left, 0), self._overdue)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _overdue(self) -> None:
        """Cancel the running calls when the time is over, so that the last request follows."""
        round = self.turn.state.round
        for call in round.calls if round is not None else ():
            if call.status == "started":
                try:
                    self.turn.cancel("the time of this turn is over", call_id=call.id)
                except TurnMisused:
                    continue  # it has just ended

    # messages

    def _recover(
        self, round: int, level: RecoveryLevel, why: str, call: str | None = None, tool: str | None = None
    ) -> None:
        recovery = Recovery(round, level, why, call, tool)
        self.recoveries.append(recovery)
        self._untold.append(recovery)

    def _final(self, message: FinalResponse, state: TurnState) -> FinalResponse:
        """Return the message with the answer, so that readers of a log get the same answer as the caller."""
        done = assembled(outcome_of(state), self.recoveries)
        for recovery in done.recoveries[len(self.recoveries) :]:
            self.recoveries.append(recovery)
            self._untold.append(recovery)
        return replace(message, text=done.text, uncertainty=done.uncertainty)

    def _substituted(self, call_id: str, tool: str, why: str) -> None:
        self._recover(len(self.turn.state.rounds), "tool", why, call_id, tool)

    async def _heard(self, message: Phase, state: TurnState) -> bool:
        """Call the listeners. Return False if one of them returned False for a `Synthesis`."""
        wanted = True
        for listener in self._listeners:
            try:
                said = listener(message, state)
                said = await said if inspect.isawaitable(said) else said
            except BaseException as error:
                if not is_failure(error):
                    raise
                _log.warning("a listener failed", exc_info=True)
                continue
            wanted = wanted and (said is not False or not isinstance(message, Synthesis))
        return wanted


def _ahead(state: TurnState, inputs: list[Input]) -> tuple[TurnState, list[Effect]]:
    """Return the state and the effects after these inputs. A step is pure, so it can be computed in advance."""
    effects: list[Effect] = []
    for input in inputs:
        state, more = step(state, input)
        effects += more
    return state, effects


def _trouble(input: AnswerFailed | AnswerReceived, state: TurnState) -> Error | None:
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
        return Error("Incomplete", f"the answer ended with {choice.stop.reason}")
    return None
