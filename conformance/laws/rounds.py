"""What the second request of an agent keeps of the first one and of the response, and when there must be none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolparity.normalizer import json_codec
from toolparity.reports.results import Effect

from ..cases.case import CaseRound
from ..oracle import oracle
from ..oracle.history import conversation
from ..oracle.settings import TRANSPORT
from .history import shape
from .law import Failure
from .matching import json_equal

#: Members that an agent may change between two rounds: it may require a call in the first one only, and refer to the
#: response and to its container.
_OF_A_ROUND = frozenset(("tool_choice", "toolChoice", "tool_config", "previous_response_id", "container", *TRANSPORT))
#: Settings that are not added after the first round. ``tool_choice`` alone may go back to its default.
_ADDED = frozenset(("tool_choice", "temperature", "top_p", "max_tokens", "response_format", "system", "instructions"))
#: The states of a failed response in which a client may repeat its request.
_RETRYABLE = frozenset((408, 409, 425, 429))
#: How a response without calls ends if nothing of it is missing.
_FINAL = frozenset(("end_turn", "stop_sequence", "refusal", "content_filter"))
#: The URL-safe alphabet of base64 -> the standard one. Google's services read both, and its SDK sends the former.
_BASE64 = str.maketrans("-_", "+/")


def shows_the_break(round: CaseRound) -> bool:
    """Return whether the caller of an agent can see that the response broke or failed, or the agent asked again."""
    answer = round.answer
    return bool(answer.error is not None or answer.complete is False or answer.rejected or round.sent)


def asked_again(round: CaseRound) -> Iterator[Failure]:
    """Yield a failure if the agent sent a further request although the response is final, or a refused one again."""
    expected, status = round.expected, round.exchange.status
    if not round.sent:
        return
    if 400 <= status < 500 and status not in _RETRYABLE:
        reason = f"the agent sent a request again that the provider had refused with the status {status}"
        yield Failure(round.number, reason, "no further request", len(round.sent), effect="duplicated")
    wants_more = expected.calls or expected.servers or expected.approvals or not (expected.text or expected.refusal)
    if expected.complete and not expected.failed and expected.stop in _FINAL and not wants_more:
        reason = f"the agent asked again although the response has no calls and ended with {expected.stop}"
        yield Failure(round.number, reason, "no further request", len(round.sent), effect="duplicated")


def compacts(round: CaseRound) -> bool:
    """Return whether the response has a compaction, which replaces what was said before it."""
    return b'"compaction"' in round.exchange.body


def continuation_failures(round: CaseRound) -> Iterator[Failure]:
    """Yield what the request after the response lost or changed of the first request, and of what the model said."""
    first, body, wire, number = round.first, round.sent[0], round.exchange.wire, round.number
    if not isinstance(first, dict) or not isinstance(body, dict):
        return
    key, asked = conversation(first)
    for name in sorted(first.keys() - _OF_A_ROUND - {key}):
        if not json_equal(first[name], body.get(name)):
            effect: Effect = "altered" if name in body else "lost"
            reason = f"the second request {'changes' if name in body else 'does not have'} {name}"
            yield Failure(number, reason, first[name], body.get(name), effect=effect)
    for name in sorted((body.keys() & _ADDED) - first.keys()):
        yield Failure(number, f"the second request adds {name}", None, body[name], effect="altered")
    if "previous_response_id" in body:
        return  # the provider has the conversation
    items = conversation(body)[1]
    if not compacts(round) and not json_equal(_unmarked(shape(asked)), _unmarked(shape(items[: len(asked)]))):
        reason = "the second request changes what the first one says"
        yield Failure(number, reason, asked, items[: len(asked)], effect="altered")
    added = list(oracle(wire).texts(body, "user"))[len(list(oracle(wire).texts(first, "user"))) :]
    if added:
        yield Failure(number, "the second request adds words of the user", None, added, effect="altered")
    expected, sent = round.expected, json_codec.text(body)
    same_alphabet = sent.translate(_BASE64)
    by_reference = '"item_reference"' in sent  # the provider has the items
    words, returned = (
        "".join(text.split()) for text in (expected.text, "".join(oracle(wire).texts(body, "assistant")))
    )
    if not by_reference and words not in returned:  # texts may be joined with white space
        yield Failure(number, "the text beside the calls is missing in the next request", expected.text, effect="lost")
    for kind, value in oracle(wire).returned_values(round.exchange):
        bare = json_codec.text(value)[1:-1].translate(_BASE64).rstrip("=")
        if kind in ("signature", "redacted thinking") and bare not in same_alphabet:
            reason = f"a {kind} of the response is missing in the next request"
            yield Failure(number, reason, value[:80], "missing", effect="lost")


def _unmarked(value: Any) -> Any:
    """Return a JSON value without marks for a provider's cache, which move from round to round."""
    if isinstance(value, dict):
        return {name: _unmarked(member) for name, member in value.items() if name != "cache_control"}
    return [_unmarked(element) for element in value] if isinstance(value, list) else value
