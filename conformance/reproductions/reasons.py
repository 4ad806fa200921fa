"""The reasons of expected failures: what a subject does, as a sentence with a predicate over each failing case.

    conformance/reasons.toml: sentence -> shows: ["FAMILY:PARAMETER", …], on: PATTERN, when: PATTERN

A sentence is true of a failure if at least one of its families holds for what was expected and what the subject gave,
if the surface and the mode have the pattern ``on``, and what the wire has (`evidence`) the pattern ``when``. So a
sentence states only what a reader of the case sees.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from toolparity.reports.results import Run

from ..answer import call_text
from ..cases.scenarios import scenarios
from ..laws.matching import call_texts
from .failure import Failure

FILE = Path(__file__).resolve().parent.parent / "reasons.toml"


class Reason(Struct, frozen=True, forbid_unknown_fields=True):
    """The predicate of a sentence."""

    shows: list[str]
    on: str = ""
    when: str = ""

    def holds(self, failure: Failure) -> bool:
        """Return whether a failure shows what the sentence says."""
        place = f"{failure.result.surface} {failure.result.mode}"
        shows = ((_FAMILIES[name], it) for name, _, it in (one.partition(":") for one in self.shows))
        return (
            re.search(self.on, place) is not None
            and any(family(failure, it) for family, it in shows)
            and re.search(self.when, evidence(failure)) is not None
        )


@cache
def reasons() -> dict[str, Reason]:
    """Return the reasons of the shipped baselines of libraries, by their sentences."""
    return msgspec.convert(tomllib.loads(FILE.read_text("utf-8")), dict[str, Reason])


def untrue(run: Run) -> Iterator[str]:
    """Yield a line for each expected failure of a run whose sentence has no predicate, or one that does not hold."""
    for result, verdict in run.verdicts():
        if verdict.outcome != "expected":
            continue
        failure = Failure(result, verdict, "")
        reason = reasons().get(failure.known_reason)
        if reason is None or not reason.holds(failure):
            yield f"{result.subject} {result.case} {verdict.check}: {failure.known_reason or 'no reason'}"


def evidence(failure: Failure) -> str:
    """Return what the wire has: the scenario's title, the calls, and the response as text."""
    response = failure.response
    return "\n".join([_title(failure), *_wanted(failure), response.data.decode("utf-8", "replace")])


def _title(failure: Failure) -> str:
    return scenarios()[failure.result.scenario].file.title


def _wanted(failure: Failure) -> list[str]:
    return call_texts(failure.response.expected.calls)


def _sides(failure: Failure) -> list[dict[str, object]]:
    """Return both sides of a comparison of two answers, as far as they are not cut."""
    found = []
    for text in (failure.verdict.expected, failure.verdict.got):
        try:
            found.append(msgspec.json.decode(text, type=dict[str, object]))
        except msgspec.DecodeError:
            continue
    return found if failure.verdict.check in ("alike", "stream-parity") else []


def _answers(failure: Failure) -> Iterator[list[str]]:
    """Yield the calls that the subject returned or ran, and those of both sides of a comparison of two answers."""
    yield failure.report.calls
    yield [*failure.report.calls, *failure.report.rejected]
    for side in _sides(failure):
        calls = side.get("calls")
        assert isinstance(calls, list)
        yield [call if isinstance(call, str) else call_text(call[0], call[1], None) for call in calls]


def _missing(wanted: list[str], got: list[str]) -> list[str]:
    """Return what is in the one list and not in the other, as often as it is there. White space is ignored."""
    left = Counter("".join(call.split()) for call in wanted) - Counter("".join(call.split()) for call in got)
    return [*left.elements()]


def _pair(failure: Failure) -> str:
    return f"{failure.verdict.expected} -> {failure.verdict.got}"


def _why(failure: Failure, pattern: str) -> bool:
    """The effect and the verdict's own words have the pattern."""
    return re.search(pattern, f"{failure.verdict.effect}: {failure.reason}", re.DOTALL) is not None


def _refused(failure: Failure, pattern: str) -> bool:
    """An error was raised, and its text has the pattern."""
    error = f"{failure.reason} {failure.verdict.got} {failure.report.error}"
    return failure.verdict.effect == "refused" and re.search(pattern, error) is not None


def _differs(failure: Failure, pattern: str) -> bool:
    """The text "expected -> got" has the pattern."""
    return re.search(pattern, _pair(failure), re.DOTALL) is not None


def _arguments(failure: Failure, pattern: str) -> bool:
    """A law about arguments failed, and the text "expected -> got" has the pattern."""
    return failure.verdict.check == "arguments" and _differs(failure, pattern)


def _stop(failure: Failure, pattern: str) -> bool:
    """The stop reason is another one, and the text "expected -> got" of both has the pattern, in any direction."""
    if failure.verdict.check == "stop":
        return _differs(failure, pattern)
    stops = [str(side.get("stop")) for side in _sides(failure)]
    return any(re.search(pattern, " -> ".join(pair)) for pair in (stops, stops[::-1]) if len({*stops}) == 2)


def _usage(failure: Failure, how: str) -> bool:
    """A token count is missing ("lost"), greater ("more"), or has the pattern as "expected -> got"."""
    counts = re.search(r"is (\d+)(?: on the wire)?, but .*?(None|\d+)", failure.reason)
    if failure.verdict.check != "usage" or counts is None:
        return False
    wanted, got = counts.groups()
    if how in ("lost", "more"):
        return got in ("None", "0") if how == "lost" else got != "None" and int(got) > int(wanted)
    return re.search(how, f"{wanted} -> {got}") is not None


def _unmarked(failure: Failure, pattern: str) -> bool:
    """Nothing in the answer to a broken stream shows the break, and the answer has the pattern."""
    return _why(failure, "looks complete|nothing .* shows it") and _differs(failure, f"-> .*({pattern})")


def _silently(failure: Failure) -> bool:
    return failure.verdict.effect not in ("refused", "executed", "malformed")


def _lost(failure: Failure, _: str) -> bool:
    """A call is missing."""
    return _silently(failure) and any(_missing(_wanted(failure), calls) for calls in _answers(failure))


def _none(failure: Failure, _: str) -> bool:
    """All calls are missing."""
    return _silently(failure) and bool(_wanted(failure)) and not all(_answers(failure))


def _text(failure: Failure, _: str) -> bool:
    """The text is missing."""
    return _why(failure, "claims text, but returns none") or any(not side.get("text") for side in _sides(failure))


def _unwanted(failure: Failure, pattern: str) -> bool:
    """A call was returned that is not on the wire, and it has the pattern."""
    surplus = (call for calls in _answers(failure) for call in _missing(calls, _wanted(failure)))
    return any(re.search(pattern, call) for call in surplus)


def _merged(failure: Failure, _: str) -> bool:
    """One call has the names or the arguments of several, or has them several times."""
    names = "|".join(re.escape(call.partition("(")[0]) for call in _wanted(failure))
    return _unwanted(failure, rf"^(?:{names}){{2,}}\(|\}}\{{")


def _twice(failure: Failure, _: str) -> bool:
    """A call was returned more often than it is on the wire."""
    wanted = {*_missing(_wanted(failure), [])}
    return any(call in wanted for calls in _answers(failure) for call in _missing(calls, _wanted(failure)))


def _digits(failure: Failure, _: str) -> bool:
    """The arguments differ in numbers only."""
    one, other = (
        re.sub(r"-?\d[\d.eE+-]*|null|-?Infinity", "0", text).strip("…{}")
        for text in (failure.verdict.expected, failure.verdict.got)
    )
    return failure.verdict.check == "arguments" and one[: len(other)] == other[: len(one)]


_FAMILIES: dict[str, Callable[[Failure, str], bool]] = {
    "why": _why,
    "refused": _refused,
    "differs": _differs,
    "arguments": _arguments,
    "stop": _stop,
    "usage": _usage,
    "unmarked": _unmarked,
    "lost": _lost,
    "none": _none,
    "text": _text,
    "unwanted": _unwanted,
    "merged": _merged,
    "twice": _twice,
    "digits": _digits,
}
