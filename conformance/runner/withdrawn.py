"""Withdrawn accusations: failures of readers whose runner does not act on them, each with its reason.

The laws judge what a library returns. Some libraries return more than they run: their runner refuses such a response,
or runs the call once. The runner is another subject, which is judged by what it ran. So these verdicts of the reader
are `unsupported`, not failures. A thorough test repeats each entry with the runner. Other readings of a response are
right as well: what the provider calls its own tool can be taken for one.
"""

from __future__ import annotations

from .baseline import BaselineEntry

_REFUSES = "its agent refuses the answer, as two calls have one id, and runs nothing"
_FOLLOWS = "it follows the type that the provider gives the call"


def _entries(reason: str, checks: str, scenarios: str, surface: str, mode: str = "*") -> list[BaselineEntry]:
    """Return an entry for each pair of these checks and scenarios, which are separated by spaces."""
    return [
        BaselineEntry(check, scenario, surface, mode, "*", reason)
        for check in checks.split()
        for scenario in scenarios.split()
    ]


def _repeats(reason: str) -> list[BaselineEntry]:
    return _entries(reason, "conservation", "same-call-two-indexes", "openai.chat", "stream")


_TYPED = _entries(_FOLLOWS, "conservation", "declared-function-typed-as-hosted", "xai.grpc")

_UNASKED = _entries(
    "a provider sends context_management only to a request for it, which has typed events",
    "conservation",
    "members-beside-a-call items-of-servers-beside-a-call",
    "anthropic.messages",
    "stream",
)

#: Subject -> its withdrawn accusations.
WITHDRAWN: dict[str, list[BaselineEntry]] = {
    "langchain-core": _UNASKED,
    "langgraph-agent": _UNASKED[:1],
    "openai-agents": _repeats("its runner runs the call once"),
    "pydantic-ai": [
        *_repeats(_REFUSES),
        *_entries(_REFUSES, "conservation", "item-id-rotates item-ends-under-another-id", "openai.responses", "stream"),
        *_TYPED,
    ],
    "xai-sdk": _TYPED,
}


def accusations(subject: str) -> list[BaselineEntry]:
    """Return the withdrawn accusations of a subject, which may have a version: ``NAME==VERSION``."""
    return WITHDRAWN.get(subject.partition("==")[0], [])
