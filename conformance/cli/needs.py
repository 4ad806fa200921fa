"""The report of a run about the needs of a coding agent."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import click

from toolparity.reports.results import KEPT, Result, Run

from ..clients import SO

if TYPE_CHECKING:
    from ..clients.table import CodingAgent


def show(run: Run, agent: CodingAgent) -> None:
    """Print how many needs the gateway meets, and what is known about each missing one."""
    judged = [result for result in run.results if result.verdicts[0].outcome != "unsupported"]
    met = sum(result.verdicts[0].outcome in KEPT for result in judged)
    verdict = "works through this gateway" if met == len(judged) else "misses something in this gateway"
    click.echo(f"{agent.title} {agent.version} {verdict}: it meets {met} of {len(judged)} needs")
    missing = [result for result in run.results if result.verdicts[0].outcome not in KEPT]
    titles = {scenario.id: scenario.title for scenario in run.scenarios}
    for _, group in groupby(missing, key=_seen):
        results = list(group)
        click.echo()
        for result in results:
            outcome = result.verdicts[0].outcome
            click.echo(f"{result.scenario}: {titles[result.scenario]}" + f" ({outcome})" * (outcome != "fail"))
        _details(results)


def _seen(result: Result) -> tuple[str, str, str]:
    verdict = result.verdicts[0]
    return verdict.reason.partition(SO)[0], verdict.expected, verdict.got


def _details(results: list[Result]) -> None:
    reason, wanted, got = _seen(results[0])
    rows = [("what", reason), ("sent", wanted), ("seen", got)]
    rows += [("so", consequence) for consequence in dict.fromkeys(_consequence(result) for result in results)]
    for name, text in [*rows, ("again", results[0].repeat), ("direct", results[0].direct)]:
        if text:
            click.echo(f"  {name:<7}{text}")


def _consequence(result: Result) -> str:
    return result.verdicts[0].reason.partition(SO)[2].partition(" (expected: ")[0]
