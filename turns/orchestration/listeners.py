"""Listeners of an orchestrated turn, and their decisions: each phase can be prevented, changed or extended.

    def no_mail_at_night(phase, state):
        if isinstance(phase, ToolExecutionPhase) and is_night():
            return Veto("no mail is sent at night", calls=[id for id, name in phase.calls if name == "send_mail"])

| phase            | `Veto`                          | `Change`                        | `Add`                       |
|------------------|---------------------------------|---------------------------------|-----------------------------|
| `reasoning`      | the request is not sent         | this request                    | a message to this request   |
| `tool_execution` | the calls do not run            | the arguments of calls          | calls                       |
| `synthesis`      | the next answer is the last one | the results that the model gets | a message after the results |
| `final_response` | the model is asked again        | the text of the answer          | text after the answer       |

The decisions become inputs of the machine before the phase is carried out. So the history, the log and a resumed turn
contain what was decided. Changes of a request are the exception: they concern one request only.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from toolparity.normalizer.conversation import Request

from ..execution.exceptions import is_failure
from ..machine.state import TurnState
from .notes import Phase

_log = logging.getLogger("toolparity")


class Veto(Struct, frozen=True):
    """Prevent a phase. ``why``: the reason, which the model receives.

    ``calls``: prevent only the calls with these ids. A model is asked again at most twice in a turn.
    """

    why: str = "the program prevented it"
    calls: Sequence[str] | None = None


class Change(Struct, frozen=True):
    """Change a phase. The field of the phase counts, and the others are ignored.

    ``request``: returns the changed request. ``arguments``: by the id of the call. ``results``: by the id of the call,
    any value that a tool can return, or an exception. ``text``: the answer that the model wrote. An answer that the
    program assembles does not change.
    """

    request: Callable[[Request], Request] | None = None
    arguments: Mapping[str, dict[str, Any]] = {}
    results: Mapping[str, Any] = {}
    text: str | None = None


class Add(Struct, frozen=True):
    """Add to a phase. ``text``: a message to the model, or more text of the answer.

    ``calls``: the tools and the arguments of further calls. They run like calls of the model, with approvals and
    limits, and appear in the model's answer.
    """

    text: str = ""
    calls: Sequence[tuple[str, dict[str, Any]]] = ()


Decision = Veto | Change | Add
#: Called before each phase, with the phase and the state after it. False means `Veto`.
Listener = Callable[[Phase, TurnState], Decision | bool | Awaitable[Decision | bool | None] | None]


async def decisions(listeners: Sequence[Listener], phase: Phase, state: TurnState) -> list[Decision]:
    """Call the listeners in order and return their decisions. The exception of a listener is logged."""
    made: list[Decision] = []
    for listener in listeners:
        try:
            result = listener(phase, state)
            decision = await result if inspect.isawaitable(result) else result
            if decision is not None and not isinstance(decision, (bool, Veto, Change, Add)):
                raise TypeError(f"a listener must return a decision, got {type(decision).__name__}")
        except BaseException as error:
            if not is_failure(error):
                raise
            _log.warning("a listener failed", exc_info=True)
            continue
        if decision is False:
            made.append(Veto())
        elif isinstance(decision, (Veto, Change, Add)):
            made.append(decision)
    return made
