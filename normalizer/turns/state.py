"""The state of a turn: everything that is needed to go on with it, in this process or in another.

    text = state.dump(turn_state)       # JSON
    turn_state = state.load(text)       # the same

It holds no function, no clock and no connection. A state that is kept before each call starts and after each call
finished (`observer.Observer`) is enough for running nothing twice and leaving nothing unanswered.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import msgspec
from msgspec import Struct

from .. import json_codec
from ..conversation import Assistant, Request, Result, Results, Turn
from ..errors import InvalidState, PolicyError
from ..model import Block, Error, Response, ToolCall, Usage
from ..policies import POLICIES, Ref

#: Of the JSON. A later version reads all earlier ones; a state of one keeps its number until it holds what that one
#: could not read. 2: calls whose results come from outside.
VERSION = 2

Phase = Literal["new", "asking", "acting", "over"]
OnError = Literal["continue", "stop"]
OnAllFailed = Literal["stop", "answer", "continue"]

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

#: What a call is at: it waits for approval, may be run, must not, runs (or ran when the process ended), was handed out
#: and waits for its result, has its result, was given up while it ran, or was never started.
Status = Literal["waiting_approval", "approved", "denied", "started", "waiting_result", "done", "abandoned", "skipped"]

#: How a call came to its result. The first four ran to an end of their own; ``timeout``, ``cancelled`` and
#: ``unknown_outcome`` were given up while they ran; the others never ran.
How = Literal[
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

#: Ways of having failed that are the tool's, not the model's: if every kept call of a round has one, all tools failed.
TOOL_FAILURES: frozenset[How] = frozenset(("failed", "raised", "unsayable", "timeout"))


class Settings(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the caller decided for a turn; kept with it, so that it goes on alike elsewhere.

    ``max_rounds``: answers with calls that are acted on, before the model is asked a last time and may not call.
    ``limit``: kept calls of one answer. ``on_error``: under `batch`, whether the calls behind a failed one are run.
    ``on_all_failed``: where all tools of a round failed, "continue" lets the model see the errors and go on, "answer"
    asks a last time, "stop" ends the turn. A `Turn` continues unless its caller says otherwise; "stop" is the value of
    a kept state that names none, because earlier versions did not write it.
    ``budget``: tokens of all rounds; above it nothing is run or asked any more. ``loop_after``: from which identical
    call on `loop_suspected` is told; ``loop_limit``: from which one on it is not run. ``max_pauses``: how often in a
    turn a provider's pause is gone on from.
    """

    policy: str = "all"
    max_rounds: int = 8
    limit: int | None = None
    on_error: OnError = "continue"
    on_all_failed: OnAllFailed = "stop"
    budget: int | None = None
    loop_after: int = 3
    loop_limit: int | None = None
    max_pauses: int = 8
    choice: int = 0

    def __post_init__(self) -> None:
        """Raises PolicyError: what cannot be is better known before anybody is asked."""
        if self.policy not in POLICIES:
            raise PolicyError(f"no policy is called {self.policy!r}", hint=f"one of {', '.join(POLICIES)}")
        for name in ("max_rounds", "limit", "budget", "loop_after", "loop_limit", "max_pauses"):
            given = getattr(self, name)
            if given is not None and given < 0:
                raise PolicyError(f"{name} of {given}", hint="give a number, 0 or more")


class CallState(Struct, frozen=True, omit_defaults=True):
    """A kept call of a round. ``key``: names it for ever (see `key_of`). ``block``: its place in the answer.

    ``server``: the provider asks whether it may run this on a server of its own; nothing is executed here.
    ``given``: whoever executes has it. ``deferred``: nobody here executes it; its result is given from outside.
    ``result``: its answer, until the round is over and it stands in the round's turns.
    """

    id: str
    name: str
    block: int
    key: str
    status: Status = "approved"
    how: How | None = None
    result: Result | None = None
    attempts: int = 0
    given: bool = False
    reason: str | None = None
    server: str | None = None
    deferred: bool = False

    @property
    def waits(self) -> bool:
        """Whether somebody outside has to say something: yes or no, or what came of it."""
        return self.status in ("waiting_approval", "waiting_result")

    @property
    def settled(self) -> bool:
        """Whether nothing is to be done for it any more."""
        return self.status in ("done", "denied", "abandoned", "skipped")


class RoundState(Struct, frozen=True, omit_defaults=True):
    """One answer of the model and what became of its calls.

    ``response``: the answer while its calls are acted on, and for good where it does not stand in the history as it
    came (it broke off). ``turns``: what the round adds to the history; empty until it is over. ``first_block``: the
    sequence of its first block; ``result_block``: that of the answer to its first call.
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
    turns: list[Turn] = []
    usage: Usage | None = None
    termination_reason: Termination | None = None

    @property
    def answered(self) -> Response | None:
        """The model's answer, null while it is awaited."""
        if self.response is None and self.turns and isinstance(self.turns[0], Assistant):
            return self.turns[0].response
        return self.response

    @property
    def ai_response_content(self) -> list[Block]:
        """The blocks of the answer."""
        response = self.answered
        return response.choices[0].blocks if response is not None and response.choices else []

    @property
    def tools_used(self) -> list[str]:
        """The names of the tools that were run, here or elsewhere, in call order, each as often as it was."""
        return [call.name for call in self.calls if call.attempts]

    @property
    def tool_results(self) -> list[Result]:
        """The answers to its calls in call order; while the round is open, those that are known."""
        for turn in self.turns:
            if isinstance(turn, Results):
                return turn.results
        return [call.result for call in self.calls if call.result is not None]

    @property
    def all_failed(self) -> bool:
        """Whether every call that was to run here or elsewhere failed, and there was one."""
        own = [call for call in self.calls if call.server is None]
        return bool(own) and all(call.how in TOOL_FAILURES for call in own)

    def call(self, id: str) -> CallState | None:
        """The kept call of that id."""
        return next((call for call in self.calls if call.id == id), None)


class Note(Struct, frozen=True):
    """Something that whoever directs a turn did in a round; ``data`` is his own."""

    round: int
    note: str
    data: dict[str, Any] = {}


class TurnState(Struct, frozen=True):
    """A turn. ``wire``: that of its provider. ``request``: what it began with, of any wire; what was said since stands
    in the rounds (`history`).

    ``seq`` and ``block``: the numbers of the next event and of the next block. ``ending``: why the model is being
    asked a last time. ``notes``: what whoever directs the turn has to know where it is gone on with. ``text``: what the
    turn answers, once it is over; ``written``: whether the model wrote it.
    """

    id: str
    wire: str
    request: Request
    settings: Settings = Settings(on_all_failed="continue")
    version: int = VERSION
    phase: Phase = "new"
    rounds: list[RoundState] = []
    usage: Usage | None = None
    seq: int = 0
    block: int = 0
    repeats: dict[str, int] = {}
    pauses: int = 0
    notes: list[Note] = []
    ending: Termination | None = None
    termination: Termination | None = None
    error: Error | None = None
    text: str = ""
    written: bool = True

    @property
    def round(self) -> RoundState | None:
        """The round that the turn is in, or was in last."""
        return self.rounds[-1] if self.rounds else None

    @property
    def waiting(self) -> list[CallState]:
        """The calls that wait: for approval, or for a result from outside. Their status says which."""
        return [call for call in self.rounds[-1].calls if call.waits] if self.rounds else []

    def history(self) -> list[Turn]:
        """What was said up to the last round that is over: legal for the provider, every call answered.

        The turns are the same objects each time, so `normalizer.requests.RequestWriter` writes only what is new.
        """
        return [*self.request.turns, *(turn for round in self.rounds for turn in round.turns)]


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(TurnState)


def dump(state: TurnState) -> bytes:
    """The state as JSON."""
    return json_codec.encode(state)


def load(data: bytes | str) -> TurnState:
    """The state of a JSON text. Raises InvalidState for what is none, or is of a later version."""
    try:
        head = json_codec.decode(data)
        version = head.get("version", VERSION) if isinstance(head, dict) else None
        if not isinstance(version, int) or version > VERSION:
            raise InvalidState(f"version {version!r} of a turn's state", hint=f"this program reads up to {VERSION}")
        return msgspec.convert(head, TurnState)
    except msgspec.ValidationError as error:
        raise InvalidState(f"no state of a turn: {error}") from None
    except ValueError as error:
        if isinstance(error, InvalidState):
            raise
        raise InvalidState(f"no JSON: {error}") from None


def key_of(turn: str, round: int, call: ToolCall) -> str:
    """What names a call for ever: the turn, the round (providers use ids again, failure ID-10), id and arguments."""
    text = "\0".join((turn, str(round), call.id, call.name, call.arguments_text))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def likeness(call: ToolCall) -> str:
    """The same for calls of the same tool with the same arguments, whatever their ids and spelling."""
    said: Any = call.arguments if call.arguments is not None else call.arguments_text
    text = json_codec.text([call.name, msgspec.to_builtins(said, order="deterministic")])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def added(before: Usage | None, more: Usage | None) -> Usage | None:
    """The sum of two figures, member by member; what nobody told stays null."""
    if before is None or more is None:
        return before if more is None else msgspec.structs.replace(more, raw=None)
    sums: dict[str, int | None] = {}
    for name in Usage.__struct_fields__[:-1]:
        one, other = getattr(before, name), getattr(more, name)
        sums[name] = (one or 0) + (other or 0) if one is not None or other is not None else None
    return Usage(**sums)
