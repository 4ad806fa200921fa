"""Requests that come before their response in the log, and conversations that continue on another wire."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from msgspec.structs import replace

from tests.audit.conversations import agents
from tests.audit.conversations.agents import PARALLEL, Edit, audited, replay, surfaces
from tests.audit.conversations.test_correct import Exchanges, audit, read, with_call_ids, with_messages
from tests.audit.conversations.test_defects import LACKING
from toolparity.audit.conversations import ConversationAudit, ConversationReport, record
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.conversation import Assistant, Request, ToolResults
from toolparity.normalizer.model import Response, ToolCall
from toolparity.normalizer.requests import read_request, write_request

_ON_EVERY_SURFACE = pytest.mark.parametrize("name", surfaces(PARALLEL))
_WIRES = list(dict.fromkeys(SURFACES[name].wire for name in surfaces(PARALLEL)))


def _between(wires: list[str]) -> Callable[[Any], Any]:
    """Run a test for every pair of wires, in the plain run for one target of each wire."""
    each_pair = pytest.mark.parametrize(("before", "after"), list(permutations(wires, 2)))
    some = pytest.mark.thorough(keep=1, per="{before}")
    return lambda test: some(each_pair(test))


_between_wires = _between(_WIRES)
#: Without Gemini, whose calls have none.
_between_wires_with_ids = _between([wire for wire in _WIRES if wire != "google.gemini"])


@pytest.mark.thorough(keep=4)
@_ON_EVERY_SURFACE
def test_a_log_with_the_newest_exchange_first_is_linked(servers: Servers, name: str) -> None:
    figures = audit(read(servers, name)[::-1])
    assert (figures.first, figures.linked, figures.answered) == (2, 2, 5)  # the text alone proves no link


@_ON_EVERY_SURFACE
def test_no_order_of_the_log_accuses_a_correct_agent(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)
    answered = {audit(list(order)).answered for order in permutations(exchanges)}
    assert max(answered) == 5


@pytest.mark.parametrize(
    ("edit", "code", "count"),
    [
        (agents.drop_call, "dropped-in-fact", 2),
        (agents.use_other_id, "answered-under-another-id", 1),
        (agents.alter_arguments, "arguments-altered", 1),
    ],
)
def test_a_defect_is_found_in_a_log_with_the_newest_exchange_first(
    servers: Servers, edit: Edit, code: str, count: int
) -> None:
    misses = {}
    for name in surfaces(PARALLEL):
        if name in LACKING.get(code, ()):
            continue
        surface = SURFACES[name]
        report = audited(surface, replay(servers, surface, PARALLEL, stream=False, edit=edit)[::-1])
        if report.wires[surface.wire].findings != {code: count}:
            misses[name] = report.wires[surface.wire].findings
    assert not misses


@_ON_EVERY_SURFACE
def test_ids_that_the_application_counts_do_not_link_an_early_request(servers: Servers, name: str) -> None:
    exchanges = with_counted_ids(read(servers, name))

    # A run whose first exchange is not in the log, before another run with one call more.
    lost = with_messages(exchanges[1][0], _without_last_call)
    figures = audit([(lost, exchanges[1][1]), exchanges[0]])
    assert (figures.first, figures.linked) == (2, 0)


def _without_last_call(messages: list[Any]) -> list[Any]:
    *before, turn, results = messages
    choice = turn.response.choices[0]
    call = turn.response.calls[-1]
    kept = replace(choice, blocks=[block for block in choice.blocks if block is not call])
    left = [result for result in results.results if result.call_id != call.id]
    return [*before, replace(turn, response=replace(turn.response, choices=[kept])), ToolResults(left)]


def test_a_result_in_a_later_request_revokes_the_finding_of_an_early_one(servers: Servers) -> None:
    exchanges = read(servers, "openai.chat")
    late = exchanges[1][0].messages[-1]
    assert isinstance(late, ToolResults)

    def first_alone(request: Request) -> Request:
        shorter = replace(late, results=late.results[:1])
        return with_messages(request, lambda messages: [shorter if m == late else m for m in messages])

    def with_late_results(request: Request) -> Request:
        *before, last = first_alone(request).messages
        assert isinstance(last, ToolResults)
        return replace(request, messages=[*before, replace(last, results=[*last.results, *late.results[1:]])])

    second, third = first_alone(exchanges[1][0]), with_late_results(exchanges[2][0])
    figures = audit([(third, exchanges[2][1]), (second, exchanges[1][1]), exchanges[0]])
    assert figures.answered == 5


def read_wire(servers: Servers, wire: str) -> Exchanges:
    return read(servers, next(name for name in surfaces(PARALLEL) if SURFACES[name].wire == wire))


def moved(request: Request, wire: str) -> Request:
    """Return a request as an application sends it to another wire."""
    written = write_request(replace(request, model="another-model"), wire).body  # type: ignore[arg-type]
    return read_request(written, wire)  # type: ignore[arg-type]


def unsigned(response: Response) -> Response:
    """Return a response without the signatures of its calls, which only their own wire has."""
    choice = response.choices[0]
    blocks = [replace(block, extra={}) if isinstance(block, ToolCall) else block for block in choice.blocks]
    return replace(response, choices=[replace(choice, blocks=blocks)])


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
    assert set(report.wires[before].unjudged) <= {"other-wire", "ids-replaced"}
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
    mixed = [exchange for pair in zip(one, other, strict=True) for exchange in pair]
    for figures in report_of(mixed).wires.values():
        assert (figures.linked, figures.answered, figures.recognized) == (3, 5, {})


@_between_wires_with_ids
def test_ids_that_repeat_on_two_wires_lead_to_the_same_wire(servers: Servers, before: str, after: str) -> None:
    one, other = (with_counted_ids(read_wire(servers, wire)) for wire in (before, after))
    mixed = [exchange for pair in zip(one, other, strict=True) for exchange in pair]
    for figures in report_of(mixed).wires.values():
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


@_between_wires_with_ids
def test_equal_calls_under_other_ids_do_not_link_two_wires(servers: Servers, before: str, after: str) -> None:
    one, other = read_wire(servers, before), read_wire(servers, after)
    report = report_of([one[0], other[1]])
    assert (report.wires[before].linked, report.wires[after].linked) == (0, 0)
