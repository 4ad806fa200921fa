"""The cassettes that the benchmark loads are whole, and every reader finds the same in them."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks import cassettes, traffic
from benchmarks.cases import Case

pytestmark = pytest.mark.page("benchmarks")
NAMES = [f"{wire} {what}" for wire in traffic.JSON_WIRES for what in ("plain", "streamed")]


@cache
def cases() -> dict[str, Case]:
    return {f"{case.wire} {'streamed' if 'streamed' in case.what else 'plain'}": case for case in cassettes.cases()}


def test_every_wire_over_http_has_a_plain_and_a_streamed_one() -> None:
    assert sorted(cases()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_five_rounds_are_loaded_by_all_alike(name: str) -> None:
    case = cases()[name]
    assert case.base == cassettes.BASE
    assert len(case.ours) == 3
    content = case.jobs[cassettes.BASE]()
    requests, responses = case.jobs["ours"]()
    theirs, answers, *metadata = case.jobs["vcrpy"]()
    body, stream = traffic.JSON_WIRES[case.wire]
    expected = stream() if "streamed" in name else body()
    assert [one["body"]["string"] for one in responses] == [expected] * cassettes.ROUNDS
    assert responses == answers
    assert [one._to_dict() for one in requests] == [one._to_dict() for one in theirs]
    assert metadata == [content["metadata"]]
    loaded = case.jobs["ours, a second time"]()
    assert loaded is case.jobs["ours, a second time"]()
    assert loaded.interactions == content["interactions"]
    assert case.jobs["ours, provenance alone"]() == loaded.provenance
