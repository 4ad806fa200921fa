"""The inputs of the state machine: everything that reaches a turn from outside, as data.

    input --machine.step--> new state, effects (`effects`)

The list of inputs is a recording of a turn: replaying it gives the same states, events and effects.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec import Struct

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import ToolResult
from toolparity.normalizer.model import Error, Response, Usage

from .state import CallOutcome, Termination


class _Input(Struct, tag_field="type", frozen=True, gc=False, omit_defaults=True):
    pass


class _BlockInput(_Input, frozen=True, gc=False):
    key: int


class _CallInput(_Input, frozen=True, gc=False):
    call_id: str


class Begin(_Input, tag="begin", frozen=True, gc=False):
    """Start the turn. ``trace``: see `TurnState`."""

    trace: dict[str, str] = {}


class Resume(_Input, tag="resume", frozen=True, gc=False):
    """Resume the turn from a saved state that no other process runs any more.

    ``rerun``: the ids of calls that were started and may run again, because their tool is idempotent.
    """

    rerun: list[str] = []


class BlockStarted(_BlockInput, tag="block_started", frozen=True, gc=False):
    """A block of the answer begins. ``key``: its number within the answer, from 0 without a gap."""

    block_type: str
    id: str | None = None
    name: str | None = None


class BlockExtended(_BlockInput, tag="block_extended", frozen=True, gc=False):
    """A delta of a block."""

    text: str


class BlockReplaced(_BlockInput, tag="block_replaced", frozen=True, gc=False):
    """``text`` replaces everything that was shown of a block."""

    text: str


class BlockEnded(_BlockInput, tag="block_ended", frozen=True, gc=False):
    """A block is complete, or the answer broke off inside it (``cut``)."""

    block_type: str
    text_content: str | None = None
    content: Any = None
    cut: bool = False


class BlockRevised(_BlockInput, tag="block_revised", frozen=True, gc=False):
    """Replaces a block that was closed before: the whole answer contains more of it."""

    block_type: str
    text_content: str | None = None
    content: Any = None


class AnswerReceived(_Input, tag="answer_received", frozen=True, gc=False):
    """The answer arrived; its ``complete`` and ``error`` state whether it is whole. ``needs_approval``: ids of calls
    that need approval. ``deferred``: ids of calls to hand over. ``retry_after``: the wait that an error response
    demands, in seconds. ``correction``: the message to the model if the turn would end with this answer, but the answer
    does not have the required form. ``original``: the answer as it arrived, if the ``direct`` middleware changed it.
    """

    response: Response
    needs_approval: list[str] = []
    deferred: list[str] = []
    retry_after: float | None = None
    correction: str | None = None
    original: Response | None = None


class AnswerFailed(_Input, tag="answer_failed", frozen=True, gc=False):
    """The request or the connection failed. ``response``: the partial answer, None if nothing arrived.

    ``retry_after``: the wait that the provider demands, in seconds.
    """

    error: Error
    response: Response | None = None
    retry_after: float | None = None


class Retry(_Input, tag="retry", frozen=True, gc=False):
    """Ask the current round again. The blocks of its answer so far are void.

    ``usage``: the usage of the discarded answer. ``wait``: the seconds after which the ``direct`` middleware wants the
    turn to process this input.
    """

    usage: Usage | None = None
    wait: float = 0.0


class Finalize(_Input, tag="finalize", frozen=True, gc=False):
    """Make the next round the last one. Sent by the ``direct`` middleware. ``ending``: the reason."""

    ending: Termination


class AddNote(_Input, tag="add_note", frozen=True, gc=False):
    """Emit a note, such as one of the ``direct`` middleware. ``keep``: add it to the state's ``notes``, too."""

    round: int
    note: str
    data: dict[str, Any] = {}
    keep: bool = False


class AcknowledgementReady(_Input, tag="acknowledgement_ready", frozen=True, gc=False):
    """The acknowledgement of a round's calls is ready. ``spoken``: the model's answer itself contained it.

    ``round``: 0 for the current round.
    """

    text: str
    spoken: bool = False
    round: int = 0


class CallDecided(_CallInput, tag="call_decided", frozen=True, gc=False):
    """A call was approved or denied. ``reason``: the model receives the reason of a denial."""

    approved: bool
    reason: str | None = None


class CallStarting(_CallInput, tag="call_starting", frozen=True, gc=False):
    """The executor is about to start a call."""


class CallProgressed(_CallInput, tag="call_progressed", frozen=True, gc=False):
    """A running tool reports progress."""

    data: Any = None


class CallSettled(_CallInput, tag="call_settled", frozen=True, gc=False):
    """A call has its result."""

    result: ToolResult
    outcome: CallOutcome


class ResultSupplied(_CallInput, tag="result_supplied", frozen=True, gc=False):
    """A call that was handed over has its result."""

    result: ToolResult
    outcome: CallOutcome


class ReviseRound(_Input, tag="revise_round", frozen=True, gc=False):
    """Change the open round before it closes. Sent by the ``direct`` middleware.

    ``results``: they replace those of settled calls. ``message``: a user message to the model after the results.
    """

    results: list[ToolResult] = []
    message: str | None = None


class Cancel(_Input, tag="cancel", frozen=True, gc=False):
    """Cancel the turn. ``reason`` appears in the results of calls that did not start.

    ``response``: the partial answer of the current round, None if nothing arrived. ``unstarted``: the ids of calls that
    are recorded as started, but were prevented.
    """

    reason: str | None = None
    response: Response | None = None
    unstarted: list[str] = []


Input = (
    Begin
    | Resume
    | BlockStarted
    | BlockExtended
    | BlockReplaced
    | BlockEnded
    | BlockRevised
    | AnswerReceived
    | AnswerFailed
    | Retry
    | Finalize
    | AddNote
    | AcknowledgementReady
    | CallDecided
    | CallStarting
    | CallProgressed
    | CallSettled
    | ResultSupplied
    | ReviseRound
    | Cancel
)

#: Tag of an input in recordings and logs of earlier versions -> its tag today.
_RENAMED = {
    "begun": "begin",
    "resumed": "resume",
    "opened": "block_started",
    "grew": "block_extended",
    "replaced": "block_replaced",
    "closed": "block_ended",
    "settled": "block_revised",
    "answered": "answer_received",
    "broke": "answer_failed",
    "again": "retry",
    "bounded": "finalize",
    "noted": "add_note",
    "acknowledging": "acknowledgement_ready",
    "decided": "call_decided",
    "starting": "call_starting",
    "progressed": "call_progressed",
    "finished": "call_settled",
    "supplied": "result_supplied",
    "cancelled": "cancel",
}


def load_input(value: Any) -> Input:
    """Return the input from parsed JSON, also of an earlier version. Raises msgspec.ValidationError."""
    if isinstance(value, dict) and value.get("type") in _RENAMED:
        value = {**value, "type": _RENAMED[value["type"]]}
        if "how" in value:
            value["outcome"] = value.pop("how")
    return cast(Input, json_codec.convert(value, Input))
