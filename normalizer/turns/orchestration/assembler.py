"""The response assembler: it adds an uncertainty note to the answer of a turn.

If the model wrote no final answer, it builds one from the results of the calls.
"""

from __future__ import annotations

from msgspec import Struct

from ..outcome import Outcome
from .memory import Session, session_of
from .messages import LEVELS, Recovery, RecoveryLevel
from .summaries import quoted

#: The most characters that an assembled answer quotes from one result.
_QUOTED = 500


class Orchestrated(Struct, frozen=True):
    """The result of an orchestrated turn.

    ``text``: the answer with its uncertainty note. ``answer``: the answer without the note. ``uncertainty``: the note,
    "" if there is none. ``written``: the model wrote the answer. ``level``: the highest level of recovery in the turn,
    None if nothing failed. ``recoveries``: the recovery steps, in order. ``session``: facts and calls of the
    conversation. ``outcome``: the outcome of the underlying turn, with its state, its termination, `Outcome.next` for
    the next turn, and the calls that wait for a decision (``waiting``).
    """

    text: str
    answer: str
    uncertainty: str
    written: bool
    level: RecoveryLevel | None
    recoveries: list[Recovery]
    session: Session
    outcome: Outcome


def assembled(outcome: Outcome, recoveries: list[Recovery]) -> Orchestrated:
    """Return the answer of a turn that is over or waits. A turn that ended without an answer gets an assembled one."""
    session = session_of(outcome.state.history())
    answer, written = outcome.text, outcome.written
    made = list(recoveries)
    if outcome.termination not in (None, "cancelled") and not written:
        answer, written = _put_together(outcome, session), False
        why = outcome.error.message if outcome.error is not None else outcome.termination.replace("_", " ")
        if not any(one.level == "assembled" for one in made):
            made.append(Recovery(len(outcome.state.rounds), "assembled", why))
    level = max((one.level for one in made), key=LEVELS.index, default=None)
    note = uncertainty(made) if outcome.termination is not None else ""
    text = f"{answer}\n\n{note}" if note else answer
    return Orchestrated(text, answer, note, written, level, made, session, outcome)


def uncertainty(recoveries: list[Recovery]) -> str:
    """Return a note for the user that lists the recovery steps, "" if there were none."""
    said: list[str] = []
    levels = {one.level for one in recoveries}
    for one in recoveries:
        if one.level == "tool":
            said.append(f"{one.tool} was used in place of a tool that failed ({quoted(one.why, 200)})")
    if "assembled" in levels:
        said.append("it was put together by the program, and not written by the model")
    elif "session" in levels:
        said.append("it was written from what was known by then, without looking further")
    elif "round" in levels:
        said.append("a step failed and was asked again with less context")
    return f"Note: this answer may be incomplete: {'; '.join(said)}." if said else ""


def _put_together(outcome: Outcome, session: Session) -> str:
    why = f" ({outcome.error.type}: {quoted(outcome.error.message, 200)})" if outcome.error is not None else ""
    current = {id(turn) for round in outcome.state.rounds for turn in round.messages}
    rounds = [round for round in session.rounds if any(id(turn) in current for turn in round.messages)]
    calls = [call for round in rounds for call in round.calls]
    lines = [f"The answer could not be finished: {str(outcome.termination).replace('_', ' ')}{why}."]
    found = [call for call in calls if not call.failed]
    lines += ["What was found:", *(f"- {call.told}: {quoted(call.text, _QUOTED)}" for call in found)] if found else []
    missed = [call for call in calls if call.failed]
    lines += ["What was not:", *(f"- {call.told}: {quoted(call.text, _QUOTED)}" for call in missed)] if missed else []
    said = [round.said for round in rounds if round.said]
    lines += ["What the model said on the way:", *(f"- {quoted(one, _QUOTED)}" for one in said)] if said else []
    return "\n".join(lines if len(lines) > 1 else [*lines, "Nothing was found out before."])
