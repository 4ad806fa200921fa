"""Runs the suite on one version of a library: install, one easy call on each wire, all cases.

The outcome is kept in the user's cache. The reason why a version cannot be tested is not kept, because it may lie with
the network or the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec.structs import replace

from toolparity.normalizer.errors import ToolparityError

from ...subjects import environments, subject
from ...subjects.runtimes import RUNTIMES
from .. import suite
from ..judge import CaseFilter
from ..smoke import smoke_results
from . import cache
from .measurement import Measurement, NotTested, measurement_of


class Measurer:
    """Measures versions of the library ``name``.

    ``keep``: leave the environments installed. ``jobs``: worker processes; 0 means one per core. ``report`` gets the
    name of the version and a short text at each step.
    """

    def __init__(
        self,
        name: str,
        *,
        case_filter: CaseFilter | None = None,
        keep: bool = False,
        jobs: int = 0,
        report: Callable[[str], None] = lambda step: None,
    ) -> None:
        self.name = name
        self._filter = case_filter or CaseFilter()
        self._keep, self._jobs, self._report = keep, jobs, report
        self.refused: dict[str, str] = {}

    def narrowed(self, scenarios: Collection[str]) -> Measurer:
        """Return a measurer that runs these scenarios only. It adds to the versions that were refused."""
        case_filter = replace(self._filter, scenarios=tuple(sorted(scenarios)))
        narrow = Measurer(self.name, case_filter=case_filter, keep=self._keep, jobs=self._jobs, report=self._report)
        narrow.refused = self.refused
        return narrow

    def measure(self, version: str) -> Measurement | None:
        """Return the outcome of a version, or None if it cannot be tested; ``refused`` then has the reason."""
        if version in self.refused:
            return None
        kept = cache.read(self.name, version, self._filter)
        if kept is not None:
            return kept
        try:
            measurement = self._run(version)
        except NotTested as reason:
            self.refused[version] = str(reason)
            return None
        cache.write(self.name, measurement, self._filter)
        return measurement

    def _run(self, version: str) -> Measurement:
        name = f"{self.name}=={version}"
        library, existing = environments.known(name), environments.installed(name)
        try:
            if existing is None:
                self._install(name)
            self._try(name)
            self._report(f"{name}: running the suite")
            run = suite.run(
                [name], self._filter, expected=lambda name: [], unreleased=True, twice=False, jobs=self._jobs
            )
            packages = RUNTIMES[library.peer.runtime].packages(library.link)
        except ToolparityError as error:
            raise NotTested(str(error)) from None
        finally:
            if existing is None and not self._keep:
                environments.remove(name)
        return measurement_of(run, version, packages)

    def _install(self, name: str) -> None:
        distribution = environments.known(name).peer.distribution

        def report(step: str) -> None:
            if step == f"yanked {distribution}":
                raise NotTested("the release was yanked")
            self._report(f"{name}: {step}")

        environments.install(name, report)

    def _try(self, name: str) -> None:
        """Raise NotTested if the program does not start or does not read an easy call on one of its wires."""
        self._report(f"{name}: trying an easy call")
        tested = subject(name)
        try:
            for result in smoke_results(tested):
                if result.fault:
                    raise NotTested(f"an easy call is not read: {result.wire} {result.mode}: {result.text}")
        finally:
            if hasattr(tested, "close"):
                tested.close()
