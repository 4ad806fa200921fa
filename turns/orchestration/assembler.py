"""The response assembler: it adds an uncertainty note to the answer of a turn.

If the model wrote no final answer, it builds one from the results of the calls.
"""

from __future__ import annotations

from msgspec import Struct

from ..execution.tool_results import quoted
from ..outcome import Outcome
from ..result_texts import for_user
from ..secrets import public_text
from .memory import CallMemory, Session, session_of
from .notes import LEVELS, Recovery, RecoveryLevel

#: The most characters that an assembled answer quotes from one result.
_MAX_RESULT = 500


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
    recoveries = list(recoveries)
    if outcome.termination not in (None, "cancelled") and not written:
        answer, written = _from_results(outcome, session), False
        why = public_text(outcome.error) if outcome.error is not None else outcome.termination.replace("_", " ")
        if not any(recovery.level == "assembled" for recovery in recoveries):
            recoveries.append(Recovery(len(outcome.state.rounds), "assembled", why))
    level = max((recovery.level for recovery in recoveries), key=LEVELS.index, default=None)
    note = uncertainty(recoveries) if outcome.termination is not None else ""
    text = f"{answer}\n\n{note}" if note else answer
    return Orchestrated(text, answer, note, written, level, recoveries, session, outcome)


def uncertainty(recoveries: list[Recovery]) -> str:
    """Return a note for the user that lists the recovery steps, "" if there were none. No exception's text is in it."""
    notes = [
        f"{recovery.tool} was used in place of a tool that failed"
        for recovery in recoveries
        if recovery.level == "tool"
    ]
    levels = {recovery.level for recovery in recoveries}
    if "assembled" in levels:
        notes.append("it was assembled by the program, and not written by the model")
    elif "session" in levels:
        notes.append("it was written from the results so far, without further calls")
    elif "round" in levels:
        notes.append("a step failed and was repeated with less context")
    return f"Note: this answer may be incomplete: {'; '.join(notes)}." if notes else ""


def _from_results(outcome: Outcome, session: Session) -> str:
    current = {id(message) for round in outcome.state.rounds for message in round.messages}
    rounds = [round for round in session.rounds if any(id(message) in current for message in round.messages)]
    calls = [(call.failed, _line(call)) for round in rounds for call in round.calls]
    sections = {
        "Results:": [line for failed, line in calls if not failed],
        "Failures:": [line for failed, line in calls if failed],
        "The model wrote meanwhile:": [f"- {quoted(round.text, _MAX_RESULT)}" for round in rounds if round.text],
    }
    lines = [line for title, items in sections.items() if items for line in (title, *items)]
    reason = str(outcome.termination).replace("_", " ")
    return "\n".join([f"The answer is unfinished: {reason}.", *(lines or ["There are no results."])])


def _line(call: CallMemory) -> str:
    text = quoted(for_user(call.text, failed=call.failed), _MAX_RESULT)
    return f"- {call.label}{': ' if text else ''}{text}"
