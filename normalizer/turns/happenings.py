"""What the machine is told: everything that comes from outside, as data, so that a turn can be played again.

    happening --machine.step--> new state, effects (`effects`)

A list of happenings is a recording of a turn: the same happenings give the same states, events and effects.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ..conversation import Result
from ..model import Error, Response, Usage
from .state import How, Termination


class _Happening(Struct, tag_field="type", frozen=True, gc=False, omit_defaults=True):
    pass


class Begun(_Happening, tag="begun", frozen=True, gc=False):
    """The turn is to be run."""


class Resumed(_Happening, tag="resumed", frozen=True, gc=False):
    """A state that was kept is to be gone on with; whoever ran it before runs it no more.

    ``rerun``: the ids of calls that had been started and may be run again, because their tool is idempotent.
    """

    rerun: list[str] = []


class Opened(_Happening, tag="opened", frozen=True, gc=False):
    """A block of the answer begins. ``key``: its number within the answer, from 0 without a gap."""

    key: int
    block_type: str
    id: str | None = None
    name: str | None = None


class Grew(_Happening, tag="grew", frozen=True, gc=False):
    """More of a block."""

    key: int
    text: str


class Replaced(_Happening, tag="replaced", frozen=True, gc=False):
    """What was shown of a block is void; this holds instead."""

    key: int
    text: str


class Closed(_Happening, tag="closed", frozen=True, gc=False):
    """A block is whole, or the answer broke off inside it (``cut``)."""

    key: int
    block_type: str
    text_content: str | None = None
    content: Any = None
    cut: bool = False


class Settled(_Happening, tag="settled", frozen=True, gc=False):
    """The whole answer says more of a block that was closed."""

    key: int
    block_type: str
    text_content: str | None = None
    content: Any = None


class Answered(_Happening, tag="answered", frozen=True, gc=False):
    """The answer arrived, whole or not: it says so itself. ``needs_approval``: ids of calls that wait for a yes.
    ``deferred``: ids of calls that are run elsewhere. ``retry_after``: seconds that a refusal demands to wait.
    """

    response: Response
    needs_approval: list[str] = []
    deferred: list[str] = []
    retry_after: float | None = None


class Broke(_Happening, tag="broke", frozen=True, gc=False):
    """The provider could not be asked, or the connection broke. ``response``: what had arrived, where any had.

    ``retry_after``: seconds that a refusal demands to wait.
    """

    error: Error
    response: Response | None = None
    retry_after: float | None = None


class Again(_Happening, tag="again", frozen=True, gc=False):
    """The answer that is awaited broke, or is worth nothing: the same round is asked again, its blocks are void.

    ``usage``: what it cost all the same.
    """

    usage: Usage | None = None


class Bounded(_Happening, tag="bounded", frozen=True, gc=False):
    """Somebody above the turn had enough: what is asked next is asked for the last time, because of ``ending``."""

    ending: Termination


class Noted(_Happening, tag="noted", frozen=True, gc=False):
    """Somebody above the turn says what it does; nothing else changes. ``keep``: the state is to know of it, too."""

    round: int
    note: str
    data: dict[str, Any] = {}
    keep: bool = False


class Acknowledging(_Happening, tag="acknowledging", frozen=True, gc=False):
    """Somebody wrote what the user is told while the calls of a round run. ``spoken``: the model, beside its calls.

    ``round``: 0 for whichever it is.
    """

    text: str
    spoken: bool = False
    round: int = 0


class Decided(_Happening, tag="decided", frozen=True, gc=False):
    """Somebody allowed a call, or did not; ``reason`` is told to the model."""

    call_id: str
    approved: bool
    reason: str | None = None


class Starting(_Happening, tag="starting", frozen=True, gc=False):
    """A call that may run is about to be started."""

    call_id: str


class Progressed(_Happening, tag="progressed", frozen=True, gc=False):
    """A running tool says something of itself."""

    call_id: str
    data: Any = None


class Finished(_Happening, tag="finished", frozen=True, gc=False):
    """A call has its result."""

    call_id: str
    result: Result
    how: How


class Supplied(_Happening, tag="supplied", frozen=True, gc=False):
    """Somebody elsewhere ran a call that was handed out, and this came of it."""

    call_id: str
    result: Result
    how: How


class Cancelled(_Happening, tag="cancelled", frozen=True, gc=False):
    """The turn is not wanted any more. ``reason`` is told to the model where the conversation goes on.

    ``response``: what had arrived of an answer that is awaited no longer.
    """

    reason: str | None = None
    response: Response | None = None


Happening = (
    Begun
    | Resumed
    | Opened
    | Grew
    | Replaced
    | Closed
    | Settled
    | Answered
    | Broke
    | Again
    | Bounded
    | Noted
    | Acknowledging
    | Decided
    | Starting
    | Progressed
    | Finished
    | Supplied
    | Cancelled
)
