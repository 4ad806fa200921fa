"""Checks of the selection and the findings in the canonical form, for the law `content`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec
from toolparity.reports.results import Effect

from ..cases.case import CaseRound
from ..oracle.responses import Json

GROUPS = ("kept", "dropped", "rejected")


class Difference(NamedTuple):
    """A member of the canonical form that has a wrong value. ``effect``: see `toolparity.reports.results.EFFECTS`."""

    reason: str
    expected: Any
    got: Any
    effect: Effect


def selection_differences(round: CaseRound, form: Json) -> Iterator[Difference]:
    """Check the policy, and that each reference names the call to which it points and why it does not run."""
    selection, choices = form.get("selection"), form["response"]["choices"]
    if selection is None:
        yield Difference("the canonical form has no selection", "a selection", None, "misreported")
        return
    stated = {name: selection[name] for name in ("policy", "limit", "choice")}
    wanted = {
        "policy": round.exchange.policy,
        "limit": round.exchange.limit,
        "choice": choices[0]["index"] if choices else 0,
    }
    if stated != wanted:
        yield Difference("the selection was made for another policy, limit or choice", wanted, stated, "misreported")
    blocks = {(choice["index"], index): block for choice in choices for index, block in enumerate(choice["blocks"])}
    for group in GROUPS:
        references = selection[group]
        positions = [(reference["choice"], reference["block"]) for reference in references]
        if positions != sorted(positions):
            yield Difference(f"the {group} calls are not in the model's order", sorted(positions), positions, "altered")
        for reference in references:
            block = blocks[reference["choice"], reference["block"]]
            if (reference["id"], reference["name"]) != (block["id"], block["name"]):
                yield Difference(f"a {group} call is named like another one", block, reference, "misreported")
            if bool(reference["reason"]) == (group == "kept"):
                reason = "a kept call has a reason" if group == "kept" else f"a {group} call has no reason"
                yield Difference(reason, group != "kept", reference["reason"], "misreported")


def finding_differences(round: CaseRound, form: Json, *, regular: bool) -> Iterator[Difference]:
    """Check that each dropped and each rejected call has one finding, and that regular traffic has no other.

    ``regular``: the response follows the documentation of its wire.
    """
    reported = Counter(round.answer.findings)
    for group, calls in zip(GROUPS[1:], round.selection[1:], strict=True):
        code = f"{group}-call"
        if reported.pop(code, 0) != len(calls):
            counts = [found for found in round.answer.findings if found == code]
            yield Difference(f"{len(calls)} calls are {group}, each with a finding", len(calls), counts, "misreported")
    log = [str(line) for line in form.get("log") or []]
    if len(log) > len(set(log)):
        yield Difference("a log line is repeated", sorted(set(log)), log, "duplicated")
    if round.expected.findings or not regular:
        return  # the scenario is about deviations; the laws that it names require their findings
    allowed = set(_explained(round, form))
    invented = [code for code in reported if not any(code.startswith(prefix) for prefix in allowed)]
    if invented:
        yield Difference("findings about a regular response", sorted(allowed), invented, "misreported")
    most = max(1, len(form["response"]["choices"]))
    repeated = [code for code, count in reported.items() if code in _ONCE and count > most]
    if repeated:
        yield Difference("a finding is reported several times", most, repeated, "duplicated")
    for code in _required(round):
        if code not in reported:
            yield Difference(f"missing finding: {code}", code, round.answer.findings, "misreported")


#: Codes of findings about a whole choice.
_ONCE = frozenset(("refused", "paused", "error-response", "stream-error", "stream-incomplete", "stop-missing"))
#: Stop reason -> the finding that says that the answer is none.
_STOPS = {"refusal": "refused", "content_filter": "refused", "pause": "paused"}


def _required(round: CaseRound) -> list[str]:
    """Return the findings that follow from the stop reason of a response."""
    expected = round.expected
    approvals = bool(expected.approvals)
    return [_STOPS[expected.stop]] if expected.stop in _STOPS and not approvals and expected.complete else []


def _explained(round: CaseRound, form: Json) -> Iterator[str]:
    """Yield the prefixes of the codes that the scenario explains."""
    yield "unknown-member"  # which members are known depends on the age of the subject
    yield from _required(round)
    expected = round.expected
    if expected.failed:
        yield from ("error-response", "stream-error")
    request = round.exchange.request
    tools = json_codec.text(request.get("tools")) if isinstance(request, dict) else ""
    if any(call.name not in tools for call in expected.calls):
        yield "unknown-tool"
    if not expected.complete:
        yield from ("stream-", "stop-missing", "arguments-truncated")
    if any(call.status != "complete" or not call.text for call in expected.calls):
        yield "arguments-"
    if any(call.id in (None, "") for call in expected.calls):
        yield "id-"
