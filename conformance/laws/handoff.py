"""The law `handoff`: a conversation can continue with another provider."""

from __future__ import annotations

from collections.abc import Iterator

from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import check_request

from ..cases.case import Evidence
from ..oracle.requests import follow_up, lost_calls, lost_results, model_text
from .common import Failure, call_list

SENTENCE = "History from any wire, sent to any other, is legal there, and what could not be carried is reported."
LEVEL = "must"
CLAIMS = ("answers", "handoff")
_PROVIDERS: dict[Wire, str] = {
    "openai.chat": "openai",
    "openai.responses": "openai",
    "anthropic.messages": "anthropic",
    "xai.grpc": "xai",
}


def applies(evidence: Evidence) -> bool:
    """Applies if calls were answered; checked once for all policies."""
    return evidence.case.policy == "all" and any(round.expected.calls and round.following for round in evidence.rounds)


def check(evidence: Evidence) -> Iterator[Failure]:
    """Check, for each other wire, that the request follows its rules and contains every call, result and text."""
    for round in evidence.rounds:
        if not (round.expected.calls and round.following):
            continue
        for wire, provider in _PROVIDERS.items():
            if wire == round.ask.wire:
                continue
            body = evidence.make(follow_up(round, wire, provider))
            for violation in check_request(body, wire, provider=provider):
                yield Failure(round.number, f"{wire} refuses it by {violation.rule}: {violation.message}", None, body)
            for call in lost_calls(round, body, wire):
                reason = f"{call.name} did not reach {wire} with the arguments that the model gave it"
                yield Failure(round.number, reason, call_list([call]), None)
            for result in lost_results(round, body, wire):
                yield Failure(round.number, f"a result did not reach its call on {wire}", result, None)
            if round.expected.text not in model_text(body, wire):
                yield Failure(round.number, f"the words beside the calls did not reach {wire}", round.expected.text)
