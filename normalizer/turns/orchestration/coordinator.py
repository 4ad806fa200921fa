"""The query coordinator: limits, breakers and recovery of a turn, which always ends in an answer.

    coordinator = Coordinator(provider, tools, limits=Limits(rounds=4, tokens=50_000, seconds=60))
    orchestrated = await coordinator.run("Compare the two courses.")
    orchestrated.text, orchestrated.level

    async for event in coordinator.stream("…"): ...        # phases and recoveries among them, as `noted`

It is no second turn. It looks one step of the machine ahead, which costs nothing because a step does nothing, and says
what the machine is to be told instead: that a round is asked again, or that the next one is the last.
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
from ...errors import PolicyError, TurnMisused
from ...model import Error, ToolCall
from ..asking import Prepare
from ..backoff import DEFAULT, Backoff, ran_elsewhere
from ..cancelling import is_failure
from ..effects import Ask, Effect, Tell, Wait
from ..events import ResultNeeded, TurnEvent
from ..execution import Executor
from ..happenings import (
    Again,
    Answered,
    Begun,
    Bounded,
    Broke,
    Closed,
    Grew,
    Happening,
    Opened,
    Progressed,
    Replaced,
    Resumed,
    Settled,
)
from ..machine import step
from ..outcome import outcome_of
from ..outcomes import MOST
from ..places import chosen
from ..provider import Provider
from ..state import TurnState
from ..tools import Tool, Tools
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

#: Statuses that no other way of asking mends.
_HOPELESS = (401, 403, 404)
#: Errors that are no doing of the provider's.
_OURS = ("CircuitOpen", "OutOfTime")

#: What decides nothing.
_GROWING = (Opened, Grew, Replaced, Closed, Settled, Progressed)

#: Hears a phase before it begins, with the state behind it. False for a `Synthesis`: enough is known, and the next
#: answer is the last.
Listener = Callable[[Phase, TurnState], bool | Awaitable[bool | None] | None]


class Limits(Struct, frozen=True):
    """``rounds``: answers whose calls are run. ``calls``, ``tokens`` (in and out), ``seconds``: of the whole turn.
    Calls that others run count, but are handed out whatever the limit.

    Where one is used up the model is asked a last time and may not call; that answer has ``last_seconds`` beyond
    ``seconds``. Tokens that a provider does not tell are counted as the context does. ``attempts``: how often a round
    is asked that breaks, and how many rounds in a row all of whose tools fail there may be, before the turn gives up on
    rounds. An overloaded provider is asked again before that counts (`backoff.Backoff`).
    """

    rounds: int = 8
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    last_seconds: float = 30.0
    attempts: int = 2

    def __post_init__(self) -> None:
        """Raises PolicyError for what cannot be."""
        for name in self.__struct_fields__:
            given = getattr(self, name)
            if given is not None and given < 0:
                raise PolicyError(f"{name} of {given}", hint="give a number, 0 or more")


class Coordinator:
    """One turn, directed. ``breakers``: shared among turns, so that they learn from each other. ``context``: what a
    request holds. ``listeners``: hear each phase; one that fails is logged.
    ``clock``: seconds. ``state``: of a turn to go on with; the limits count from here. Other options are `Turn`'s;
    ``prepare`` gets what the context made, and ``backoff`` waits within the limits. Without ``on_all_failed`` the model
    sees the errors where all tools of a round failed, until that happened in ``limits.attempts`` rounds in a row.

    Raises InvalidTool for a fallback that cannot be one.
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
        self._waits: float | None = None  # since when nothing can be done but wait for somebody
        self._timer: asyncio.TimerHandle | None = None
        self._tries: Counter[int] = Counter()
        self._ran = 0
        self._estimated = 0  # tokens of answers that told no figures
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
        """What was made of the request that was asked last."""
        return self._built[1] if self._built is not None else None

    async def run(self, message: str | Request | None = None) -> Orchestrated:
        """Run the turn until it is over, or waits for a decision (then ``turn.decide``, and run again)."""
        async for _ in self.stream(message):
            pass
        return self.orchestrated

    @property
    def orchestrated(self) -> Orchestrated:
        """The answer, as far as there is one."""
        return assembled(self.turn.outcome, self.recoveries)

    async def stream(self, message: str | Request | None = None) -> AsyncIterator[TurnEvent]:
        """The same, event by event; what a step is about comes before its other events (`messages.message_of`)."""
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

    # what the machine is told

    async def _direct(self, state: TurnState, happening: Happening) -> list[Happening]:
        if isinstance(happening, _GROWING):
            return [happening]
        if self._waits is not None and self._began is not None:
            self._began, self._waits = self._began + self._clock() - self._waits, None
            self._watch()
        told = self._recovered(state, happening)
        after, effects = _ahead(state, told)
        ask = next((effect for effect in effects if isinstance(effect, Ask)), None)
        ended = [one for one in phases(after, effects) if not isinstance(one, Reasoning)]
        wanted = [await self._heard(message, after) for message in ended]
        if ask is not None and not ask.last and (not all(wanted) or self._spent(after)):
            told = [Bounded("budget_exceeded"), *told]
            after, effects = _ahead(state, told)
        elif ask is not None and not ask.last and self._all_failed(after):
            told = [Bounded("all_tools_failed"), *told]
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
            if isinstance(effect, Tell) and isinstance(effect.event, ResultNeeded):
                self._ran += 1  # handed out: no executor asks whether it may run
            elif isinstance(effect, Wait):
                self._waits = self._clock()
                self._unwatch()
            elif isinstance(effect, Ask):
                self._built = effect.request, await self._build(effect.request)
        begins = isinstance(happening, (Begun, Resumed))  # nothing comes before that, in the log neither
        return [*told, *notes] if begins else [*notes, *told]

    def _recovered(self, state: TurnState, happening: Happening) -> list[Happening]:
        """What is made of an answer that broke."""
        if not isinstance(happening, (Broke, Answered)) or state.phase != "asking" or state.round is None:
            return [happening]
        error, response = _trouble(happening, state), happening.response
        usage = response.usage if response is not None else None
        if response is not None and usage is None and self.built is not None:
            self._estimated += self.built.tokens + self.context.weight_of(Assistant(response))
        if error is None:
            self.breakers.succeeded("provider", self._engine.circuit)
            if self._level == "simplified":
                self._level = "whole"
            return [happening]
        if error.type not in _OURS and error.retryable is not False:
            self.breakers.failed("provider", self._engine.circuit)
        why = f"{error.type}: {error.message}"
        demanded = happening.retry_after
        if demanded is not None and self._backoff is not None and not self._backoff.allows(demanded):
            return [happening]  # it would be asked before the time that it demands is over
        if error.type == "CircuitOpen" or error.status in _HOPELESS or self._level == "session":
            return [happening]
        self._tries[state.round.round_number] += 1
        may_repeat = error.type != "OutOfTime" and not (response is not None and ran_elsewhere(response))
        if may_repeat and self._tries[state.round.round_number] < self.limits.attempts:
            self._level = "simplified"
            self._recover(state.round.round_number, "round", why)
            return [Again(usage)]
        self._level = "session"
        self._recover(state.round.round_number, "session", why)
        return [Bounded("incomplete"), Again(usage)]

    def _prepare(self, request: Request) -> Request:
        """What was built for it a step before, when there was time to wait for summaries."""
        if self._built is not None and self._built[0] is not self._built[1].request:
            request = self._built[1].request  # else nothing was changed, and the writer knows these turns
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
        """Why nothing more is to be called; null where something may be."""
        limit, usage = self.limits.tokens, state.usage
        used = (usage.input_tokens or 0) + (usage.output_tokens or 0) if usage is not None else 0
        used += self._estimated
        if limit is not None and used >= limit:
            return f"the limit of {limit} tokens is used up"
        return self._forbidden(None)

    def _all_failed(self, state: TurnState) -> bool:
        """Whether the tools of so many rounds in a row all failed that the model is asked a last time."""
        closed = state.rounds[:-1]
        failed = [round.all_failed for round in closed[-max(self.limits.attempts, 1) :]]
        return self._bounds_failures and len(failed) >= max(self.limits.attempts, 1) and all(failed)

    def _forbidden(self, call: ToolCall | None) -> str | None:
        """Why a call must not run. One that may is counted."""
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
        """Seconds for an answer: the last one has some more."""
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
        """The time is over: what runs is given up, and the model is asked a last time."""
        round = self.turn.state.round
        for call in round.calls if round is not None else ():
            if call.status == "started":
                try:
                    self.turn.cancel("the time of this turn is over", call_id=call.id)
                except TurnMisused:
                    continue  # it ended just now

    # what is told

    def _recover(
        self, round: int, level: RecoveryLevel, why: str, call: str | None = None, tool: str | None = None
    ) -> None:
        recovery = Recovery(round, level, why, call, tool)
        self.recoveries.append(recovery)
        self._untold.append(recovery)

    def _final(self, message: FinalResponse, state: TurnState) -> FinalResponse:
        """The message with the answer: whoever follows a log has to read what the caller gets."""
        done = assembled(outcome_of(state), self.recoveries)
        for recovery in done.recoveries[len(self.recoveries) :]:
            self.recoveries.append(recovery)
            self._untold.append(recovery)
        return replace(message, text=done.text, uncertainty=done.uncertainty)

    def _substituted(self, call_id: str, tool: str, why: str) -> None:
        self._recover(len(self.turn.state.rounds), "tool", why, call_id, tool)

    async def _heard(self, message: Phase, state: TurnState) -> bool:
        """Whether everybody who hears it lets the turn go on."""
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


def _ahead(state: TurnState, happenings: list[Happening]) -> tuple[TurnState, list[Effect]]:
    """Where these lead: a step does nothing, so it can be taken to look."""
    effects: list[Effect] = []
    for happening in happenings:
        state, more = step(state, happening)
        effects += more
    return state, effects


def _trouble(happening: Broke | Answered, state: TurnState) -> Error | None:
    """What is wrong with an answer, null where it can be worked with."""
    if isinstance(happening, Broke):
        return happening.error
    response = happening.response
    choice = chosen(response, state.settings)
    if response.error is not None:
        return response.error
    if not response.complete or choice is None:
        return Error("Incomplete", "the answer broke off")
    if choice.stop.reason in ("malformed_call", "error"):
        return Error("Incomplete", f"the answer ended with {choice.stop.reason}")
    return None
