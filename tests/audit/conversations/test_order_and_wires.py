"""Requests that come before their response in the log, and conversations that continue on another wire."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from msgspec.structs import replace

from tests.audit.conversations.agents import PARALLEL, surfaces
from tests.audit.conversations.test_correct import Exchanges, audit, read, with_call_ids, with_calls, with_messages
from toolparity.audit.conversations import ConversationAudit, ConversationReport, record
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.conversation import Assistant, Request, ToolResults
from toolparity.normalizer.model import Response
from toolparity.normalizer.requests import read_request, write_request

_WIRES = list(dict.fromkeys(SURFACES[name].wire for name in surfaces(PARALLEL)))


def _between_wires(test: Any) -> Any:
    """Run a test for every pair of wires, in the plain run for one target of each wire."""
    each_pair = pytest.mark.parametrize(("before", "after"), list(permutations(_WIRES, 2)))
    return pytest.mark.thorough(keep=1, per="{before}")(each_pair(test))


def test_no_order_of_the_log_accuses_a_correct_agent(servers: Servers) -> None:
    for name in surfaces(PARALLEL):
        exchanges = read(servers, name)
        for order in permutations(exchanges):
            figures = audit(list(order))
            assert (figures.answered, figures.first, figures.linked) == (5, 1, 3), name


def test_ids_that_the_application_counts_prove_no_link_in_any_order(servers: Servers) -> None:
    """A run whose first exchange is not in the log beside another run with one call more."""
    for name in surfaces(PARALLEL):
        exchanges = with_counted_ids(read(servers, name))
        lost = with_messages(exchanges[1][0], _without_last_call)
        log = [(lost, exchanges[1][1]), exchanges[0]]
        one, other = report_of(log), report_of(log[::-1])
        assert {finding.code for finding in one.findings} <= {"calls-differ"}, name
        assert one.wires == other.wires, name


def _without_last_call(messages: list[Any]) -> list[Any]:
    *before, turn, results = messages
    call = turn.response.calls[-1]
    kept = with_calls(turn.response, lambda one: None if one is call else one)
    left = [result for result in results.results if result.call_id != call.id]
    return [*before, replace(turn, response=kept), ToolResults(left)]


def read_wire(servers: Servers, wire: str) -> Exchanges:
    return read(servers, next(name for name in surfaces(PARALLEL) if SURFACES[name].wire == wire))


def moved(request: Request, wire: str) -> Request:
    """Return a request as an application sends it to another wire."""
    written = write_request(replace(request, model="another-model"), wire).body  # type: ignore[arg-type]
    return read_request(written, wire)  # type: ignore[arg-type]


def unsigned(response: Response) -> Response:
    """Return a response without the signatures of its calls, which only their own wire has."""
    return with_calls(response, lambda call: replace(call, extra={}))


def report_of(exchanges: Exchanges) -> ConversationReport:
    audit = ConversationAudit()
    for number, (request, response) in enumerate(exchanges, 1):
        audit.add(record(f"log:{number}", request.wire, request, response))
    return audit.finish()


@_between_wires
def test_a_conversation_that_continues_on_another_wire_is_a_hand_off(servers: Servers, before: str, after: str) -> None:
    exchanges = read_wire(servers, before)
    there = [(moved(request, after), unsigned(response)) for request, response in exchanges[1:]]
    report = report_of([exchanges[0], *there])
    assert report.findings == []
    assert report.wires[after].recognized == {"hand-off": 1}
    assert (report.wires[after].linked, report.wires[after].first) == (3, 0)
    judged = report.wires[before]
    assert judged.calls == judged.answered + judged.unjudged.get("ids-replaced", 0) == 3


@_between_wires
def test_a_call_that_is_lost_on_the_way_to_another_wire_is_not_judged(
    servers: Servers, before: str, after: str
) -> None:
    exchanges = read_wire(servers, before)
    request = with_messages(exchanges[1][0], _without_last_call)
    report = report_of([exchanges[0], (moved(request, after), exchanges[1][1])])
    assert report.findings == []
    assert report.wires[before].answered + sum(report.wires[before].unjudged.values()) == 3
    assert set(report.wires[before].unjudged) <= {"other-wire", "ids-replaced", "not-continued"}
    assert report.wires[before].unjudged


@_between_wires
def test_a_conversation_that_returns_from_another_wire_is_not_accused(
    servers: Servers, before: str, after: str
) -> None:
    exchanges = read_wire(servers, before)
    request, response = exchanges[1]
    report = report_of([exchanges[0], (moved(request, after), response), *exchanges[2:]])
    assert report.findings == []
    assert report.wires[after].recognized == report.wires[before].recognized == {"hand-off": 1}


@_between_wires
def test_equal_conversations_on_two_wires_are_kept_apart(servers: Servers, before: str, after: str) -> None:
    one, other = read_wire(servers, before), read_wire(servers, after)
    pairs = [(one, other)]
    if "google.gemini" not in (before, after):  # its calls have no ids
        pairs.append((with_counted_ids(one), with_counted_ids(other)))
        report = report_of([one[0], other[1]])
        assert (report.wires[before].linked, report.wires[after].linked) == (0, 0)
    for logs in pairs:
        for figures in report_of([exchange for pair in zip(*logs, strict=True) for exchange in pair]).wires.values():
            assert (figures.linked, figures.answered, figures.recognized) == (3, 5, {})


def with_counted_ids(exchanges: Exchanges) -> Exchanges:
    """Return a conversation whose calls are numbered, as some servers do."""
    ids: dict[str, str] = {}

    def counted(id: str) -> str:
        return ids.setdefault(id, f"call_{len(ids)}")

    renamed: Exchanges = []
    for request, response in exchanges:
        answer = with_call_ids(Assistant(response), counted)
        assert isinstance(answer, Assistant)
        messages = [with_call_ids(message, counted) for message in request.messages]
        renamed.append((replace(request, messages=messages), answer.response))
    return renamed
