"""The result of a verification: counts for each check, with the first example of each failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from .checks import CHECKS
from .judge import Observation
from .llm_comply import Compliance
from .rates import Difference, Pairs, Rate

#: The checks whose observations show whether calls were made where they are needed.
_TRIGGER = "triggered"


class Counted(Struct, frozen=True):
    """The observations of one probe in one mode. ``mode``: "plain", "stream", or "both" for pairs."""

    probe: str
    mode: str
    passed: int
    judged: int


class Example(Struct, frozen=True):
    """The first failure of a check. ``reply``: the beginning of the reply."""

    probe: str
    mode: str
    repetition: int
    round: int
    reason: str
    request: Any = None
    status: int = 0
    reply: str = ""


class CheckResult(Struct, frozen=True):
    """The result of one check. ``low``, ``high``: the confidence interval of the rate at 95 %.

    ``required``: the rate that it needs. ``reasons``: reason -> how often, the most frequent first.
    """

    check: str
    title: str
    passed: int
    judged: int
    rate: float | None
    low: float
    high: float
    required: float
    failed: bool
    counted: list[Counted] = []
    reasons: dict[str, int] = {}
    example: Example | None = None


class Trigger(Struct, frozen=True):
    """Calls where calls are needed: how precise and how complete, as the verifiers of vendors count them.

    ``precision``: the share of conversations with a call that need one. ``recall``: the share of those that need one
    and have it. ``f1``: their harmonic mean.
    """

    precision: float
    recall: float
    f1: float


class Compared(Struct, frozen=True):
    """A check at two endpoints that got the same requests. ``difference``: the rate minus that of the reference.

    ``worse``: it is lower, also in view of the number of checks.
    """

    check: str
    pairs: Pairs
    difference: Difference
    worse: bool


class Reference(Struct, frozen=True):
    """The endpoint to compare with. ``stopped``: why its run ended early."""

    url: str
    model: str
    requests: int
    checks: list[Compared]
    stopped: str = ""

    @property
    def worse(self) -> list[Compared]:
        """The checks whose rate is lower than that of the reference."""
        return [one for one in self.checks if one.worse]


class Verification(Struct, frozen=True):
    """A verification. ``left_out``: probe -> why its requests cannot be written. ``stopped``: why it ended early.

    ``unplayed``: how many of the ``conversations`` it did not play to their end. ``compliance``: the verdicts of
    llm-comply. ``asked``: a digest of the scenarios and of the members that were added to each request.
    """

    toolparity: str
    date: str
    url: str
    wire: str
    model: str
    repetitions: int
    requests: int
    checks: list[CheckResult]
    trigger: Trigger | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    left_out: dict[str, str] = {}
    stopped: str = ""
    conversations: int = 0
    unplayed: int = 0
    scenarios: list[str] = []
    modes: list[str] = []
    asked: str = ""
    reference: Reference | None = None
    compliance: Compliance | None = None

    @property
    def failed(self) -> list[CheckResult]:
        """The checks whose rate is too low."""
        return [result for result in self.checks if result.failed]

    @property
    def fails(self) -> bool:
        """Whether a rate is too low, or lower than that of the reference, or a case of llm-comply fails."""
        worse = self.reference is not None and self.reference.worse
        return bool(self.failed or worse or (self.compliance is not None and self.compliance.failed))


def compared(observed: Iterable[Observation], reference: Iterable[Observation]) -> list[Compared]:
    """Compare two endpoints, in the order of `CHECKS`. Observations in one conversation are pairs in their order.

    A request that only one endpoint got, since the other ended the conversation, has no pair.
    """
    ours, theirs = _by_conversation(observed), _by_conversation(reference)
    counts = {check: [0, 0, 0, 0] for check in CHECKS}
    for key, passed in ours.items():
        for one, other in zip(passed, theirs.get(key, ()), strict=False):
            counts[key[0]][2 * (not one) + (not other)] += 1
    pairs = {check: Pairs(*count) for check, count in counts.items() if any(count)}
    tests = len(pairs)
    return [Compared(check, each, each.difference(), each.difference(tests).high < 0) for check, each in pairs.items()]


def _by_conversation(observed: Iterable[Observation]) -> dict[tuple[str, str, str, int], list[bool]]:
    groups: dict[tuple[str, str, str, int], list[bool]] = {}
    for one in observed:
        groups.setdefault((one.check, one.probe, one.mode, one.repetition), []).append(one.passed)
    return groups


def check_results(
    observed: Iterable[Observation], examples: Mapping[str, Example], required: Mapping[str, float]
) -> list[CheckResult]:
    """Return the results of all checks, in the order of `CHECKS`. ``required``: check -> the rate that it needs."""
    groups: dict[str, list[Observation]] = {check: [] for check in CHECKS}
    for observation in observed:
        groups[observation.check].append(observation)
    return [_result(check, groups[check], examples.get(check), required[check]) for check in CHECKS]


def _result(check: str, observed: list[Observation], example: Example | None, required: float) -> CheckResult:
    rate = Rate(sum(one.passed for one in observed), len(observed))
    low, high = rate.interval
    counts: dict[tuple[str, str], list[int]] = {}
    reasons: dict[str, int] = {}
    for one in observed:
        count = counts.setdefault((one.probe, one.mode), [0, 0])
        count[0] += one.passed
        count[1] += 1
        if one.reason:
            reasons[one.reason] = reasons.get(one.reason, 0) + 1
    return CheckResult(
        check,
        CHECKS[check].title,
        rate.passed,
        rate.judged,
        rate.value,
        low,
        high,
        required,
        failed=rate.value is not None and rate.value < required,
        counted=[Counted(probe, mode, *count) for (probe, mode), count in sorted(counts.items())],
        reasons=dict(sorted(reasons.items(), key=lambda item: -item[1])),
        example=example,
    )


def trigger(observed: Iterable[Observation], needing: set[str]) -> Trigger | None:
    """Return the shares of calls where calls are needed; None without an observation. ``needing``: those probes."""
    hits = misses = false = 0
    for one in observed:
        if one.check != _TRIGGER:
            continue
        if one.probe in needing:
            hits, misses = hits + one.passed, misses + (not one.passed)
        else:
            false += not one.passed
    if not hits + misses:
        return None
    precision = hits / (hits + false) if hits + false else 0.0
    recall = hits / (hits + misses)
    return Trigger(precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0)
