"""The table of what a client's wire cannot express, with the reason for each law that is then not judged.

A gateway between two wires cannot pass on what the client's wire has no place for. Such a case is judged by the other
laws. Between equal wires nothing is reduced except for `handoff`: such a gateway can pass on everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.wires.registry import spec

from ..answer import AnsweredCall
from ..cases.case import CaseRound
from ..cases.expected import Expected, ExpectedCall
from ..oracle import facts, oracle

#: The token counts that each wire states.
_TOTALS = ("input_tokens", "output_tokens")
_HANDOFF = ("handoff",)


class Pair(NamedTuple):
    """The wires on both sides of a gateway."""

    upstream: str
    client: str

    @property
    def same(self) -> bool:
        return self.upstream == self.client


class Reduction(NamedTuple):
    """One row of the table. A row for the law `handoff` applies to equal wires, too, because the history changes wires.

    ``capability``: the content that is not judged, as docs/pages/gateways.md lists it. ``applies(pair, round)``:
    whether the round has such content.

    ``reason``: a format with the names ``client``, ``upstream`` and ``stop``.
    """

    capability: str
    laws: tuple[str, ...]
    reason: str
    applies: Callable[[Pair, CaseRound], bool]


def _has_other_stop(pair: Pair, round: CaseRound) -> bool:
    expected = round.expected
    return expected.complete and not expected.failed and expected.stop not in facts(pair.client).stops


def _has_state(pair: Pair, round: CaseRound) -> bool:
    values = oracle(round.exchange.wire).returned_values(round.exchange)
    return bool(round.expected.back) or any(kind != "call id" for kind, _ in values)


def _has_server_calls(pair: Pair, round: CaseRound) -> bool:
    return bool(round.expected.servers or round.expected.approvals)


def _has_approvals(pair: Pair, round: CaseRound) -> bool:
    return bool(round.expected.approvals)


def _has_error_result(pair: Pair, round: CaseRound) -> bool:
    expected = round.expected
    answers_with_error = any(call.failed for call in expected.calls) or len(expected.runnable) < len(expected.calls)
    return answers_with_error and _marks_errors(pair.upstream) and not _marks_errors(pair.client)


def _marks_errors(wire: str) -> bool:
    """Return whether a tool result can be marked as an error."""
    return oracle(wire).failed_results({}) is not None


def _has_free_text(pair: Pair, round: CaseRound) -> bool:
    return any(call.kind == "custom" for call in round.expected.calls)


def _has_other_calls(pair: Pair, round: CaseRound) -> bool:
    return any(call.kind != "function" for call in round.expected.calls)


def _breaks(pair: Pair, round: CaseRound) -> bool:
    return not round.expected.complete or round.expected.failed


def _has_cut_calls(pair: Pair, round: CaseRound) -> bool:
    return any(call.status != "complete" for call in round.expected.calls)


def _has_refusal(pair: Pair, round: CaseRound) -> bool:
    return round.expected.refusal


def _is_dialect(pair: Pair, round: CaseRound) -> bool:
    wire, provider = round.exchange.wire, round.exchange.provider
    return provider not in {surface.provider for surface in SURFACES.values() if surface.wire == wire}


TABLE: tuple[Reduction, ...] = (
    Reduction(
        "the client's wire has no word for the stop reason",
        ("stop", "alike"),
        "{client} has no word for the stop reason {stop}",
        _has_other_stop,
    ),
    Reduction(
        "the response is broken or failed, which each wire reports in another form",
        ("stop", "alike", "usage"),
        "each wire reports broken and failed responses in another form, and token counts at another place",
        _breaks,
    ),
    Reduction(
        "arguments that are not valid JSON",
        ("alike",),
        "wires differ in how they report arguments that are not valid JSON",
        _has_cut_calls,
    ),
    Reduction(
        "a refusal, which each wire reports at another place",
        ("stop", "alike"),
        "wires differ in where they report a refusal",
        _has_refusal,
    ),
    Reduction(
        "signatures and encrypted reasoning",
        ("replay",),
        "{client} has no place for the signatures and encrypted reasoning of {upstream}",
        _has_state,
    ),
    Reduction(
        "server calls",
        ("replay", "alike"),
        "{client} has no place for the server calls of {upstream}",
        _has_server_calls,
    ),
    Reduction(
        "approvals of server calls",
        ("stop",),
        "{client} has no place for approvals, so that {stop} has no content to wait for",
        _has_approvals,
    ),
    Reduction(
        "a tool result that is marked as an error",
        ("answered",),
        "{client} cannot mark a tool result as an error",
        _has_error_result,
    ),
    Reduction(
        "calls with free text",
        ("arguments", "answered", "replay"),
        "{client} and {upstream} differ in calls with free text",
        _has_free_text,
    ),
    Reduction(
        "calls with free text and calls of built-in tools, in a history that changes wires",
        _HANDOFF,
        "wires differ in calls with free text and in calls of built-in tools",
        _has_other_calls,
    ),
    Reduction(
        "members of a response that only another provider of the wire defines, in such a history",
        _HANDOFF,
        "the response has members that only its provider defines",
        _is_dialect,
    ),
)


def not_judged(pair: Pair, rounds: Sequence[CaseRound]) -> dict[str, str]:
    """Return law -> reason for the laws that are not judged in a case with these rounds."""
    return dict(_reasons(pair, rounds))


def _reasons(pair: Pair, rounds: Sequence[CaseRound]) -> Iterator[tuple[str, str]]:
    for row in TABLE:
        if pair.same and row.laws != _HANDOFF:
            continue
        round = next((round for round in rounds if row.applies(pair, round)), None)
        if round is not None:
            values = {"client": pair.client, "upstream": pair.upstream, "stop": round.expected.stop}
            for law in row.laws:
                yield law, row.reason.format(**values)


def reduced(expected: Expected, pair: Pair, *, stream: bool) -> Expected:
    """Return the expected result without the members that the client's wire cannot express."""
    calls = [
        replace(call, arguments=_with_values(call.arguments), json=None) if _is_built_in(call) else call
        for call in expected.calls
    ]
    if pair.same:
        return replace(expected, calls=calls)
    calls = [_reduced_call(call, pair, stream=stream) for call in calls]
    return replace(expected, calls=calls, retryable=None, opaque=[], approvals=expected.approvals)


def reduced_built_in(call: AnsweredCall) -> AnsweredCall:
    """Return a call without the optional members of a built-in tool that have no value."""
    return replace(call, arguments=_with_values(call.arguments)) if _is_built_in(call) else call


def _is_built_in(call: AnsweredCall | ExpectedCall) -> bool:
    return call.kind not in (None, "function", "custom")


def _with_values(arguments: Any) -> Any:
    if not isinstance(arguments, dict):
        return arguments
    return {name: value for name, value in arguments.items() if value is not None}


def reduced_usage(usage: Mapping[str, Any] | None, pair: Pair) -> dict[str, Any] | None:
    """Return the token counts of a reply without details that are 0 or missing.

    OpenAI's wires state 0 where Anthropic's wire states no count, for instance for reasoning tokens.
    """
    if usage is None or pair.same:
        return None if usage is None else dict(usage)
    return {name: count for name, count in usage.items() if count or name in _TOTALS}


def _reduced_call(call: ExpectedCall, pair: Pair, *, stream: bool) -> ExpectedCall:
    """Return a call without its id, and without its spelling.

    Each wire has its own rules for ids. A wire with parsed arguments has no place for invalid JSON.
    """
    keeps_text = call.status != "complete" and not spec(pair.client).parses_arguments(stream=stream)
    return replace(call, id=None, text=call.text if keeps_text or call.kind == "custom" else None)
