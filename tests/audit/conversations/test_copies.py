"""Exchanges that are in the input more than once, and requests that only look equal."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

from tests.audit.conversations.built import ONE, QUESTION, TWO, Exchange, audited, codes, on_every_wire
from toolparity import normalize
from toolparity.conversations import ConversationAudit, record
from toolparity.normalizer.requests import read_request


def conversation(bodies: Any, *answered: str, ids: tuple[str, ...] = (ONE, TWO)) -> list[Exchange]:
    """Return a conversation of three exchanges: two calls, one call, and the end. These ids of calls have results."""
    first = bodies.turn(*(bodies.call(id, city=id) for id in ids))
    second = bodies.turn(bodies.call("call_q7R8s9T0", city="Faro"))
    history = [QUESTION, *first, *map(bodies.result, answered)]
    last = [*history, *second, bodies.result("call_q7R8s9T0")]
    return [
        (bodies.request(QUESTION), bodies.response(first)),
        (bodies.request(*history), bodies.response(second)),
        (bodies.request(*last), bodies.response(bodies.turn(bodies.call("call_u1V2w3X4")))),
    ]


#: The copies of a log.
COPIES: dict[str, Callable[[list[Exchange]], list[Exchange]]] = {
    "one after the other": lambda log: [*log, *log],
    "three times": lambda log: [*log, *log, *log],
    "line by line": lambda log: [entry for entry in log for _ in range(2)],
    "newest first, then again": lambda log: [*reversed(log), *log],
    "then newest first": lambda log: [*log, *reversed(log)],
    "newest first twice": lambda log: [*reversed(log), *reversed(log)],
}


@on_every_wire
def test_a_log_that_is_given_again_reports_each_finding_once(bodies: Any) -> None:
    log = conversation(bodies, ONE)
    once = audited(bodies.wire, *log).wires[bodies.wire]
    for name, copies in COPIES.items():
        report = audited(bodies.wire, *copies(log))
        again = report.wires[bodies.wire]
        assert codes(report) == ["dropped-in-fact"], name
        for member in ("calls", "answered", "accused", "linked", "first"):
            assert getattr(again, member) == getattr(once, member), (name, member)
        assert again.recognized["recorded-twice"] == again.exchanges - once.exchanges


@on_every_wire
def test_runs_against_a_server_with_constant_ids_are_each_judged(bodies: Any) -> None:
    runs = [conversation(bodies, ONE), conversation(bodies, ONE, TWO), conversation(bodies, TWO)]
    for order in itertools.permutations(runs):
        report = audited(bodies.wire, *itertools.chain(*order))
        assert sorted(str(finding.call_id) for finding in report.findings) == [ONE, TWO]


@on_every_wire
def test_forks_whose_results_have_the_same_text_do_not_count_as_retries(bodies: Any) -> None:
    turn = bodies.turn(bodies.call(ONE, city="Faro"), bodies.call(TWO, city="Faro"))
    done = bodies.turn(bodies.call("call_q7R8s9T0"))

    def forked(id: str) -> Exchange:
        result = json.loads(json.dumps(bodies.result(TWO)).replace(f'"{TWO}"', f'"{id}"'))
        return bodies.request(QUESTION, *turn, result), bodies.response(done)

    report = audited(bodies.wire, (bodies.request(QUESTION), bodies.response(turn)), forked(ONE), forked(TWO))
    figures = report.wires[bodies.wire]
    assert (codes(report), figures.answered, figures.recognized) == ([], 2, {"forked": 1})


@on_every_wire
def test_a_response_without_its_request_is_not_handed_off(bodies: Any) -> None:
    (_, first), (request, response), _ = conversation(bodies, ONE)
    request["tools"] = []
    audit = ConversationAudit()
    audit.add(record("1", bodies.wire, None, normalize(first, bodies.wire)))
    audit.add(record("2", bodies.wire, read_request(request, bodies.wire), normalize(response, bodies.wire)))
    report = audit.finish()
    assert (codes(report), report.wires[bodies.wire].recognized) == (["dropped-in-fact"], {})
