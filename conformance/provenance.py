"""Where the evidence of a run comes from."""

from __future__ import annotations

from collections.abc import Iterable

from cassettes.library import load, path_for
from normalizer.errors import ToolparityError
from reports.results import Source

from .evidence import Case
from .scenarios import scenarios


def sources(cases: Iterable[Case]) -> list[Source]:
    """One for each cassette and each written body that the cases need, in their order."""
    found: dict[str, Source] = {}
    for case in cases:
        scenario = scenarios()[case.scenario]
        if scenario.script is None:
            for body in scenario.situation.bodies:
                path = f"situations/{body.file or scenario.id}"
                found.setdefault(path, Source(path, "written"))
            continue
        try:
            told = load(path_for(case.surface, case.scenario, case.stream)).provenance
        except ToolparityError:
            continue  # the cases say so themselves
        path = f"{told.provider}/{told.wire}/{case.scenario}{'.stream' * case.stream}"
        if path not in found:
            sdk = f"{told.sdk} {told.sdk_version}"
            found[path] = Source(path, told.origin, str(told.date), told.provider, told.model or "", sdk)
    return list(found.values())
