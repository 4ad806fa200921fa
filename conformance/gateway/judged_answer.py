"""The reply of a gateway as the answer that the laws judge."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from toolparity.normalizer.model import Response

from ..answer import SubjectAnswer
from ..cases.expected import Expected
from ..subjects import SubjectExchange
from ..subjects.reference import read_answer
from .conversation import Turn
from .reduction import Pair, reduced_built_in, reduced_usage

#: Codes of findings that the client's reader repairs.
_REPAIRED = frozenset(("duplicate-call", "event-repeated", "stop-disagrees", "stop-missing"))


def judged_answer(turn: Turn, expected: Expected, exchange: SubjectExchange, pair: Pair) -> SubjectAnswer:
    """Return the answer for the laws.

    The provider's own error, passed on, is a reply and not a refusal. The client's reader counts a call once if it, its
    start or its end is repeated, and corrects a stop reason that contradicts the calls. Both are undone here, unless
    the provider sent them. A missing stop reason shows that the response is not complete.
    """
    response = turn.response
    calls = [reduced_built_in(call) for call in turn.answer.calls]
    answer = replace(turn.answer, calls=calls, usage=reduced_usage(turn.answer.usage, pair))
    same_status = (turn.reply.status < 400) == (exchange.status < 400)
    if response is not None and response.error is not None and expected.failed and same_status:
        answer = replace(answer, error=None)
    if response is None or not response.choices:
        return answer
    added = _codes(response)
    if added["stop-missing"] and not expected.complete:
        return replace(answer, complete=False)
    if added.keys() & _REPAIRED:
        added -= _codes(read_answer(exchange))
    if repeated := added["duplicate-call"] + added["event-repeated"]:
        answer = replace(answer, calls=[*answer.calls, *answer.calls[-1:] * repeated])
    if (added["stop-disagrees"] or added["stop-missing"]) and expected.complete:
        answer = replace(answer, stop=response.choices[0].stop.raw or "missing")
    return answer


def _codes(response: Response) -> Counter[str]:
    return Counter(
        found.code
        for found in response.findings
        if found.code in _REPAIRED and (found.code != "event-repeated" or found.severity == "error")
    )
