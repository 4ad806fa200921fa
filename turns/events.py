"""The events that a turn emits while it runs, for display and for the turn log. Each has a type (its tag) and a number.

``seq`` counts the events of a turn from 0 without a gap, so that a client can reconnect after the last event that it
received. ``round`` counts the model's answers from 1. ``sequence`` is the number of a block among the turn's blocks.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from toolparity.normalizer.model import Error, Usage
from toolparity.normalizer.policies import Ref


class TurnBlock(Struct, frozen=True, gc=False):
    """One block of a turn, as the turn log stores it.

    ``block_type``: thinking, text, tool_use, tool_result, refusal, server_tool_use, server_tool_result,
    approval_request, approval_response or opaque. ``text_content``: the text of thinking, text and refusal.
    ``content``: all other data as JSON, None if there is none. For example:

    thinking: {signature}; tool_use: {tool_use_id, tool_name, input}, where input is JSON null if the arguments are not
    a JSON object (``arguments_text`` and ``status`` then describe them); tool_result: {tool_use_id, content, is_error}.
    """

    sequence: int
    block_type: str
    text_content: str | None = None
    content: Any = None


class _Event(Struct, tag_field="type", frozen=True, gc=False):
    seq: int


class _RoundEvent(_Event, frozen=True, gc=False):
    round: int


class _CallEvent(_RoundEvent, frozen=True, gc=False):
    call_id: str
    name: str


class TurnStarted(_Event, tag="turn_started", frozen=True, gc=False):
    """The turn starts. ``resumed``: it continues from a saved state."""

    turn: str
    wire: str
    policy: str
    resumed: bool = False


class RoundStarted(_RoundEvent, tag="round_started", frozen=True, gc=False):
    """The model is asked. ``attempt`` above 1: the round is asked again, because the process ended, the answer broke
    off, or the provider was overloaded. All blocks from ``first_block`` on are then void, and their numbers are used
    again. ``last``: the model may not call tools any more.
    """

    attempt: int
    first_block: int
    last: bool = False


class TurnBlockStart(_RoundEvent, tag="block_start", frozen=True, gc=False):
    """A block begins. ``tool_use_id`` and ``tool_name``: of a call, if known already, or of a tool result."""

    sequence: int
    block_type: str
    tool_use_id: str | None = None
    tool_name: str | None = None


class TurnBlockDelta(_RoundEvent, tag="block_delta", frozen=True, gc=False):
    """A delta of a block: text, a fragment of a call's argument text, or the text of a tool result."""

    sequence: int
    text: str


class TurnBlockReset(_RoundEvent, tag="block_reset", frozen=True, gc=False):
    """``text`` replaces everything that was shown of the block so far."""

    sequence: int
    text: str


class TurnBlockStop(_RoundEvent, tag="block_stop", frozen=True, gc=False):
    """The block is complete, and a log can store it. ``cut``: the answer broke off inside it."""

    block: TurnBlock
    cut: bool = False


class TurnBlockRevised(_RoundEvent, tag="block_settled", frozen=True, gc=False):
    """Replaces a block that stopped before: the whole answer contains more of it, such as its signature or final id."""

    block: TurnBlock


class CallsKnown(_RoundEvent, tag="calls_known", frozen=True, gc=False):
    """The answer is whole, and its calls are selected. None of them has started yet."""

    policy: str
    kept: list[Ref]
    dropped: list[Ref]
    rejected: list[Ref]


class Dropped(_RoundEvent, tag="dropped", frozen=True, gc=False):
    """Warns that some of ``total`` calls are not processed. Each entry of ``dropped`` contains its ``reason``."""

    total: int
    processing: list[Ref]
    dropped: list[Ref]


class LoopSuspected(_CallEvent, tag="loop_suspected", frozen=True, gc=False):
    """The same call with the same arguments, for the ``times``-th time in this turn. ``stopped``: it does not run."""

    times: int
    stopped: bool = False


class Noted(_RoundEvent, tag="noted", frozen=True, gc=False):
    """A note of the turn or of its ``direct`` middleware. ``note``: its name; ``data``: its content.

    "retry": the provider is overloaded and is asked again after ``data["seconds"]``. For the other notes, and all of
    them as structs, see `orchestration.notes`.
    """

    note: str
    data: dict[str, Any]


class Acknowledged(_RoundEvent, tag="acknowledged", frozen=True, gc=False):
    """Text for the user while the calls run. ``spoken``: the text of the answer itself, which was shown already."""

    text: str
    spoken: bool = False


class ApprovalNeeded(_CallEvent, tag="approval_needed", frozen=True, gc=False):
    """A call waits for approval. ``server``: the MCP server, if the provider would run the call."""

    arguments: dict[str, Any] | None
    arguments_text: str
    server: str | None = None


class ApprovalDecided(_CallEvent, tag="approval_decided", frozen=True, gc=False):
    """A call was approved or denied. ``reason``: the one that the decision gives, which the model reads."""

    approved: bool
    reason: str | None = None


class ResultNeeded(_CallEvent, tag="result_needed", frozen=True, gc=False):
    """A call is handed over: it runs elsewhere, and the turn waits for its result. Emitted once, even after a resume.

    ``arguments`` fit the tool's schema. ``key``: the permanent key of the call (an idempotency key).
    """

    arguments: dict[str, Any] | None
    arguments_text: str
    key: str


class CallStarted(_CallEvent, tag="call_started", frozen=True, gc=False):
    """The tool is about to run. Observers record this before it does. ``key``: the permanent key of the call."""

    key: str
    attempt: int = 1


class CallProgress(_CallEvent, tag="call_progress", frozen=True, gc=False):
    """Progress that a running tool reports. The tool defines ``data``."""

    data: Any


class CallFinished(_CallEvent, tag="call_finished", frozen=True, gc=False):
    """A call has its result, which the tool_result block before this event contains.

    ``outcome``: see `state.CallOutcome`.
    """

    outcome: str = field(name="how")
    is_error: bool


class RoundFinished(_RoundEvent, tag="round_finished", frozen=True, gc=False):
    """Every call of the round has its result. ``termination_reason``: None if the turn continues."""

    tools_used: list[str]
    usage: Usage | None = None
    termination_reason: str | None = None


class TurnWaiting(_Event, tag="turn_waiting", frozen=True, gc=False, omit_defaults=True):
    """No call can run now, and the calls in ``waiting`` wait for a decision or a result from outside.

    ``results``: those that wait for a result. The others wait for a decision.
    """

    waiting: list[str]
    results: list[str] = []


class TurnComplete(_Event, tag="turn_complete", frozen=True, gc=False):
    """The turn is over. ``written``: whether the model wrote the text. If not, the turn generated it."""

    termination_reason: str
    text: str
    written: bool = True
    usage: Usage | None = None


class TurnFailed(_Event, tag="turn_failed", frozen=True, gc=False):
    """The turn is over without an answer of the model. ``text`` states the reason and the results known so far.

    ``error``: the type and the status. `TurnState.error` has its message.
    """

    termination_reason: str
    text: str
    error: Error | None = None
    usage: Usage | None = None


#: Every event of a turn. ``seq``: its number in the turn, from 0 without a gap. ``round``: the model's answer, from 1.
TurnEvent = (
    TurnStarted
    | RoundStarted
    | TurnBlockStart
    | TurnBlockDelta
    | TurnBlockReset
    | TurnBlockStop
    | TurnBlockRevised
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
