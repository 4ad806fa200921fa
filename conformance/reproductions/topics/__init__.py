"""The table of the laws: what a failure of each is about, and which part of a provider's documentation states it.

A law without an entry has no scripts. Those need a second subject, another split of the stream or a second request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..failure import Failure
from .agents import NEXT_REQUEST, RUN_ARGUMENTS, RUNS
from .calls import ARGUMENTS, CALLS, IDS, ORDER, TEXT
from .ends import BREAK, COMPLETE_END, STOP
from .forms import FORMS
from .topic import Topic
from .usage import USAGE


class LawEntry(NamedTuple):
    """How failures of one law are reproduced.

    ``library``, ``agent``: the topic of a failure of a library and of an agent. None: the law does not judge them.
    ``documented``: the subject of the provider's documentation, a key of `documentation.STATEMENTS`.
    """

    documented: str
    library: Callable[[Failure], Topic] | None = None
    agent: Callable[[Failure], Topic] | None = None


def _always(topic: Topic) -> Callable[[Failure], Topic]:
    return lambda failure: topic


def _content(failure: Failure) -> Topic:
    """Return the topic of content that a library lost, changed or invented: the text, an id, or the calls."""
    if failure.reason.endswith("provider's id"):
        return IDS
    return TEXT if _is_about_text(failure) else CALLS


def _of_cut(failure: Failure) -> Topic:
    """Return the topic of a stream that was cut: its end, or content that it did not have."""
    if failure.verdict.effect == "misreported":
        return _end(failure)
    return TEXT if _is_about_text(failure) else CALLS


def _end(failure: Failure) -> Topic:
    """Return the topic of an end: a complete response that looks incomplete, or a break that nothing shows."""
    return COMPLETE_END if failure.reason.startswith("a complete response") else BREAK


def _unfinished(failure: Failure) -> Topic:
    """Return the topic of an unfinished response: its end, or calls that are returned as if they could run."""
    return _end(failure) if failure.verdict.effect == "misreported" else CALLS


def _is_about_text(failure: Failure) -> bool:
    return " text" in failure.reason


#: Law -> how its failures are reproduced.
ENTRIES: dict[str, LawEntry] = {
    "conservation": LawEntry("calls", _content, _always(RUNS)),
    "order": LawEntry("calls", _always(ORDER)),
    "arguments": LawEntry("arguments", _always(ARGUMENTS), _always(RUN_ARGUMENTS)),
    "server-side": LawEntry("server", _always(CALLS), _always(RUNS)),
    "stream-parity": LawEntry("stream", _always(FORMS)),
    "alike": LawEntry("calls", _always(FORMS)),
    "stop": LawEntry("end", _always(STOP)),
    "incomplete": LawEntry("end", _unfinished, _always(RUNS)),
    "any-cut": LawEntry("end", _of_cut, _always(RUNS)),
    "usage": LawEntry("usage", _always(USAGE)),
    "answered": LawEntry("results", None, _always(NEXT_REQUEST)),
}


def topic_of(failure: Failure) -> Topic:
    """Return what a failure is about. Raises KeyError if its law has no entry, or does not judge such a subject."""
    entry = ENTRIES[failure.verdict.check]
    choose = entry.agent if failure.is_of_agent else entry.library
    if choose is None:
        raise KeyError(failure.verdict.check)
    return choose(failure)


def has_topic(failure: Failure) -> bool:
    """Return whether a script can reproduce failures of this law for such a subject."""
    entry = ENTRIES.get(failure.verdict.check)
    if entry is None or None not in (entry.library, entry.agent):
        return entry is not None  # without the code of the failure, which takes much longer
    return (entry.agent if failure.is_of_agent else entry.library) is not None
