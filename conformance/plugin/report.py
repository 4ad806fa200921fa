"""Collects the results of a pytest run from all its processes and writes them as `toolparity check --json` does."""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace

from toolparity import __version__
from toolparity.normalizer import json_codec
from toolparity.normalizer.policies import policy_name
from toolparity.reports import results

from ..cases.case import Case
from ..cases.traffic import sources
from ..runner.judge import CaseFilter
from ..runner.suite import environment, law_reports, now, scenario_reports
from .cases import CaseItem


class CaseReport(Struct, frozen=True):
    """The result of one case, with its subject and its wire excerpt."""

    tested: results.SubjectInfo
    result: results.Result
    traffic: results.Traffic | None


class ResultSender:
    """Attaches the result of a case to its pytest report, so that the result also arrives from a worker process."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "call" and isinstance(item, CaseItem) and item.result is not None:
            part = CaseReport(item.tested, item.result, item.traffic)
            report.toolparity = json_codec.text(part)  # type: ignore[attr-defined] # xdist transfers attributes
        return report


class ResultCollector:
    """Collects the results and writes the file when the session ends, whatever the outcome."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._started, self._date = time.monotonic(), now()
        self._parts: list[CaseReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        encoded = getattr(report, "toolparity", None)
        if encoded is not None:
            self._parts.append(msgspec.json.decode(encoded, type=CaseReport))

    def pytest_sessionfinish(self) -> None:
        try:
            self._path.write_bytes(results.write(self._run()))
        except OSError as error:  # end the session with one line instead of a traceback
            pytest.exit(f"{self._path}: {error.strerror or error}", returncode=pytest.ExitCode.INTERNAL_ERROR)

    def _run(self) -> results.Run:
        order = {case: index for index, case in enumerate(CaseFilter().cases())}
        parts = sorted(self._parts, key=lambda part: (part.result.subject, order[_case(part.result)]))
        cases = [_case(part.result) for part in parts]
        tested: dict[str, results.SubjectInfo] = {}
        for part in parts:
            before = tested.get(part.tested.name)
            seconds = part.result.seconds + (before.seconds if before is not None else 0)
            tested[part.tested.name] = replace(part.tested, seconds=round(seconds, 3))
        traffic = {(t.scenario, t.surface, t.mode): t for part in parts if (t := part.traffic) is not None}
        return results.Run(
            __version__,
            self._date,
            environment(),
            list(tested.values()),
            law_reports(),
            scenario_reports(cases),
            [part.result for part in parts],
            list(traffic.values()),
            sources(cases),
            seconds=round(time.monotonic() - self._started, 3),
        )


def _case(result: results.Result) -> Case:
    return Case(result.scenario, result.surface, result.mode, policy_name(result.policy))
