"""The sources of a run's traffic."""

from __future__ import annotations

from collections.abc import Iterable

from toolparity.cassettes.library import RECORDED, load, path_for
from toolparity.normalizer.errors import ToolparityError
from toolparity.reports.results import EvidenceSource

from ..cases.case import Case
from ..cases.scenarios import scenarios


def source_path(case: Case) -> str:
    """Return the file that holds the traffic of a case, relative to its package."""
    scenario = scenarios()[case.scenario]
    if scenario.script is not None:
        return f"recorded/{path_for(case.surface, case.scenario, case.stream).relative_to(RECORDED).as_posix()}"
    bodies = scenario.file.bodies
    body = next(body for body in bodies if (body.surface, body.stream) == (case.surface, case.stream))
    return f"scenarios/{body.file or f'{scenario.id}.toml'}"


def sources(cases: Iterable[Case]) -> list[EvidenceSource]:
    """Return one source for each cassette and each handwritten body that the cases need, in their order."""
    found: dict[str, EvidenceSource] = {}
    for case in cases:
        path = source_path(case)
        if path in found:
            continue
        if scenarios()[case.scenario].script is None:
            found[path] = EvidenceSource(path, "written")
            continue
        try:
            told = load(path_for(case.surface, case.scenario, case.stream)).provenance
        except ToolparityError:
            continue  # the verdicts of the cases report it
        sdk = f"{told.sdk} {told.sdk_version}"
        found[path] = EvidenceSource(path, told.origin, str(told.date), told.provider, told.model or "", sdk)
    return list(found.values())
