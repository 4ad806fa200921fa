"""Laws about the content of an answer: server calls, arguments, the stop reason, unknown content, token counts."""

from __future__ import annotations

from collections.abc import Iterator

from ..answer import AnsweredCall
from ..cases.case import CaseRound, Evidence
from ..cases.expected import ExpectedCall
from ..oracle import oracle
from ..oracle.responses import COUNTS, reading_of
from .law import Failure, accepts_stop, expected_codes, expected_stop, law, missing_findings
from .matching import call_list, equals_written_text, is_same_call, json_equal, match_calls


@law(
    "server-side",
    "A server call never reaches the caller's tools, whatever its name or item type.",
    applies=lambda evidence: any(round.expected.servers or round.expected.approvals for round in evidence.rounds),
)
def server_side(evidence: Evidence) -> Iterator[Failure]:
    """Check that only client calls are executed.

    Blocks, if claimed, must include the server calls and the approval requests.
    """
    for round in evidence.rounds:
        expected, answer = round.expected, round.answer
        if not (expected.servers or expected.approvals):
            continue
        _, unmatched = match_calls(expected.calls, answer.acted)
        if unmatched:
            reason = f"the provider ran {call_list(unmatched)}, and the caller would run it again"
            yield Failure(round.number, reason, call_list(expected.calls), call_list(answer.acted), effect="executed")
        if "blocks" in evidence.subject.claims and answer.blocks is not None:
            tools = [block["tool"] for block in answer.blocks if block["type"] == "server_tool_call"]
            if tools != expected.servers:
                reason = "the blocks do not have the server calls"
                yield Failure(round.number, reason, expected.servers, tools, effect="lost")
            names = [block["name"] for block in answer.blocks if block["type"] == "approval_request"]
            if names != expected.approvals:
                reason = "the blocks do not have the approval requests"
                yield Failure(round.number, reason, expected.approvals, names, effect="lost")


@law(
    "arguments",
    "Arguments are exact; empty ones are {}, and broken ones are flagged, never fatal, and repaired only on request.",
    applies=lambda evidence: any(round.expected.calls for round in evidence.rounds),
)
def arguments(evidence: Evidence) -> Iterator[Failure]:
    """Compare each call's arguments, argument text, kind and status."""
    for round in evidence.rounds:
        wanted, answer = round.expected.calls, round.answer
        yield from missing_findings(evidence, round, "arguments")
        if not round.expected.complete:
            continue
        indexes, unmatched = match_calls(wanted, answer.calls)
        pairs = [(wanted[n], call) for n, call in zip(indexes, answer.calls, strict=True) if n is not None]
        for index, expected in enumerate(wanted):
            if index in indexes:
                continue
            renamed = next((call for call in unmatched if call.name == expected.name), None)
            if renamed is not None:  # otherwise it is lost: law `conservation`
                unmatched.remove(renamed)
                pairs.append((expected, renamed))
        for expected, got in pairs:
            yield from _compare_call(round.number, expected, got, has_status="status" in evidence.subject.claims)


def _compare_call(number: int, expected: ExpectedCall, got: AnsweredCall, *, has_status: bool) -> Iterator[Failure]:
    name, status = expected.name, expected.status
    other_text = expected.text is not None and got.text is not None and got.text != expected.text
    if expected.arguments is not None and not json_equal(
        {} if got.value in (None, "") else got.value, expected.arguments
    ):
        reason = f"the arguments of {name} differ"
        yield Failure(number, reason, expected.arguments, got.text or got.arguments, effect="altered")
    elif expected.arguments is None and status != "complete" and isinstance(got.arguments, dict) and got.arguments:
        if not has_status and (expected.text is None or equals_written_text(expected, got)):
            return  # passed on unchanged
        reason = f"the {status} arguments of {name} were repaired"
        yield Failure(number, reason, expected.text, got.arguments, effect="altered")
    elif expected.kind == "custom" and not is_same_call(expected, got) and got.text is None:
        reason = f"the call {name} does not have its free text"
        yield Failure(number, reason, expected.text, got.arguments, effect="lost")
    elif other_text:
        yield Failure(number, f"the argument text of {name} differs", expected.text, got.text, effect="altered")
    if got.kind is not None and got.kind != expected.kind:
        reason = f"{name} is a call of kind {expected.kind}, but is reported as {got.kind}"
        yield Failure(number, reason, expected.kind, got.kind, effect="altered")
    if has_status and got.status != status:
        reason = f"the call {name} is {status}, but its status is {got.status or 'missing'}"
        yield Failure(number, reason, status, got.status, effect="misreported")


@law(
    "stop",
    "The stop reason is what happened; disagreement with the wire is a finding.",
    claims=("stop",),
    applies=lambda evidence: True,
)
def stop(evidence: Evidence) -> Iterator[Failure]:
    """Compare the stop reasons, and whether the request may be retried."""
    for round in evidence.rounds:
        expected, answer = round.expected, round.answer
        yield from missing_findings(evidence, round, "stop")
        wanted, got = expected.retryable, answer.retryable
        if wanted is not None and got is not None and got != wanted:
            reason = f"the error must be reported as {'retryable' if wanted else 'not retryable'}"
            yield Failure(round.number, reason, f"retryable: {wanted}", got, effect="misreported")
        if not accepts_stop(evidence.subject, round):
            ended, accepted = expected_stop(evidence.subject, round)
            reason = f"{ended}, but the stop reason is {answer.stop}"
            yield Failure(round.number, reason, accepted, answer.stop, effect="misreported")


def _has_unknown(round: CaseRound) -> bool:
    return bool(round.expected.opaque or expected_codes(round, "unknown"))


@law(
    "unknown",
    "Unknown blocks, events, enums and fields are kept and reported, never fatal.",
    applies=lambda evidence: any(map(_has_unknown, evidence.rounds)),
)
def unknown(evidence: Evidence) -> Iterator[Failure]:
    """Check that the response was read, and that blocks, if claimed, include the unknown ones with their content."""
    for round in filter(_has_unknown, evidence.rounds):
        yield from missing_findings(evidence, round, "unknown")
        if "blocks" in evidence.subject.claims:
            opaque = [block for block in round.answer.blocks or [] if block["type"] == "opaque"]
            types = [block["wire_type"] for block in opaque]
            if types != round.expected.opaque:
                reason = "the blocks do not have the unknown ones"
                yield Failure(round.number, reason, round.expected.opaque, types, effect="lost")
            for block in opaque:
                if not block["raw"]:
                    reason = f"only the name of the unknown block {block['wire_type']} is kept"
                    yield Failure(round.number, reason, "its content", block["raw"], effect="lost")


@law(
    "usage",
    "Token figures survive, also where they come late, alone or twice.",
    claims=("usage",),
    applies=lambda evidence: any(round.answer.usage or _token_counts(round) for round in evidence.rounds),
)
def usage(evidence: Evidence) -> Iterator[Failure]:
    """Compare the token counts. Input includes cached tokens, output includes reasoning tokens.

    A reader without other counts leaves their members out. A member that is None is a count that was lost.
    """
    for round in evidence.rounds:
        yield from _wrong_details(evidence, round)
        counts = _token_counts(round)
        if counts is None:
            continue
        got = round.answer.usage or {}
        for key, value in counts.items():
            if got.get(key) != value and (key in got or key in _TOTALS or "blocks" in evidence.subject.claims):
                reason = f"{key} is {value}, but the answer has {got.get(key)}"
                yield Failure(round.number, reason, counts, got, effect="misreported")


#: The counts that every answer with token counts has.
_TOTALS = ("input_tokens", "output_tokens")


def _wrong_details(evidence: Evidence, round: CaseRound) -> Iterator[Failure]:
    """Yield a failure for each other count that is not on the wire, or is there with another value.

    An answer may leave out these counts, because many libraries do not have them. Readers may have 0 for a count that
    is not on the wire, and every answer for the reasoning of a response that has none.
    """
    got = {key: count for key, count in (round.answer.usage or {}).items() if key in COUNTS and count is not None}
    if not got or round.expected.usage or round.expected.failed or not round.expected.complete:
        return
    if (reading := reading_of(round.exchange)) is None:
        return
    counts = reading.usage or {}
    thinks = any(block.members["type"] == "reasoning" for choice in reading.choices for block in choice.blocks)
    for key, value in got.items():
        wanted = counts.get(key)
        zero = not thinks if key == "reasoning_tokens" else "blocks" not in evidence.subject.claims
        if value != wanted and not (zero and wanted is None and value == 0):
            reason = f"{key} is {wanted} on the wire, but {value} in the answer"
            yield Failure(round.number, reason, wanted, value, effect="misreported")


def _token_counts(round: CaseRound) -> dict[str, int] | None:
    """Return the token counts that the scenario specifies, or those on the wire.

    For a broken stream only the input counts: its output count is not final.
    """
    counts = round.expected.usage or oracle(round.exchange.wire).usage(round.exchange)
    if counts is None or (round.expected.complete and not round.expected.failed):
        return counts
    return {key: value for key, value in counts.items() if key != "output_tokens"} or None
