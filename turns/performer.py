"""Performs the effects of a turn: sends requests, runs calls, and calls the approval and acknowledgement hooks.

Each effect runs in a background task, and its results come back as inputs of the machine. An error in a hook does not
fail the turn: a failed approver denies the call, and a failed acknowledgement is omitted.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

from toolparity.normalizer.conversation import Encoded, Request, User
from toolparity.normalizer.model import ApprovalRequest, Choice, Error, Response, ToolCall
from toolparity.normalizer.pairing import unanswered

from .errors import TurnMisused
from .execution.barrier import Barrier
from .execution.exceptions import is_failure
from .execution.executor import NOT_STARTED, Executor, FinishedCall
from .execution.tools import Tools
from .instrument import InstrumentedRun
from .machine import inputs
from .machine.calls import CANCELLED_RUNNING
from .machine.effects import Approve, Ask, Effect, Execute
from .machine.state import TurnState
from .model_call import ModelCall, Post, Prepare, WrapDecoder, error_of
from .output import OutputType
from .prompts import user_text
from .provider import Provider
from .providers import Providers, Route
from .tasks import Tasks
from .tokens import Counter, TokenCounter, estimated

#: True approves, False denies, a string denies with this reason, None postpones the decision.
Approval = bool | str | None
Approver = Callable[[ToolCall | ApprovalRequest], Approval | Awaitable[Approval]]
#: ``acknowledge(calls, tools)`` returns the text for the user while these calls run (a sequence of `ToolCall`, and the
#: tools by name), None for no text. An awaitable is awaited while the tools run.
#: One with a parameter ``user_message`` gets the text of the user's message in it.
Acknowledger = Callable[..., str | Awaitable[str | None] | None]

#: How often a model is asked again for an answer of the required form.
_MAX_CORRECTIONS = 2

_log = logging.getLogger("toolparity")


class Performer:
    """Performs the effects of one turn. ``state`` returns the current state. For the others see `turn.Turn`."""

    def __init__(
        self,
        providers: Providers,
        tools: Tools,
        executor: Executor,
        state: Callable[[], TurnState],
        post: Post,
        *,
        approve: Approver | None,
        acknowledge: Acknowledger | None,
        prepare: Prepare | None,
        reader: WrapDecoder | None,
        output: OutputType | None = None,
        count_tokens: Counter = estimated,
    ) -> None:
        self.acknowledges = acknowledge is not None
        self.tasks = Tasks(post, executor.grace)
        self.model_call: ModelCall | None = None  # while an answer arrives
        self.busy: set[str] = set()  # waiting calls for which the approver or a substitute runs
        self._providers = providers
        self._tools = tools
        self._executor = executor
        self._state = state
        self._post = post
        self._approve = approve
        self._acknowledge = acknowledge
        self._prepare = prepare
        self._reader = reader
        self._output = output
        self._counter = TokenCounter(count_tokens)
        self._lost: set[tuple[str, str]] = set()  # what was logged as lost already: each request has the history
        self._barrier = Barrier()
        self._cancellations: dict[str, asyncio.Future[None]] = {}
        self._starting: set[str] = set()  # calls whose start is being recorded
        self._measured: InstrumentedRun | None = None

    def start(self, measured: InstrumentedRun | None = None) -> None:
        """Prepare for a run of the turn. ``measured``: the telemetry of the run."""
        self._measured = measured
        self.tasks.fault = None
        self.busy.clear()
        self._barrier = Barrier()

    async def stop(self) -> None:
        """End everything that still runs."""
        self.model_call = None
        self._cancellations.clear()
        self._starting.clear()
        await self.tasks.stop()

    def perform(self, effect: Effect) -> None:
        """Start to perform an effect."""
        if isinstance(effect, Ask):
            self.tasks.spawn(self._ask, effect, on_lost=self._answer_lost)
        elif isinstance(effect, Execute):
            self.tasks.spawn(self._execute, effect.calls, on_lost=partial(self._calls_lost, effect.calls))
        elif isinstance(effect, Approve) and self._approve is not None:
            for id in effect.call_ids:
                self.busy.add(id)
                self.tasks.spawn(self._decide, self._approve, id, on_lost=partial(self._decision_lost, id))

    def acknowledge_calls(self) -> None:
        """Post the acknowledgement of the round's calls: at once, or when the awaitable that writes it is done."""
        state, round = self._state(), self._state().rounds[-1]
        calls = [state.tool_call(call) for call in round.calls if call.server is None]
        if self._acknowledge is None or not calls:
            return
        choice = state.choice_of(round.response)
        spoken = choice.text.strip() if choice is not None else ""  # the model acknowledged its calls itself
        text: str | Awaitable[str | None] | None = spoken
        if not spoken:
            with _failure_logged("the acknowledgement failed"):
                takes_message = "user_message" in inspect.signature(self._acknowledge).parameters
                more = {"user_message": user_text(state.request.messages)} if takes_message else {}
                text = self._acknowledge(calls, self._tools, **more)
        if inspect.isawaitable(text):
            writing = asyncio.ensure_future(text)
            self.tasks.keep(writing)
            self.tasks.spawn(self._await_acknowledgement, writing, round.round_number)
        elif text:
            self._post(inputs.AcknowledgementReady(text, bool(spoken), round.round_number))

    def substitute(self, supplied: inputs.ResultSupplied) -> bool:
        """Run the substitute of a call that failed elsewhere, and return whether there is one."""
        state = self._state()
        call = state.rounds[-1].call(supplied.call_id)
        if call is None or self._executor.elsewhere is None:
            return False
        finished = FinishedCall(state.tool_call(call), supplied.result, supplied.outcome)
        if not self._executor.elsewhere.ended(finished):
            return False
        self.busy.add(call.id)
        self.tasks.spawn(self._substitute, finished, on_lost=partial(self._calls_lost, [finished.call]))
        return True

    def cancel_call(self, call_id: str) -> None:
        """Cancel a running call. Raises TurnMisused if it is not running here."""
        cancellation = self._cancellations.get(call_id)
        if cancellation is None:
            raise TurnMisused(f"call {call_id!r} is not running here", hint="answer a call that runs elsewhere")
        if not cancellation.done():
            cancellation.set_result(None)

    def prevent_starts(self) -> list[str]:
        """Prevent the calls that have not started, although their start may be recorded. Return their ids."""
        ids = list(self._starting)
        self._starting.clear()
        return ids

    def prevented_calls(self) -> list[inputs.CallSettled]:
        """Prevent the calls that have not started, and return the results of those whose start may be recorded."""
        state = self._state()
        prevented = [state.rounds[-1].call(id) for id in self.prevent_starts()]
        return [
            inputs.CallSettled(call.id, unanswered(state.tool_call(call), NOT_STARTED), "skipped")
            for call in prevented
            if call is not None and call.status == "started"
        ]

    async def _ask(self, ask: Ask) -> None:
        route, request = self._providers.current, self._providers.request(ask.request)
        if self._measured is None:
            await self._ask_provider(route, route.provider, request)
            return
        with self._measured.model_call(route.provider, request) as provider:
            provider.answered(*await self._ask_provider(route, provider, request))

    async def _ask_provider(
        self, route: Route, provider: Provider, request: Request
    ) -> tuple[Request, Response | None, Error | None]:
        """Send a request, and post its answer. Return the request as it was sent, and the answer or its error.

        ``provider``: that of the route, or its measured form.
        """
        settings = self._state().settings
        try:
            model_call = self.model_call = ModelCall(
                provider, route, request, settings.choice, self._prepare, self._reader, self._counter
            )
        except BaseException as error:  # a conversation that the wire cannot express
            if not is_failure(error):
                raise
            failed = inputs.AnswerFailed(error_of(error))
            self._post(failed)
            return request, None, failed.error

        self._log_losses(model_call.encoded)
        remaining, response = await model_call.run(self._post)
        if response is not None:
            self._post(*remaining, self._answer(response, model_call.retry_after))
            return model_call.request, response, None
        self._post(*remaining)
        failed = cast(inputs.AnswerFailed, remaining[-1])
        return model_call.request, failed.response, failed.error

    def _log_losses(self, encoded: Encoded) -> None:
        for loss in encoded.losses:
            if (loss.code, loss.message) not in self._lost:
                self._lost.add((loss.code, loss.message))
                _log.warning("%s cannot say everything in the request: %s (%s)", encoded.wire, loss.message, loss.code)

    def _answer(self, response: Response, retry_after: float | None) -> inputs.AnswerReceived:
        """Return the input for a whole answer, with what the tools say about its calls."""
        choice = self._state().choice_of(response)
        calls = [call for call in (choice.calls if choice is not None else []) if call.name in self._tools]
        needs_approval = [call.id for call in calls if self._tools[call.name].needs_approval(call.arguments or {})]
        elsewhere = [call for call in calls if self._tools[call.name].function is None]
        deferred = [call.id for call in elsewhere if self._may_hand_over(call)]
        correction = self._correction(choice)
        return inputs.AnswerReceived(response, needs_approval, deferred, retry_after, correction)

    def _may_hand_over(self, call: ToolCall) -> bool:
        elsewhere = self._executor.elsewhere
        return self._executor.refused(call) is None and (elsewhere is None or elsewhere.may_hand_over(call))

    def _correction(self, choice: Choice | None) -> str | None:
        """Return the message to the model if its answer does not have the required form, unless it had enough."""
        if self._output is None or choice is None or choice.calls:
            return None
        corrections = [
            message
            for round in self._state().rounds
            if not round.calls  # after calls, it is a message of a listener
            for message in round.messages
            if isinstance(message, User)
        ]
        return self._output.correction(choice.text) if len(corrections) < _MAX_CORRECTIONS else None

    def _answer_lost(self, error: BaseException) -> None:
        """Report the answer as broken: the provider or a hook cancelled the task that asks."""
        self._post(
            *(self.model_call.fail(error) if self.model_call is not None else [inputs.AnswerFailed(error_of(error))])
        )

    async def _substitute(self, finished: FinishedCall) -> None:
        try:
            await self._execute([finished.call], {finished.call.id: finished})
        finally:
            self.busy.discard(finished.call.id)
            self._post()  # the turn may have to wait now

    async def _execute(self, calls: list[ToolCall], supplied: Mapping[str, FinishedCall] | None = None) -> None:
        state = self._state()
        number = len(state.rounds)
        loop = asyncio.get_running_loop()
        changed = [call for call in calls if self._has_changed(state, call)]
        calls = [call for call in calls if call not in changed]
        for call in changed:
            text = f"This call was not executed: {call.name} was changed or withdrawn after this turn declared it."
            self._post(inputs.CallSettled(call.id, unanswered(call, text), "skipped"))
        cancellations = {call.id: loop.create_future() for call in calls}
        self._cancellations.update(cancellations)

        async def on_start(call: ToolCall) -> bool:
            self._starting.add(call.id)
            await self._post(inputs.CallStarting(call.id))
            started = self._state().rounds[number - 1].call(call.id)
            if call.id not in self._starting:
                return False
            self._starting.remove(call.id)
            return started is not None and started.status == "started"

        async def on_finish(finished: FinishedCall) -> None:
            self._cancellations.pop(finished.call.id, None)
            await self._post(inputs.CallSettled(finished.call.id, finished.result, finished.outcome))

        def on_progress(call: ToolCall, data: Any) -> None:
            self._post(inputs.CallProgressed(call.id, data))

        await self._executor.run(
            calls,
            turn=state.id,
            round=number,
            barrier=self._barrier,
            cancellations=cancellations,
            on_start=on_start,
            on_finish=on_finish,
            on_progress=on_progress,
            watch=self._measured.execute_tool if self._measured is not None else None,
            supplied=supplied,
        )

    def _has_changed(self, state: TurnState, call: ToolCall) -> bool:
        """Return whether a source has changed or withdrawn the tool since the model saw it (`sources`)."""
        declared = next((tool for tool in state.request.tools if tool.name == call.name), None)
        return declared is not None and self._tools.has_changed(declared)

    def _calls_lost(self, calls: list[ToolCall], _: BaseException) -> None:
        """Answer the open calls: a tool or a hook cancelled the task that executes them."""
        round = self._state().rounds[-1]
        for tool_call in calls:
            call = round.call(tool_call.id)
            if call is None or call.settled:
                continue
            if call.attempts:
                self._post(inputs.CallSettled(call.id, unanswered(tool_call, CANCELLED_RUNNING), "cancelled"))
            else:
                self._post(inputs.CallSettled(call.id, unanswered(tool_call, NOT_STARTED), "skipped"))

    async def _decide(self, approve: Approver, id: str) -> None:
        state = self._state()
        call = state.rounds[-1].call(id)
        try:
            approval = await _approval(approve, state.block_of(call)[1]) if call is not None else None
        finally:
            self.busy.discard(id)
        if approval is None:
            self._post()  # nothing to decide, but the turn may have to wait now
        else:
            self._post(inputs.CallDecided(id, approval is True, approval if isinstance(approval, str) else None))

    def _decision_lost(self, id: str, error: BaseException) -> None:
        """Deny the call: the approver cancelled the task that it decides in."""
        self.busy.discard(id)
        self._post(inputs.CallDecided(id, False, f"the approval failed: {type(error).__name__}"))

    async def _await_acknowledgement(self, writing: asyncio.Future[str | None], round: int) -> None:
        text = None
        with _failure_logged("the acknowledgement failed"):
            text = await writing
        if text:
            self._post(inputs.AcknowledgementReady(text, False, round))


async def _approval(approve: Approver, block: ToolCall | ApprovalRequest) -> Approval:
    """Return the approver's decision. An approver that raises denies the call."""
    approval: Approval = None
    with _failure_logged(f"the approval of call {block.id} failed") as failures:
        returned = approve(block)
        approval = await returned if inspect.isawaitable(returned) else returned
    return f"the approval failed: {type(failures[0]).__name__}" if failures else approval


@contextmanager
def _failure_logged(text: str) -> Iterator[list[BaseException]]:
    """Log the failure of a hook instead of raising it, and add it to the list."""
    failures: list[BaseException] = []
    try:
        yield failures
    except BaseException as error:
        if not is_failure(error):
            raise
        _log.warning(text, exc_info=error)
        failures.append(error)
