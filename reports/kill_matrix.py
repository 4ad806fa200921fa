"""Figures of the kill matrix: which known-bad subjects survive, and which laws none of them needs."""

from __future__ import annotations

from collections.abc import Iterator

from .results import GeneratedKills, Kill, LawInfo, Need, Run


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


def needs(run: Run) -> dict[str, dict[str, dict[str, Need]]]:
    """Return a table: kind -> name -> form -> what needs it."""
    table: dict[str, dict[str, dict[str, Need]]] = {}
    for need in run.generated.needs if run.generated is not None else ():
        table.setdefault(need.kind, {}).setdefault(need.name, {})[need.form] = need
    return table


def unneeded(run: Run) -> Iterator[tuple[str, list[str]]]:
    """Yield what no generated subject needs: a title, and the laws, members or scenarios.

    A law or a scenario is needed if it alone kills a subject in one of the forms, and a member if a subject dies that
    changes it.
    """
    table = needs(run)
    idle = {
        kind: {
            name: by_form
            for name, by_form in table.get(kind, {}).items()
            if not any(need.subjects if kind.endswith("member") else need.alone for need in by_form.values())
        }
        for kind in ("law", "member", "request member", "scenario")
    }
    written = {kill.law for kill in run.kills if [law for law, count in kill.by.items() if count] == [kill.law]}
    yield "laws that kill no generated subject alone", [name for name in idle["law"] if name in written]
    yield "laws that kill no subject alone, generated or written", [name for name in idle["law"] if name not in written]
    yield "members of answers that no generated subject needs", list(idle["member"])
    yield "members of requests that no generated subject needs", list(idle["request member"])
    guards = {name for name, by_form in idle["scenario"].items() if any(need.guards for need in by_form.values())}
    yield (
        "scenarios that kill no generated subject alone and guard a documented failure",
        [name for name in idle["scenario"] if name in guards],
    )
    yield (
        "scenarios that kill no generated subject alone and guard none",
        [name for name in idle["scenario"] if name not in guards],
    )
