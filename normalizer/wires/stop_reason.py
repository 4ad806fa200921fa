"""The effective stop reason of a choice, from the word on the wire and the blocks (law `stop`)."""

from __future__ import annotations

from msgspec.structs import replace

from ..model import Choice, Stop, StopReason
from .call_builder import CallBuilder
from .registry import spec
from .stop_words import REASONS, is_listed

#: Reasons that mean a natural end or nothing at all. `effective_stop` then decides by the blocks of the response.
_YIELDS = frozenset(("end_turn", "unknown"))


#: Reasons that mean that the provider cut the response at its end.
CUTS = frozenset(("max_tokens", "context_window"))


#: The words for a time limit, which cuts a response like a token limit does.
_TIME_LIMITS = frozenset(("time_limit", "timeout"))


#: The stops of a choice that only has text about which there is nothing to report, by their words.
_PLAIN_ENDS: dict[str | None, Stop] = {
    word: Stop(reason, word)
    for word, reason in REASONS.items()
    if reason in ("end_turn", "max_tokens") and word.lower() not in _TIME_LIMITS
}


_REFUSALS = frozenset(("refusal", "content_filter"))


#: Reasons that `stopped_by_error` replaces with "error" when an error ended the response.
_ENDED_WELL = frozenset(("tool_calls", "end_turn", "unknown"))


def effective_stop(
    builder: CallBuilder, reason: StopReason | None, raw: str | None, approvals: int = 0, refusals: int = 0
) -> Stop:
    """Return the effective stop reason, given the wire's reason and the blocks of the choice (law `stop`).

    ``reason``: the wire's reason, mapped; None if the wire gave none. ``raw``: the wire's spelling. ``builder``: the
    builder of the choice's calls. ``approvals`` and ``refusals``: how many such blocks the choice has. Client calls
    replace a natural end; without calls, refusals do, then approval requests. Every other reason is kept.
    Disagreements become findings.
    """
    calls = len(builder.seen)
    if reason == "tool_calls" and calls:
        return Stop("tool_calls", raw)
    if not (calls or approvals or refusals) and (plain := _PLAIN_ENDS.get(raw)) is not None and plain.reason == reason:
        return plain
    context, choice = builder.context, builder.choice
    if reason == "max_tokens" and raw and raw.lower() in _TIME_LIMITS:
        context.find("time-limit", "", choice)
    if approvals:
        context.find("needs-approval", "", choice)
    if reason == "tool_calls":
        context.find("stop-disagrees", f"stop reason {raw!r} without a client call", choice)
        reason = "end_turn"
    elif reason is None:
        context.find("stop-missing", "", choice)
        reason = "unknown"
    elif reason == "unknown" or not (raw is None or is_listed(raw) or raw in spec(context.wire).stop_words):
        context.find("stop-unknown", f"stop reason {raw!r}", choice)
    elif calls and reason == "end_turn" and not context.declared.named:
        context.find("stop-disagrees", f"stop reason {raw!r} with {calls} client calls", choice)
    if reason in _YIELDS:
        reason = "tool_calls" if calls else "refusal" if refusals else "pause" if approvals else reason
    if reason in _REFUSALS:
        context.find("refused", f"stop reason {raw!r}", choice)
    elif reason == "pause" and not approvals:
        context.find("paused", "", choice)
    return Stop(reason, raw)


def stopped_by_error(choices: list[Choice]) -> list[Choice]:
    """Return the choices of a response that an error ended.

    The stop reason "error" replaces "tool_calls", "end_turn" and "unknown" (law `stop`). Other reasons stay.
    """
    return [
        replace(choice, stop=Stop("error", choice.stop.raw)) if choice.stop.reason in _ENDED_WELL else choice
        for choice in choices
    ]
