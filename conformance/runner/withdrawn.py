"""Withdrawn accusations: failures of readers whose runner does not act on them, each with its reason.

The laws judge what a library returns. Some libraries return more than they run: their runner refuses such a response,
or runs the call once. The runner is another subject, which is judged by what it ran. So these verdicts of the reader
are `unsupported`, not failures. A thorough test repeats each entry with the runner.
"""

from __future__ import annotations

from msgspec.structs import replace

from toolparity.reports.results import Result, Verdict

from .baseline import BaselineEntry

_REFUSES = "its agent refuses the answer, as two calls have one id, and runs nothing"


def _entries(reason: str, checks: str, scenarios: str, surface: str, mode: str = "*") -> list[BaselineEntry]:
    """Return an entry for each pair of these checks and scenarios, which are separated by spaces."""
    return [
        BaselineEntry(check, scenario, surface, mode, "*", reason)
        for check in checks.split()
        for scenario in scenarios.split()
    ]


def _repeats(reason: str) -> list[BaselineEntry]:
    return _entries(reason, "conservation", "same-call-two-indexes", "openai.chat", "stream")


#: Subject -> its withdrawn accusations.
WITHDRAWN: dict[str, list[BaselineEntry]] = {
    "openai-agents": _repeats("its runner runs the call once"),
    "pydantic-ai": [
        *_repeats(_REFUSES),
        *_entries(_REFUSES, "conservation", "item-id-rotates item-ends-under-another-id", "openai.responses", "stream"),
    ],
}


def apply(result: Result) -> Result:
    """Return the result with withdrawn failures changed to `unsupported`, with the reason."""
    entries = WITHDRAWN.get(result.subject.partition("==")[0])
    if entries is None:
        return result
    return replace(result, verdicts=[_judge_fairly(result, verdict, entries) for verdict in result.verdicts])


def _judge_fairly(result: Result, verdict: Verdict, entries: list[BaselineEntry]) -> Verdict:
    entry = next((entry for entry in entries if entry.matches(result, verdict)), None)
    if entry is None or verdict.outcome != "fail":
        return verdict
    return Verdict(verdict.check, "unsupported", f"not judged: {entry.reason}")
