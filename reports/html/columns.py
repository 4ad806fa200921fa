"""Column-oriented form of a run for the page: stores each text, verdict and bundle of verdicts once.

Most of 100,000 cases have the same verdicts as another case. A case is therefore a number of a bundle. This module and
the scripts compute counts once per bundle.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec

from ..escape import cut
from ..results import OUTCOMES, Result, Run, SubjectReport, Verdict

#: Maximum lengths in characters: of names, and of other texts.
NAME, WORDS = 200, 2_000

ORDER = tuple(OUTCOMES)
_NUMBERS = {outcome: number for number, outcome in enumerate(ORDER)}
#: Maximum entries per list of one round, which may have a thousand calls.
_LISTED = 50


class Names:
    """A registry that numbers names in the order of their first use."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}
        for name in known:
            self.number(name)

    def number(self, name: str) -> int:
        """Return the number of a name. A new name is added."""
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.all)
            self.all.append(name)
        return number

    def of(self, name: str) -> int | None:
        """Return the number of a name, or None if the name is unknown."""
        return self._numbers.get(name)


class Texts(Names):
    """A registry of texts, cut to a maximum length. Number 0 is the empty text."""

    def __init__(self) -> None:
        super().__init__([""])
        self.were_cut = 0

    def add(self, text: str, most: int = WORDS) -> int:
        """Return the number of a text, which is cut if it is longer than ``most`` characters."""
        if len(text) > most:
            text = cut(text, most)
            self.were_cut += 1
        return self.number(text)

    def more(self) -> Texts:
        """Return a copy that can grow without changing this registry."""
        copy = Texts()
        copy.all, copy._numbers, copy.were_cut = [*self.all], {**self._numbers}, self.were_cut
        return copy


class Bundle(NamedTuple):
    """Verdicts and output that several cases share, as numbers.

    ``rounds`` is the number of the subject's output, ``bare`` that of the verdicts without text, ``worded`` those of
    the verdicts with text.
    """

    rounds: int
    bare: int
    worded: tuple[int, ...]


class Columns:
    """The results of a run by columns. A place is a combination of scenario, surface, mode and policy.

    ``order``: subject numbers in the order in which the page lists subjects; by default that of the run.
    ``called``: subject number -> the name with which the user selected it, if that is another one.
    ``cases``: for each subject and each place, the index in ``bundles`` plus 1, or 0 if the case was not run.
    ``bare``: law and outcome in turn -> number.
    ``verdicts``: (law, outcome, reason, round plus 1, expected, got, effect) -> number.
    """

    def __init__(self, run: Run, order: Iterable[str] = ()) -> None:
        self.subjects = Names(entry.name for entry in run.subjects)
        self.laws = Names(entry.id for entry in run.laws)
        self.scenarios = Names(entry.id for entry in run.scenarios)
        self.surfaces, self.modes, self.policies = Names(), Names(), Names()
        self.called: dict[int, str] = {}
        self.texts = Texts()
        self.places: dict[tuple[int, int, int, int], int] = {}
        self.cases: list[list[int]] = []
        self.bundles: list[Bundle] = []
        self.bare: dict[tuple[int, ...], int] = {}
        self.verdicts: dict[tuple[int, ...], int] = {}
        self.rounds: list[list[list[Any]]] = []
        self._places: dict[tuple[str, str, str, str], int] = {}
        self._rounds: dict[bytes, int] = {}
        self._seen: dict[bytes, int] = {}
        for result in run.results:
            self._add(result)
        self.cases += [[] for _ in range(len(self.subjects.all) - len(self.cases))]
        for cases in self.cases:
            cases.extend([0] * (len(self.places) - len(cases)))
        self.order = [self.subjects.number(name) for name in dict.fromkeys((*order, *self.subjects.all))]

    def _add(self, result: Result) -> None:
        subject = self.subjects.number(result.subject)
        if subject not in self.called:
            self.called[subject] = result.called
        names = result.scenario, result.surface, result.mode, result.policy
        number = self._places.get(names)
        if number is None:
            number = self._places[names] = self._place(*names)
        while len(self.cases) <= subject:
            self.cases.append([])
        cases = self.cases[subject]
        if len(cases) <= number:
            cases.extend([0] * (number + 1 - len(cases)))
        cases[number] = self._bundle(result) + 1

    def _place(self, scenario: str, surface: str, mode: str, policy: str) -> int:
        place = (
            self.scenarios.number(scenario),
            self.surfaces.number(surface),
            self.modes.number(mode),
            self.policies.number(policy),
        )
        return self.places.setdefault(place, len(self.places))

    def _bundle(self, result: Result) -> int:
        # Comparing the JSON is faster than hashing structs that contain lists.
        rounds = json_codec.encode(result.rounds)
        key = json_codec.encode(result.verdicts) + rounds
        number = self._seen.get(key)
        if number is None:
            number = self._seen[key] = len(self.bundles)
            bare: list[int] = []
            worded: list[int] = []
            for verdict in result.verdicts:
                law, outcome = self.laws.number(verdict.check), _NUMBERS[verdict.outcome]
                if verdict.reason or verdict.expected or verdict.got or verdict.round is not None:
                    worded.append(self._verdict(law, outcome, verdict))
                else:
                    bare += (law, outcome)
            self.bundles.append(
                Bundle(
                    self._rounds_number(rounds, result.rounds),
                    self.bare.setdefault(tuple(bare), len(self.bare)),
                    tuple(worded),
                )
            )
        return number

    def _verdict(self, law: int, outcome: int, verdict: Verdict) -> int:
        add = self.texts.add
        round = 0 if verdict.round is None else verdict.round + 1
        row = (law, outcome, add(verdict.reason), round, add(verdict.expected), add(verdict.got), add(verdict.effect))
        return self.verdicts.setdefault(row, len(self.verdicts))

    def _rounds_number(self, key: bytes, reports: list[SubjectReport]) -> int:
        number = self._rounds.get(key)
        if number is None:
            number = self._rounds[key] = len(self.rounds)
            self.rounds.append([self._round(report) for report in reports])
        return number

    def _round(self, report: SubjectReport) -> list[Any]:
        add = self.texts.add
        lists = (report.calls, report.dropped, report.rejected, report.warnings, report.findings)
        row: list[Any] = [[add(text) for text in _first(texts)] for texts in lists]
        row += (add(report.stop), add(report.error))
        while row and not row[-1]:
            row.pop()
        return row

    def plain(self) -> dict[str, Any]:
        """Return the columns as the page embeds them."""
        return {
            "subjects": [cut(name, NAME) for name in self.subjects.all],
            "order": self.order,
            "called": [cut(self.called.get(number, ""), WORDS) for number in range(len(self.subjects.all))],
            "laws": [cut(name, NAME) for name in self.laws.all],
            "scenarios": [cut(name, NAME) for name in self.scenarios.all],
            "surfaces": [cut(name, NAME) for name in self.surfaces.all],
            "modes": [cut(name, NAME) for name in self.modes.all],
            "policies": [cut(name, NAME) for name in self.policies.all],
            "outcomes": ORDER,
            "places": [list(column) for column in zip(*self.places, strict=True)] or [[], [], [], []],
            "cases": self.cases,
            "bundles": [[bundle.rounds, bundle.bare, *bundle.worded] for bundle in self.bundles],
            "bare": list(self.bare),
            "verdicts": list(self.verdicts),
            "rounds": self.rounds,
        }


def _first(texts: list[str]) -> list[str]:
    if len(texts) <= _LISTED:
        return texts
    return [*texts[:_LISTED], f"… and {len(texts) - _LISTED:,} more"]
