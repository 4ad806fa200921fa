"""The normalizer keeps every law in the published scenarios that guard against a known failure.

The plain run takes all cases of a scenario with a few surfaces. Where many play it, each wire has a plain or a streamed
case under the policy `all`, and one wire both under the other policies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from tests.support.thoroughness import is_thorough
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cases.coverage import trace
from toolparity.conformance.cases.scenarios import guarded, scenarios
from toolparity.conformance.laws import LAWS
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import subject
from toolparity.normalizer.policies import POLICIES

NUMBERS = {id: number for number, id in enumerate(scenarios())}
#: Its streams have over a mebibyte in one line. The plain run has shorter ones of 64 KiB.
LONG = "line-over-a-mebibyte"


def cases(id: str) -> Iterator[Case]:
    """Yield the cases of a scenario that this run takes."""
    scenario, number = scenarios()[id], NUMBERS[id]
    whole = is_thorough() or len(scenario.surfaces) < 4
    names = scenario.surfaces[:: 1 if number % 2 else -1]  # of two surfaces with one wire, now one and now the other
    surfaces = names if whole else {SURFACES[name].wire: name for name in names}.values()
    for place, surface in enumerate(surfaces, number):
        modes = scenario.modes(surface)
        for turn, mode in enumerate(modes, place):
            for policy in POLICIES:
                if whole or (turn % len(modes) == 0 if policy == "all" else place % len(surfaces) == 0):
                    yield Case(id, surface, mode, policy)


@cache
def judged(id: str) -> tuple[set[str], list[str]]:
    """Return the laws that judged a scenario, and the verdicts that are not passes."""
    judge, laws, wrong = Judge(subject("normalizer"), twice=False), set(), []
    for case in cases(id):
        for verdict in judge.result(case).verdicts:
            laws.add(verdict.check)
            if verdict.outcome != "pass":
                wrong.append(f"{case}: {verdict}")
    return laws, wrong


@pytest.mark.parametrize("failure", trace().guards)
def test_every_law_passes_in_the_scenarios_that_guard_against_a_known_failure(
    failure: str, proves: Callable[[str], None]
) -> None:
    for id in guarded()[failure]:
        if id == LONG and not is_thorough():
            continue
        laws, wrong = judged(id)
        assert wrong == []
        assert {"conservation", "stop", "content"} <= laws
    proves(failure)


def test_every_law_judges_the_scenarios_of_known_failures() -> None:
    assert {law for ids in trace().guards.values() for id in ids if id != LONG for law in judged(id)[0]} == set(LAWS)
