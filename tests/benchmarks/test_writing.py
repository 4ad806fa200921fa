"""The conversations that the benchmark writes are legal, whole and lossless."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks import writing
from benchmarks.cases import Case
from tests.normalizer.history.views import of_kind
from toolparity.normalizer.requests import check_request

pytest.importorskip("xai_sdk")
pytestmark = pytest.mark.page("benchmarks")


@cache
def cases() -> dict[str, Case]:
    return {case.wire: case for case in writing.cases()}


@pytest.mark.parametrize("wire", writing.PROVIDERS)
def test_fifty_rounds_of_two_calls_are_written_whole(wire: str) -> None:
    case = cases()[wire]
    assert case.ours
    for name in case.ours:
        encoded = case.jobs[name]()
        assert [loss.code for loss in encoded.losses] == []
        assert check_request(encoded.body, wire, provider=writing.PROVIDERS[wire]) == []
        calls, results = (of_kind(wire, encoded.body, kind) for kind in ("call", "result"))
        assert [one.id for one in calls] == [one.id for one in results]
        assert len(calls) == 2 * writing.ROUNDS
