"""Each planted defect is found by the check that names it, on every wire, and a correct endpoint has none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.endpoint import run
from toolparity.conformance.endpoint.checks import CHECKS
from toolparity.conformance.endpoint.probes import Probe, default_probes
from toolparity.conformance.endpoint.report import Verification

from .defects import CONSEQUENCES, DEFECTS, WIRES, Defect
from .server import probe, serving_with

pytestmark = pytest.mark.service("conformance/endpoint")

_ALL = dict.fromkeys(CHECKS, 1.0)


def _verify(defect: Defect | None, surface: str, probes: tuple[Probe, ...]) -> Verification:
    with serving_with(defect) as endpoint_of:
        target = endpoint_of(surface)
        settings = run.Settings(
            SURFACES[surface].model, _ALL, target.headers("any-key"), repetitions=1, jobs=2, timeout=20.0
        )
        return run.run(target, run.plan(target.wire, probes, settings), settings)


def _cases() -> Iterator[tuple[str, str]]:
    yield from ((name, wire) for name, defect in DEFECTS.items() for wire in defect.wires)


@pytest.mark.thorough(keep=1, per="{name}")
@pytest.mark.parametrize(("name", "surface"), list(_cases()))
def test_each_defect_is_found(name: str, surface: str) -> None:
    defect = DEFECTS[name]
    result = _verify(defect, surface, (probe(defect.probe),))
    failed = {check.check: check for check in result.failed}
    assert defect.check in failed, f"found only {list(failed)}"
    assert failed.keys() <= {defect.check} | CONSEQUENCES.get(defect.check, set())
    modes = {counted.mode for counted in failed[defect.check].counted if counted.passed < counted.judged}
    assert modes >= defect.modes_on(surface), failed[defect.check].reasons


@pytest.mark.parametrize("surface", [*WIRES, "google.interactions", "cohere.chat", "ollama.chat", "bedrock.converse"])
def test_a_correct_endpoint_has_no_defect(surface: str) -> None:
    result = _verify(None, surface, default_probes())
    assert not result.failed, [(check.check, check.reasons) for check in result.failed]
    judged = {check.check for check in result.checks if check.judged}
    assert judged >= {
        "answered",
        "history",
        "refusal",
        "triggered",
        "calls",
        "parallel",
        "values",
        "alike",
        "stream-end",
    }


def test_every_check_has_a_defect_that_only_it_must_find() -> None:
    assert {defect.check for defect in DEFECTS.values()} == set(CHECKS)
