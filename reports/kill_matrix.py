"""Figures of the kill matrix: which known-bad subjects survive, and which laws none of them needs."""

from __future__ import annotations

from .results import GeneratedKills, Kill, LawInfo, Run


def surviving_mutants(run: Run) -> list[Kill]:
    """Return the known-bad subjects that their own law does not fail."""
    return [kill for kill in run.kills if not kill.by.get(kill.law)]


def unneeded_laws(run: Run) -> list[LawInfo]:
    """Return the laws that fail none of the known-bad subjects written for them."""
    busy = {kill.law for kill in run.kills if kill.by.get(kill.law)}
    return [law for law in run.laws if law.id not in busy]


def kills_text(run: Run) -> str:
    """Return a text such as "66 of 67 known-bad subjects fail the law written for them; 15 of 16 laws are needed"."""
    caught = len(run.kills) - len(surviving_mutants(run))
    needed = len(run.laws) - len(unneeded_laws(run))
    mutants = f"{caught:,} of {len(run.kills):,} known-bad subjects fail the law written for them"
    return f"{mutants}; {needed:,} of {len(run.laws):,} laws are needed"


def generated_text(generated: GeneratedKills) -> str:
    """Return a text such as "1,200 of 1,210 generated known-bad subjects fail a law; 10 are equivalent"."""
    proved = len(generated.equivalents)
    killed = generated.subjects - len(generated.survivors) - proved
    are = "is" if proved == 1 else "are"
    text = f"{killed:,} of {generated.subjects:,} generated known-bad subjects fail a law; {proved:,} {are} equivalent"
    dead, brief = generated.brief
    return f"{text}. Of those in the brief form, {dead:,} of {brief:,} fail a law" if brief else text
