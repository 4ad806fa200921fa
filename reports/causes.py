"""Failures by cause: one mistake of a subject breaks several laws in many cases, and is shown once.

failures of a subject -> groups: equal effects, and equal reasons without names, numbers and details
                      -> a general law's failure belongs to the group that its case has already
                      -> the most severe effect first, then the largest group; the smallest case is its example
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .compare import count_text
from .results import BAD, Effect, Outcome, Result, Verdict
from .statistics import Figures

Failure = tuple[Result, Verdict]

#: The most severe first: what ran cannot be undone.
_SEVERITY: tuple[Effect, ...] = ("executed", "duplicated", "lost", "altered", "misreported", "malformed", "refused", "")
#: Laws that judge what other laws judge, too. The last ones compare responses, and see a mistake of any effect.
_GENERAL = (("conservation", "any-split"), ("any-cut",), ("same-first", "stream-parity", "alike"))
#: Laws about one member, which a subject reads in one place.
_ONE_MEMBER = ("stop", "usage")
#: Characters of a reason that are compared. The suite's own are shorter; a call's pattern takes quadratic time.
_LONGEST = 500
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
#: A call as reasons have it: ``name(arguments)``. The arguments are JSON or free text, and can be cut by ``…``.
_CALL = re.compile(r"[^\s,(]*\(.*(?:\)(?=$|[ ,:])|…)|[^\s,(]*\([{\[].*", re.DOTALL)
_COMPARED = re.compile(r"[\w.-]+ and [\w.-]+ differ\b")
_NAMED = re.compile(r"(?<=the )(arguments of|argument text of|call) [\w.:-]+")
_ERROR = re.compile(r": ([A-Za-z_][\w.]*(?:Error|Exception|Failure)\b).*", re.DOTALL)
_DETAIL = re.compile(r": .*", re.DOTALL)


class Cause(NamedTuple):
    """Failures with one cause. ``failures`` has one for each case, the smallest first; ``laws``: law -> its cases."""

    subject: str
    outcome: Outcome
    effect: Effect
    failures: list[Failure]
    laws: Counter[str]

    @property
    def leading_law(self) -> str:
        """The law that is broken in the most cases."""
        return self.laws.most_common(1)[0][0]

    def title(self, name: Callable[[str], str] = str) -> str:
        """Such as "litellm breaks order in 12 cases, alike in 3 (altered)". ``name`` formats names."""
        laws = [(name(law), count) for law, count in self.laws.most_common()]
        (first, count), subject = laws[0], name(self.subject)
        cases = count_text(count, "case")
        if self.outcome == "stale":
            return f"{subject} keeps {first} in {cases} in which the baseline expects a failure"
        if self.outcome == "error":
            return f"{first} could not be judged for {subject} in {cases}"
        others = "".join(f", {law} in {count:,}" for law, count in laws[1:])
        return f"{subject} breaks {first} in {cases}{others}" + (f" ({self.effect})" if self.effect else "")


def causes(counts: Figures) -> list[Cause]:
    """Return the causes of all failures that fail the run, subject by subject, the most severe first."""
    subjects = [*dict.fromkeys(subject for subject, _ in counts.bad)]
    found: list[Cause] = []
    for subject, outcome in sorted(counts.bad, key=lambda key: (subjects.index(key[0]), BAD.index(key[1]))):
        grouped = _grouped(subject, outcome, counts.bad[subject, outcome])
        found += sorted(grouped, key=lambda cause: (_SEVERITY.index(cause.effect), -len(cause.failures)))
    return found


def _grouped(subject: str, outcome: Outcome, failures: Sequence[Failure]) -> list[Cause]:
    groups: dict[tuple[Effect, str], Cause] = {}
    of_case: dict[str, list[Cause]] = {}
    for rank in range(len(_GENERAL) + 1):
        ranked = [(result, verdict) for result, verdict in failures if _rank(verdict) == rank]
        earlier = {case: [*found] for case, found in of_case.items()}
        for result, verdict in sorted(ranked, key=_size):
            cause = _explaining(earlier.get(result.case, ()), verdict)
            if cause is None:
                new = Cause(subject, outcome, verdict.effect, [], Counter())
                cause = groups.setdefault((verdict.effect, _kind(verdict)), new)
                if cause not in of_case.setdefault(result.case, []):
                    of_case[result.case].append(cause)
                    cause.failures.append((result, verdict))
            cause.laws[verdict.check] += 1
    return [*groups.values()]


def _rank(verdict: Verdict) -> int:
    return next((rank for rank, laws in enumerate(_GENERAL, 1) if verdict.check in laws), 0)


def _explaining(causes: Sequence[Cause], verdict: Verdict) -> Cause | None:
    """Return the cause of which this failure is a consequence. ``causes``: those of its case by less general laws."""
    compares = verdict.check in _GENERAL[-1]
    return next((cause for cause in causes if compares or cause.effect == verdict.effect), None)


def _kind(verdict: Verdict) -> str:
    """Return the reason without names, numbers, and the details that follow a colon, but with the type of an error."""
    one_member = verdict.check in _ONE_MEMBER and verdict.effect == "misreported"
    if verdict.outcome != "fail" or one_member:  # it has one reason
        return verdict.check
    text = verdict.reason if len(verdict.reason) <= _LONGEST else f"{verdict.reason[:_LONGEST]}…"
    text = _CALL.sub("*", _ERROR.sub(r" with \1", _QUOTED.sub("*", text)))
    text = re.sub(r"\d+", "*", _NAMED.sub(r"\1 *", _COMPARED.sub("* differ", _DETAIL.sub("", text))))
    return text.replace(" are ", " is ").replace("calls", "call")


def _size(failure: Failure) -> tuple[int, int]:
    """Return how much there is to read: later rounds and longer calls are larger."""
    _, verdict = failure
    return verdict.round or 0, len(verdict.expected) + len(verdict.got) + len(verdict.reason)
