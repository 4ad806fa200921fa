"""Sentences and lists of counts that several reports share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from .compare import count_text
from .escape import cut, visible
from .results import EFFECTS, OUTCOMES, Effect, Outcome, Result, Run, Verdict
from .statistics import Counts, Figures, Standing

#: Maximum number of characters of a subject's name.
_NAME = 40


def headline_text(standings: Sequence[Standing]) -> str:
    """Return what these subjects do to calls, as a sentence without a full stop.

    "9 of 11 implementations lose or alter calls or content, or let calls run that must not run, on at least one wire".
    Failures that a baseline expects count. The verbs are those of the effects that occur.
    """
    harmful = [item for item in standings if item.effects & {*_VERBS, "executed"}]
    if not harmful:
        return breaking_text(standings)
    occurring = {effect for item in harmful for effect in item.effects}
    singular = len(harmful) == 1
    verbs = [verb + "s" * singular for effect, verb in _VERBS.items() if effect in occurring]
    acts = [f"{_alternatives(verbs)} calls or content"] if verbs else []
    acts += [f"{'lets' if singular else 'let'} calls run that must not run"] if "executed" in occurring else []
    return f"{_share_of(harmful, standings)} {', or '.join(acts)}{',' * (len(acts) > 1)} on at least one wire"


#: Effect -> what subjects with this effect do to calls or content.
_VERBS: dict[Effect, str] = {"lost": "lose", "duplicated": "duplicate", "altered": "alter"}


def _alternatives(words: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _share_of(part: Sequence[Standing], whole: Sequence[Standing]) -> str:
    """Return a text such as "9 of 11 implementations"; "subjects" if not all are implementations.

    If a library has several entry points: "9 of 11 implementations (entry points of 8 libraries)".
    """
    share = f"{len(part):,} of {len(whole):,} {noun_of(whole)}{'s' * (len(whole) != 1)}"
    libraries = len({item.library for item in whole})
    if libraries == len(whole):
        return share
    return f"{share} (entry points of {libraries:,} {'library' if libraries == 1 else 'libraries'})"


def noun_of(standings: Sequence[Standing]) -> str:
    """Return "implementation", or "subject" if one of these subjects has another role."""
    return "implementation" if all(item.role == "implementation" for item in standings) else "subject"


def population_text(standings: Sequence[Standing]) -> str:
    """Return which subjects a figure is about: "16 implementations", or "normalizer (reference)" for one subject."""
    if len(standings) != 1:
        return f"{len(standings):,} {noun_of(standings)}s" if standings else ""
    name, role = visible(cut(standings[0].name, _NAME)), standings[0].role
    return name if role == "implementation" else f"{name} ({role})"


def breaking_text(standings: Sequence[Standing]) -> str:
    """Return a text such as "10 of 11 implementations break a law". Failures that a baseline expects count."""
    broken = [item for item in standings if item.broken]
    return f"{_share_of(broken, standings)} {'breaks' if len(broken) == 1 else 'break'} a law"


def passing_text(standings: Sequence[Standing]) -> str:
    """Return a text such as "13,237 of 15,361 cases pass". The whole are the applicable cases."""
    passed, applicable = (
        sum(item.cases.passed for item in standings),
        sum(item.cases.applicable for item in standings),
    )
    return f"{passed:,} of {applicable:,} cases pass"


def outcomes_text(counts: Counts) -> str:
    """Return a text such as "3 fail, 27,799 pass", worst outcome first."""
    return ", ".join(f"{counts[outcome]:,} {outcome}" for outcome in OUTCOMES if counts.get(outcome))


def effects_text(counts: Mapping[Effect, int]) -> str:
    """Return a text such as "12 lost, 3 refused" with the effects of failures, in the order of `EFFECTS`."""
    return ", ".join(f"{counts[effect]:,} {effect}" for effect in EFFECTS if counts.get(effect))


def size_text(run: Run, counts: Figures, took: str = "") -> str:
    """Return a text such as "12 cases, 90 verdicts: 3 fail, 87 pass; failures by effect: 3 lost"."""
    verdicts = count_text(sum(counts.total.values()), "verdict")
    effects = effects_text(counts.effects)
    outcomes = outcomes_text(counts.total) or "nothing ran"
    size = f"{count_text(len(run.results), 'case')}, {verdicts}{took}: {outcomes}"
    return f"{size}; failures by effect: {effects}" if effects else size


def effects_of(failures: Sequence[tuple[Result, Verdict]]) -> str:
    """Return the effects of these failures as text."""
    return effects_text(Counter(verdict.effect for _, verdict in failures))


def occurring_effects(counts: Mapping[Effect, int]) -> Iterator[tuple[Effect, str]]:
    """Return the effects that occur, with their meanings, as a legend."""
    return ((effect, EFFECTS[effect]) for effect in EFFECTS if counts.get(effect))


def occurring_outcomes(total: Counts) -> Iterator[tuple[Outcome, str]]:
    """Return the outcomes that occur, with their meanings, as a legend."""
    return ((outcome, OUTCOMES[outcome]) for outcome in OUTCOMES if total.get(outcome))
