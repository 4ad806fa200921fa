"""What a turn tells while it runs: for showing and for the log. Every event has its type as a tag and a number.

``seq`` counts the events of a turn from 0 without a gap, so that a reader that lost its connection can say where it
was. ``round`` counts the model's answers from 1. ``sequence`` is the place of a block among the turn's blocks.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ..model import Error, Usage
from ..policies import Ref


class TurnBlock(Struct, frozen=True, gc=False):
    """One row of a turn: what was thought, said, called, or returned.

    ``block_type``: thinking, text, tool_use, tool_result, and beside them refusal, server_tool_use,
    server_tool_result, approval_request, approval_response, opaque. ``text_content``: the words of thinking, text and
    refusal. ``content``: everything else, as JSON; null where there is nothing else. By type:

    thinking: {signature}; tool_use: {tool_use_id, tool_name, input} (input null where the arguments are no object:
    then ``arguments_text`` and ``status`` say more); tool_result: {tool_use_id, content, is_error}.
    """

    sequence: int
    block_type: str
    text_content: str | None = None
    content: Any = None


class _Event(Struct, tag_field="type", frozen=True, gc=False):
    seq: int


class TurnStarted(_Event, tag="turn_started", frozen=True, gc=False):
    """``resumed``: the turn goes on from a state that was kept."""

    turn: str
    wire: str
    policy: str
    resumed: bool = False


class RoundStarted(_Event, tag="round_started", frozen=True, gc=False):
    """The model is asked. ``attempt`` above 1: it was asked before, and the process ended, the answer broke off, or the
    provider was overloaded; all blocks from ``first_block`` on are void, and come again under the same numbers.
    ``last``: it may not call any more.
    """

    round: int
    attempt: int
    first_block: int
    last: bool = False


class BlockStart(_Event, tag="block_start", frozen=True, gc=False):
    """A block begins. ``tool_use_id`` and ``tool_name`` where it is a call and they are known, or of a result."""

    round: int
    sequence: int
    block_type: str
    tool_use_id: str | None = None
    tool_name: str | None = None


class BlockDelta(_Event, tag="block_delta", frozen=True, gc=False):
    """More of a block: words, the next piece of a call's argument text, or a result's text."""

    round: int
    sequence: int
    text: str


class BlockReset(_Event, tag="block_reset", frozen=True, gc=False):
    """All that was shown of the block so far is replaced by ``text``."""

    round: int
    sequence: int
    text: str


class BlockStop(_Event, tag="block_stop", frozen=True, gc=False):
    """The block is whole: to be kept now. ``cut``: the answer broke off inside it."""

    round: int
    block: TurnBlock
    cut: bool = False


class BlockSettled(_Event, tag="block_settled", frozen=True, gc=False):
    """The whole answer says more of a block that stopped before (its signature, its final id): keep this instead."""

    round: int
    block: TurnBlock


class CallsKnown(_Event, tag="calls_known", frozen=True, gc=False):
    """The answer is whole, and this is what becomes of its calls. Nothing has been started yet."""

    round: int
    policy: str
    kept: list[Ref]
    dropped: list[Ref]
    rejected: list[Ref]


class Dropped(_Event, tag="dropped", frozen=True, gc=False):
    """The warning: of ``total`` calls these are processed, and these are not. ``reason`` stands in each."""

    round: int
    total: int
    processing: list[Ref]
    dropped: list[Ref]


class LoopSuspected(_Event, tag="loop_suspected", frozen=True, gc=False):
    """The same call with the same arguments for the ``times``-th time in this turn. ``stopped``: it is not run."""

    round: int
    call_id: str
    name: str
    times: int
    stopped: bool = False


class Noted(_Event, tag="noted", frozen=True, gc=False):
    """A turn, or the caller that directs it, says what it does: ``note`` names it, ``data`` belongs to it.

    "retry": the provider is overloaded and is asked again after ``data["seconds"]``. For the other notes, and all of
    them as structs, see `orchestration.messages`.
    """

    round: int
    note: str
    data: dict[str, Any]


class Acknowledged(_Event, tag="acknowledged", frozen=True, gc=False):
    """What to tell the user while the calls run. ``spoken``: the model said it beside its calls, and it was shown."""

    round: int
    text: str
    spoken: bool = False


class ApprovalNeeded(_Event, tag="approval_needed", frozen=True, gc=False):
    """A call waits for a yes or a no. ``server``: whose tool it is, where the provider would run it (MCP)."""

    round: int
    call_id: str
    name: str
    arguments: dict[str, Any] | None
    arguments_text: str
    server: str | None = None


class ApprovalDecided(_Event, tag="approval_decided", frozen=True, gc=False):
    """Somebody said yes or no."""

    round: int
    call_id: str
    name: str
    approved: bool
    reason: str | None = None


class ResultNeeded(_Event, tag="result_needed", frozen=True, gc=False):
    """A call is handed out: somebody elsewhere runs it and gives its result. Told once, even if the turn is resumed.

    ``arguments`` fit the tool's schema. ``key``: names this call for ever, so that whoever runs it knows a repetition.
    """

    round: int
    call_id: str
    name: str
    arguments: dict[str, Any] | None
    arguments_text: str
    key: str


class CallStarted(_Event, tag="call_started", frozen=True, gc=False):
    """The tool is about to run: told, and kept, before it does. ``key``: names this call for ever (at most once)."""

    round: int
    call_id: str
    name: str
    key: str
    attempt: int = 1


class CallProgress(_Event, tag="call_progress", frozen=True, gc=False):
    """What a running tool says of itself; ``data`` is the tool's own."""

    round: int
    call_id: str
    name: str
    data: Any


class CallFinished(_Event, tag="call_finished", frozen=True, gc=False):
    """A call has its result (the tool_result block before it holds it). ``how``: see `state.How`."""

    round: int
    call_id: str
    name: str
    how: str
    is_error: bool


class RoundFinished(_Event, tag="round_finished", frozen=True, gc=False):
    """Every call of the round is answered. ``termination_reason``: null where the turn goes on."""

    round: int
    tools_used: list[str]
    usage: Usage | None = None
    termination_reason: str | None = None


class TurnWaiting(_Event, tag="turn_waiting", frozen=True, gc=False, omit_defaults=True):
    """All that can be done is done; these calls wait. The turn goes on when somebody says what it waits for.

    ``results``: those of them that wait for a result; the others wait for a decision.
    """

    waiting: list[str]
    results: list[str] = []


class TurnComplete(_Event, tag="turn_complete", frozen=True, gc=False):
    """The turn is over. ``written``: whether the model wrote the text, or the turn itself for want of words."""

    termination_reason: str
    text: str
    written: bool = True
    usage: Usage | None = None


class TurnFailed(_Event, tag="turn_failed", frozen=True, gc=False):
    """The turn is over without an answer of the model; ``text`` says what is known all the same."""

    termination_reason: str
    text: str
    error: Error | None = None
    usage: Usage | None = None


TurnEvent = (
    TurnStarted
    | RoundStarted
    | BlockStart
    | BlockDelta
    | BlockReset
    | BlockStop
    | BlockSettled
    | CallsKnown
    | Dropped
    | LoopSuspected
    | Noted
    | Acknowledged
    | ApprovalNeeded
    | ApprovalDecided
    | ResultNeeded
    | CallStarted
    | CallProgress
    | CallFinished
    | RoundFinished
    | TurnWaiting
    | TurnComplete
    | TurnFailed
)
