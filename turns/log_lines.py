"""The log lines of a turn: one for the outcome of each call, for each round, and for the end.

They have level INFO, the end after an error WARNING. No line contains arguments, results or the message of an error,
which can hold secrets. The policy (`toolparity.select`) warns of dropped calls.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence

from toolparity.normalizer.model import Usage

from .events import CallFinished, CallsKnown, Dropped, Noted, RoundFinished, TurnComplete, TurnEvent, TurnFailed
from .machine.state import RoundState, TurnState
from .secrets import public_text

_log = logging.getLogger("toolparity")


def log_step(events: Iterable[TurnEvent], state: TurnState) -> None:
    """Log the events of one step. ``state``: after them."""
    for event in events:
        if isinstance(event, CallFinished):
            _log_call(state, event.round, event.call_id, event.name, event.outcome.replace("_", " "))
        elif isinstance(event, CallsKnown):
            for ref in event.rejected:
                _log_call(state, event.round, ref.id, ref.name, f"rejected, {ref.reason}")
        elif isinstance(event, Dropped):
            names = ", ".join(repr(ref.name) for ref in event.dropped)
            kept = len(event.processing)
            _log.info(  # the policy has warned of them
                "turn %s, round %s: %s of %s calls kept, dropped: %s", state.id, event.round, kept, event.total, names
            )
        elif isinstance(event, Noted) and event.data.get("tool"):  # a fallback
            id = event.data.get("call") or event.data.get("call_id")
            _log.info(
                "turn %s, round %s: call %r failed, %r ran instead", state.id, event.round, id, event.data["tool"]
            )
        elif isinstance(event, RoundFinished):
            counts = _counts([state.rounds[event.round - 1]], event.usage)
            _log.info("turn %s, round %s: %s", state.id, event.round, counts)
        elif isinstance(event, (TurnComplete, TurnFailed)):
            _log_end(state)


def _log_call(state: TurnState, round: int, id: str | None, name: str | None, outcome: str) -> None:
    _log.info("turn %s, round %s: call %r of %r: %s", state.id, round, id, name, outcome)


def _log_end(state: TurnState) -> None:
    error, rounds = state.error, len(state.rounds)
    cause = f", {public_text(error)}" if error is not None else ""
    level = logging.INFO if error is None else logging.WARNING
    counts = _counts(state.rounds, state.usage)
    _log.log(level, "turn %s ended as %s%s: %s rounds, %s", state.id, state.termination, cause, rounds, counts)


def _counts(rounds: Sequence[RoundState], usage: Usage | None) -> str:
    """Return how many calls came to which outcome, and the tokens."""
    outcomes = Counter((call.outcome or call.status).replace("_", " ") for round in rounds for call in round.calls)
    outcomes["dropped"] = sum(len(round.dropped) for round in rounds)
    outcomes["rejected"] = sum(len(round.rejected) for round in rounds)
    listed = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items() if number)
    number = outcomes.total()
    calls = f"{number} call{'s' * (number != 1)}" + (f" ({listed})" if listed else "")
    if usage is None:
        return calls
    tokens = f"{usage.input_tokens or 0} + {usage.output_tokens or 0} tokens"
    return f"{calls}, {tokens}{' (estimated)' if usage.estimated else ''}"
