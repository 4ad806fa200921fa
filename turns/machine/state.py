"""The state of a turn: everything that is needed to resume it, in this process or in another.

    text = state.dump(turn_state)       # JSON
    turn_state = state.load(text)       # the same

It holds no function, no clock and no connection. If the state is saved before each call starts and after each call
finishes (`observer.Observer`), a resumed turn runs no call twice and leaves no call unanswered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Assistant, Message, Request, System, TextPart, ToolResult, ToolResults
from toolparity.normalizer.model import ApprovalRequest, Block, Choice, Error, Response, ToolCall, Usage
from toolparity.normalizer.policies import Ref

from ..errors import InvalidState
from .settings import Settings

#: Version of the JSON. `load` reads all earlier versions. 2: calls that are handed over (`CallState.deferred`).
#: 3: the members of `_RENAMED`.
VERSION = 3
#: Member of a request, round or call before version 3 -> its name today.
_RENAMED = {"turns": "messages", "how": "outcome", "given": "submitted"}

TurnPhase = Literal["new", "asking", "acting", "over"]

#: Why a turn is over.
Termination = Literal[
    "natural_completion",
    "max_rounds_reached",
    "all_tools_failed",
    "refused",
    "incomplete",
    "cancelled",
    "budget_exceeded",
    "loop_detected",
    "provider_failed",
]

#: Status of a call, in this order: it waits for approval, may run, was denied, runs (or ran when the process ended),
#: was handed over and waits for its result, has its result, was abandoned while it ran, or was never started.
CallStatus = Literal[
    "waiting_approval", "approved", "denied", "started", "waiting_result", "done", "abandoned", "skipped"
]

#: The fields of a usage that are numbers of tokens.
_COUNTS = tuple(name for name in Usage.__struct_fields__ if name not in ("raw", "estimated"))

#: How a call came to its result. The first four ran to their end; ``timeout``, ``cancelled`` and ``unknown_outcome``
#: were abandoned while they ran; the others never ran.
CallOutcome = Literal[
    "returned",
    "failed",
    "raised",
    "unsayable",
    "timeout",
    "cancelled",
    "unknown_outcome",
    "unknown_tool",
    "invalid_arguments",
    "denied",
    "skipped",
]

#: Failures that the tool caused, not the model. If every kept call of a round has one of these, all tools failed.
TOOL_FAILURES: frozenset[CallOutcome] = frozenset(("failed", "raised", "unsayable", "timeout"))


class CallState(Struct, frozen=True, omit_defaults=True):
    """A kept call of a round. ``key``: its permanent key (`key_of`). ``block``: the index of its block in the answer.

    ``server``: the MCP server on which the provider asks to run the call; it does not run here. ``submitted``: the call
    was passed to the executor. ``deferred``: the call is handed over, and its result comes from outside. ``result``:
    the tool result, until the round is over and the round's ``messages`` hold it.
    """

    id: str
    name: str
    block: int
    key: str
    status: CallStatus = "approved"
    outcome: CallOutcome | None = None
    result: ToolResult | None = None
    attempts: int = 0
    submitted: bool = False
    reason: str | None = None
    server: str | None = None
    deferred: bool = False

    @property
    def waits(self) -> bool:
        """Whether the call waits for a decision or a result from outside."""
        return self.status in ("waiting_approval", "waiting_result")

    @property
    def settled(self) -> bool:
        """Whether the call has reached a final status."""
        return self.status in ("done", "denied", "abandoned", "skipped")


class RoundState(Struct, frozen=True, omit_defaults=True):
    """One answer of the model and its calls.

    ``response``: the answer while its calls are open. After that it is None, unless the history does not contain the
    answer unchanged (it was incomplete or had an error). ``messages``: the messages that the round adds to the history,
    empty until it is over. ``first_block``: the sequence number of its first block. ``result_block``: the sequence
    number of the result of its first call. ``added``: a user message to the model after the results.
    """

    round_number: int
    attempt: int = 1
    last: bool = False
    first_block: int = 0
    result_block: int = 0
    response: Response | None = None
    calls: list[CallState] = []
    dropped: list[Ref] = []
    rejected: list[Ref] = []
    messages: list[Message] = []
    usage: Usage | None = None
    termination_reason: Termination | None = None
    added: str | None = None

    @property
    def answer(self) -> Response | None:
        """The model's answer, None before it has arrived."""
        if self.response is None and self.messages and isinstance(self.messages[0], Assistant):
            return self.messages[0].response
        return self.response

    @property
    def ai_response_content(self) -> list[Block]:
        """The blocks of the answer's first choice, empty if there is none."""
        response = self.answer
        return response.choices[0].blocks if response is not None and response.choices else []

    @property
    def tools_used(self) -> list[str]:
        """The names of the tools whose calls started, here or elsewhere: one entry for each call, in call order."""
        return [call.name for call in self.calls if call.attempts]

    @property
    def tool_results(self) -> list[ToolResult]:
        """The tool results in call order. While the round is open, only the results known so far."""
        for message in self.messages:
            if isinstance(message, ToolResults):
                return message.results
        return [call.result for call in self.calls if call.result is not None]

    @property
    def all_failed(self) -> bool:
        """Whether there were client calls and each failed in a way of `TOOL_FAILURES`."""
        own = [call for call in self.calls if call.server is None]
        return bool(own) and all(call.outcome in TOOL_FAILURES for call in own)

    def call(self, id: str) -> CallState | None:
        """Return the kept call with this id, or None."""
        return next((call for call in self.calls if call.id == id), None)


class TurnNote(Struct, frozen=True):
    """A record of what the ``direct`` middleware of a turn did in a round. The middleware defines ``data``."""

    round: int
    note: str
    data: dict[str, Any] = {}


class TurnState(Struct, frozen=True):
    """The immutable state of a turn. ``wire``: the wire of its provider. ``request``: the first request, of any wire.
    The rounds hold the messages that were added since (`history`).

    ``seq`` and ``block``: the numbers of the next event and of the next block. ``repeats``: how often each call was
    made, by `fingerprint`. ``ending``: why the model is asked a last time. ``notes``: data that the ``direct``
    middleware needs when the turn is resumed. ``text``: the answer of a turn that is over. ``written``: whether the
    model wrote it. ``trace``: the trace context of the turn's first run (`traceparent`), if it had telemetry.
    ``instructions``: if the turn added the first message of the request, a system message, its text without the
    parts that apply to this turn only (`continued`). The JSON of a state without them lacks these two members, so that
    the digests of earlier recordings hold.
    """

    id: str
    wire: str
    request: Request
    settings: Settings = Settings(on_all_failed="continue")
    version: int = VERSION
    phase: TurnPhase = "new"
    rounds: list[RoundState] = []
    usage: Usage | None = None
    seq: int = 0
    block: int = 0
    repeats: dict[str, int] = {}
    pauses: int = 0
    notes: list[TurnNote] = []
    ending: Termination | None = None
    termination: Termination | None = None
    error: Error | None = None
    text: str = ""
    written: bool = True
    trace: dict[str, str] | UnsetType = UNSET
    instructions: str | UnsetType = UNSET

    @property
    def initial(self) -> TurnState:
        """The state before the first step, which changes none of these fields."""
        return TurnState(self.id, self.wire, self.request, self.settings, self.version, instructions=self.instructions)

    @property
    def round(self) -> RoundState | None:
        """The current or last round, None before the first one."""
        return self.rounds[-1] if self.rounds else None

    @property
    def waiting(self) -> list[CallState]:
        """The calls that wait for approval or for a result from outside (see their ``status``)."""
        return [call for call in self.rounds[-1].calls if call.waits] if self.rounds else []

    def choice_of(self, response: Response | None) -> Choice | None:
        """Return the choice that the turn acts on, None if the response does not contain it."""
        choices = response.choices if response is not None else ()
        return next((choice for choice in choices if choice.index == self.settings.choice), None)

    def block_of(self, call: CallState) -> tuple[int, ToolCall | ApprovalRequest]:
        """Return the block of a call of the last round, and its number among the blocks that get a result.

        Results are in the order of the client calls, followed by the approval requests.
        """
        choice = self.choice_of(self.rounds[-1].answer)
        blocks = choice.blocks if choice is not None else []
        kinds = ToolCall, ApprovalRequest
        numbered = enumerate(block for kind in kinds for block in blocks if isinstance(block, kind))
        wanted = ToolCall if call.server is None else ApprovalRequest
        return next((number, block) for number, block in numbered if type(block) is wanted and block.id == call.id)

    def tool_call(self, call: CallState) -> ToolCall:
        """Return the block of a client call of the last round."""
        _, block = self.block_of(call)
        assert isinstance(block, ToolCall)
        return block

    def history(self) -> list[Message]:
        """Return the conversation up to the last round that is over. Every call in it has a result.

        Each call returns the same message objects, so that `normalizer.requests.RequestWriter` encodes only new ones.
        """
        return [*self.request.messages, *(message for round in self.rounds for message in round.messages)]

    def continued(self) -> list[Message]:
        """Return the history for the next turn: the system prompt that this turn added has only its instructions."""
        history = self.history()
        if self.instructions is UNSET:
            return history
        return [*system_prompt(self.instructions), *history[1:]]


def system_prompt(text: str) -> list[Message]:
    """Return the system message with a text, an empty list without text."""
    return [System([TextPart(text)])] if text else []


def dump(state: TurnState, version: int = VERSION) -> bytes:
    """Return the state as JSON. ``version``: write it as a program of this earlier version did."""
    if version < 3:
        names = {name: before for before, name in _RENAMED.items()}
        document = _renamed(json_codec.decode(json_codec.encode(state)), names)
        return json_codec.encode({**document, "version": version})
    return json_codec.encode(state)


def load(data: bytes | str) -> TurnState:
    """Return the state from JSON. Raises InvalidState for invalid JSON, an invalid state, or a later version."""
    try:
        document = json_codec.decode(data)
    except ValueError as error:
        raise InvalidState(f"not JSON: {error}") from None
    version = document.get("version", VERSION) if isinstance(document, dict) else None
    if not isinstance(version, int) or version > VERSION:
        raise InvalidState(f"unsupported version of a turn state: {version!r}", hint=f"versions up to {VERSION} load")
    if version < 3:
        document = {**_renamed(document, _RENAMED), "version": VERSION}
    try:
        state: TurnState = json_codec.convert(document, TurnState)
        return state
    except msgspec.ValidationError as error:
        raise InvalidState(f"not a turn state: {error}") from None


def _renamed(document: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the JSON of a state with the members of its request, rounds and calls renamed, in the same order."""

    def rename(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        members = {names.get(name, name): member for name, member in value.items()}
        if isinstance(members.get("calls"), list):
            members["calls"] = [rename(call) for call in members["calls"]]
        return members

    rounds = document.get("rounds")
    changed = {"request": rename(document.get("request"))}
    if isinstance(rounds, list):
        changed["rounds"] = [rename(round) for round in rounds]
    return {name: changed.get(name, member) for name, member in document.items()}


def key_of(turn: str, round: int, call: ToolCall) -> str:
    """Return the permanent key of a call: a hash of turn, round, id, name and argument text.

    The round is part of it because providers reuse ids (failure ID-10).
    """
    text = "\0".join((turn, str(round), call.id, call.name, call.arguments_text))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def fingerprint(call: ToolCall) -> str:
    """Return a fingerprint that is equal for calls of the same tool with the same arguments.

    It ignores the id and, for parsed arguments, spelling and key order.
    """
    arguments: Any = call.arguments if call.arguments is not None else call.arguments_text
    text = json_codec.text([call.name, msgspec.to_builtins(arguments, order="deterministic")])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def add_usage(before: Usage | None, more: Usage | None) -> Usage | None:
    """Return the sum of two usages, field by field. A field that is None in both stays None."""
    if before is None or more is None:
        return before if more is None else msgspec.structs.replace(more, raw=None)
    sums: dict[str, int | None] = {}
    for name in _COUNTS:
        counts = [count for count in (getattr(before, name), getattr(more, name)) if count is not None]
        sums[name] = sum(counts) if counts else None
    return Usage(**sums, estimated=before.estimated or more.estimated)
