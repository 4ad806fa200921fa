"""The application of the listeners' decisions: they replace or precede the inputs that lead to a phase.

inputs = await steerer.steered(state, inputs)      # all phases but reasoning
veto, made = await steerer.reasoned(phase, after)
request = steered_request(request, made)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Request, TextPart, ToolResult, User
from toolparity.normalizer.model import Block, Text, ToolCall
from toolparity.normalizer.pairing import unanswered

from ..block_rows import row_of
from ..execution.tool import Tool
from ..machine.effects import Effect
from ..machine.inputs import (
    AnswerReceived,
    BlockEnded,
    BlockExtended,
    BlockRevised,
    BlockStarted,
    CallSettled,
    Finalize,
    Input,
    ResultSupplied,
    ReviseRound,
)
from ..machine.state import TurnState
from ..machine.table import step
from .listeners import Add, Change, Decision, Listener, Veto, decisions
from .memory import PROGRAM
from .notes import FinalPhase, Phase, ReasoningPhase, Steering, SynthesisPhase, ToolExecutionPhase, phases

#: The beginning of a message of a listener, so that the model does not take it for one of the user.
NOTE = f"{PROGRAM[1]} "
_KINDS: dict[type[Decision], Literal["veto", "change", "add"]] = {Veto: "veto", Change: "change", Add: "add"}
#: How often the listeners of a turn may have the model asked again instead of ending it.
_MAX_REPEATS = 2


class Steerer:
    """Applies the decisions of the listeners of one turn.

    ``render``: returns the result of a call from a value or an exception. ``on_decision``: called with the note of each
    decision.
    """

    def __init__(
        self,
        listeners: Sequence[Listener],
        tools: Mapping[str, Tool],
        render: Callable[[ToolCall, Any], ToolResult],
        on_decision: Callable[[Steering], None],
    ) -> None:
        self.vetoed: set[str] = set()  # ids of calls of the current round that must not run
        self._listeners = tuple(listeners)
        self._tools = tools
        self._render = render
        self._on_decision = on_decision
        self._rows: dict[int, BlockStarted] = {}  # the rows in which the current answer was shown, by key
        self._repeats = 0

    def shown(self, started: BlockStarted) -> None:
        """Note in which row a block of the answer is shown."""
        if started.key == 0:
            self._rows.clear()
        self._rows[started.key] = started

    async def steered(self, state: TurnState, inputs: list[Input]) -> list[Input]:
        """Call the listeners for the phases to which the inputs lead, except reasoning. Return the inputs to process.

        A decision can lead to other phases, for which the listeners are called next.
        """
        asked: list[tuple[type, int]] = []
        while self._listeners:
            after, effects = ahead(state, inputs)
            new = [phase for phase in phases(after, effects) if (type(phase), phase.round) not in asked]
            phase = next((phase for phase in new if not isinstance(phase, ReasoningPhase)), None)
            if phase is None:
                break
            asked.append((type(phase), phase.round))
            if isinstance(phase, FinalPhase):
                phase = replace(phase, text=after.text)
            elif isinstance(phase, ToolExecutionPhase):
                self.vetoed = set()
            for decision in await decisions(self._listeners, phase, after):
                changed = self._applied(state, inputs, phase, decision)
                if changed != inputs:
                    self._note(phase, decision)
                inputs = changed
        return inputs

    async def reasoned(self, phase: ReasoningPhase, state: TurnState) -> tuple[str | None, list[Decision]]:
        """Call the listeners for a request. Return why it must not be sent, or None, and the decisions on it."""
        made = await decisions(self._listeners, phase, state)
        for decision in made:
            self._note(phase, decision)
        return next((decision.why for decision in made if isinstance(decision, Veto)), None), made

    def _note(self, phase: Phase, decision: Decision) -> None:
        why = decision.why if isinstance(decision, Veto) else ""
        self._on_decision(Steering(phase.round, str(phase.__struct_config__.tag), _KINDS[type(decision)], why))

    def _applied(self, state: TurnState, inputs: list[Input], phase: Phase, decision: Decision) -> list[Input]:
        if isinstance(phase, SynthesisPhase):
            return self._synthesis(state, inputs, decision)
        at = next((at for at, input in enumerate(inputs) if isinstance(input, AnswerReceived)), None)
        if at is None:
            return inputs  # the answer was not the model's
        received = inputs[at]
        assert isinstance(received, AnswerReceived)
        if isinstance(phase, ToolExecutionPhase):
            replaced = self._execution(state, received, phase, decision)
        else:
            replaced = self._final(state, received, phase, decision)
        return [*inputs[:at], *replaced, *inputs[at + 1 :]]

    def _execution(
        self, state: TurnState, received: AnswerReceived, phase: ToolExecutionPhase, decision: Decision
    ) -> list[Input]:
        choice = state.choice_of(received.response)
        assert choice is not None
        if isinstance(decision, Veto):
            known = [id for id, _ in phase.calls]
            ids = [id for id in (known if decision.calls is None else decision.calls) if id in known]
            self.vetoed = {*self.vetoed, *ids}
            waits_not = replace(
                received,
                needs_approval=[id for id in received.needs_approval if id not in ids],
                deferred=[id for id in received.deferred if id not in ids],
            )
            text = f"This call was not executed: {decision.why}."
            calls = [call for call in choice.calls if call.id in ids]
            return [waits_not, *(CallSettled(call.id, unanswered(call, text), "denied") for call in calls)]
        if isinstance(decision, Change):
            blocks = [
                _with_arguments(block, decision.arguments[block.id])
                if isinstance(block, ToolCall) and block.id in decision.arguments
                else block
                for block in choice.blocks
            ]
            # Some wires have no ids in a stream, but the rows of calls are in the order of the calls.
            keys = [key for key, row in self._rows.items() if row.block_type == "tool_use"]
            calls = [block for block in blocks if isinstance(block, ToolCall)]
            revised: list[Input] = [
                BlockRevised(key, *row_of(call))
                for key, before, call in zip(keys, choice.calls, calls, strict=False)
                if before is not call
            ]
            return [*revised, self._with_blocks(state, received, blocks)]
        first = len(self._rows)
        added = [
            _with_arguments(ToolCall(_id(state, name, first + number), name, {}, "{}"), arguments)
            for number, (name, arguments) in enumerate(decision.calls)
        ]
        shown: list[Input] = []
        for key, call in enumerate(added, first):
            started = BlockStarted(key, "tool_use", call.id, call.name)
            self.shown(started)
            shown += [started, BlockExtended(key, call.arguments_text), BlockEnded(key, *row_of(call))]
        return [*shown, self._with_blocks(state, received, [*choice.blocks, *added])]

    def _final(self, state: TurnState, received: AnswerReceived, phase: Phase, decision: Decision) -> list[Input]:
        choice = state.choice_of(received.response)
        if choice is None or not choice.text:
            return [received]
        if isinstance(decision, Veto):
            is_over = isinstance(phase, FinalPhase) and phase.termination == "natural_completion"
            if not is_over or self._repeats == _MAX_REPEATS:
                return [received]
            self._repeats += 1
            return [replace(received, correction=NOTE + decision.why)]
        added = f"{choice.text}\n\n{decision.text}" if isinstance(decision, Add) and decision.text else None
        text = added if isinstance(decision, Add) else decision.text
        if text is None:
            return [received]
        texts = [at for at, block in enumerate(choice.blocks) if isinstance(block, Text)]
        changed: dict[int, Block] = {texts[0]: Text(text)}
        blocks = [changed.get(at, block) for at, block in enumerate(choice.blocks) if at not in texts[1:]]
        keys = [key for key, row in self._rows.items() if row.block_type == "text"]
        revised = [BlockRevised(key, "text", text if key == keys[0] else "") for key in keys]
        return [*revised, self._with_blocks(state, received, blocks)]

    def _synthesis(self, state: TurnState, inputs: list[Input], decision: Decision) -> list[Input]:
        """Return the inputs with a change of the round in front of the last one, which closes it."""
        if isinstance(decision, Veto):
            return [Finalize("budget_exceeded"), *inputs]
        *before, last = inputs
        if isinstance(last, AnswerReceived):
            return inputs  # all calls were rejected, so the round is never open
        if isinstance(decision, Add):
            return [*before, ReviseRound(message=NOTE + decision.text), last] if decision.text else inputs
        open_state, _ = ahead(state, before)
        results = {
            call.id: self._render(open_state.tool_call(call), decision.results[call.id])
            for call in open_state.rounds[-1].calls
            if call.server is None and call.id in decision.results
        }
        if isinstance(last, (CallSettled, ResultSupplied)) and last.call_id in results:
            last = replace(last, result=results.pop(last.call_id))
        return [*before, *([ReviseRound(list(results.values()))] if results else []), last]

    def _with_blocks(self, state: TurnState, received: AnswerReceived, blocks: list[Block]) -> AnswerReceived:
        """Return the answer with other blocks. Changed and added calls wait for approval as their tools demand."""
        response = received.response
        index = state.settings.choice
        choices = [replace(choice, blocks=blocks) if choice.index == index else choice for choice in response.choices]
        before = {call.id: call for choice in response.choices if choice.index == index for call in choice.calls}
        calls = [block for block in blocks if isinstance(block, ToolCall) and before.get(block.id) is not block]
        changed = [call for call in calls if call.name in self._tools]
        approvals = [call.id for call in changed if self._tools[call.name].needs_approval(call.arguments or {})]
        elsewhere = [call.id for call in changed if self._tools[call.name].function is None]
        ids = [call.id for call in calls]
        return replace(
            received,
            response=replace(response, choices=choices),
            original=received.original or response,
            needs_approval=[*(id for id in received.needs_approval if id not in ids), *approvals],
            deferred=[*(id for id in received.deferred if id not in ids), *elsewhere],
        )


def ahead(state: TurnState, inputs: list[Input]) -> tuple[TurnState, list[Effect]]:
    """Return the state and the effects after these inputs. A step is pure, so it can be computed in advance."""
    effects: list[Effect] = []
    for input in inputs:
        state, added = step(state, input)
        effects += added
    return state, effects


def steered_request(request: Request, made: Sequence[Decision]) -> Request:
    """Return the request with the changes and additions of these decisions."""
    for decision in made:
        if isinstance(decision, Change) and decision.request is not None:
            request = decision.request(request)
        elif isinstance(decision, Add) and decision.text:
            request = replace(request, messages=[*request.messages, User([TextPart(NOTE + decision.text)])])
    return request


def _with_arguments(call: ToolCall, arguments: dict[str, Any]) -> ToolCall:
    return replace(call, arguments=arguments, arguments_text=json_codec.text(arguments), status="complete")


def _id(state: TurnState, name: str, number: int) -> str:
    """Return the id of an added call, which a repetition of the turn yields again."""
    text = f"{state.id}\0{len(state.rounds)}\0{name}\0{number}"
    return f"call_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
