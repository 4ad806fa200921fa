"""The law `replay`: a provider gets back what it requires."""

from __future__ import annotations

from collections.abc import Iterator

from toolparity.normalizer import json_codec

from ..cases.case import Evidence
from ..oracle.requests import follow_up, lost_calls, model_text, user_texts, values_to_return
from .common import Failure, call_list

SENTENCE = "History goes back to its own provider byte-faithful: signatures, opaque items, ids."
LEVEL = "must"
CLAIMS = ("answers",)


def applies(evidence: Evidence) -> bool:
    """Applies if the conversation continues; checked once for all policies."""
    return evidence.case.policy == "all" and any(round.following for round in evidence.rounds)


def check(evidence: Evidence) -> Iterator[Failure]:
    """Check that the next request holds each signature, encrypted state and id of the response unchanged.

    It must also hold the calls and the text of the response, and the earlier texts of the user.
    """
    for round in evidence.rounds:
        if not round.following:
            continue
        wire = round.ask.wire
        body = evidence.make(follow_up(round, wire, round.ask.provider))
        sent = json_codec.text(body)
        told = [("part", value) for value in round.expected.back]
        for kind, value in [*values_to_return(round.ask), *told]:
            if json_codec.text(value)[1:-1] not in sent:
                yield Failure(round.number, f"the {kind} of the answer did not go back", value[:80], "not there")
        for call in lost_calls(round, body, wire):
            reason = f"{call.name} did not go back with the arguments that the model gave it"
            yield Failure(round.number, reason, call_list([call]), None)
        if round.expected.text not in model_text(body, wire):
            yield Failure(round.number, "the words beside the calls did not go back", round.expected.text)
        for words in user_texts(round.ask.request, wire):
            if words not in user_texts(body, wire):
                yield Failure(round.number, "what the user said did not go back", words)
