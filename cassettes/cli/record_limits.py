"""The options of `toolparity record` that limit a run, show it before it starts, and confirm what it replaces."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from toolparity.reports.terminal import Lines, Section, StyledText, Table, Value

from ..scripts import Script
from ..surfaces import Surface
from . import console

if TYPE_CHECKING:
    from ..recorder.budget import Budget
    from ..recorder.diff import RecordingChange
    from ..recorder.record import Confirm

#: How many differences of one level are shown before a cassette is replaced.
_MOST_CHANGES = 15
_HEADINGS = {"shape": "the shape changes", "values": "values change", "words": "words change"}

_OPTIONS = (
    click.option("--max-calls", type=click.IntRange(1), metavar="N", help="Send N requests at most."),
    click.option(
        "--max-cost",
        type=click.FloatRange(0, min_open=True),
        metavar="AMOUNT",
        help="Spend at most this amount, in the currency of the prices. Needs --prices.",
    ),
    click.option(
        "--prices",
        "price_file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help='A TOML file with a table for each model, such as ["gpt-5-mini*"]: input and output, for a million '
        "tokens, and cached_input and cache_write if they differ.",
    ),
    click.option("--dry-run", is_flag=True, help="Show the requests, tokens and costs to expect, and send nothing."),
    click.option("--yes", is_flag=True, help="With --live: replace cassettes without asking."),
)


class RecordingJob(NamedTuple):
    """One cassette to record."""

    script: Script
    surface: Surface
    stream: bool

    @property
    def name(self) -> str:
        return f"{self.script.id} on {self.surface.name}, {'streamed' if self.stream else 'plain'}"


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def budget(
    jobs: Sequence[RecordingJob], model: str | None, max_calls: int | None, max_cost: float | None, prices: Path | None
) -> Budget:
    """Return the budget of a run. Raises click.UsageError for a cost without prices, and InvalidPrices."""
    from ..recorder.budget import Budget, read_prices

    if max_cost is not None and prices is None:
        raise click.UsageError("--max-cost needs --prices FILE: this program knows no prices")
    limits = Budget(max_calls, max_cost, read_prices(prices) if prices is not None else {})
    models = sorted({model or job.surface.model_of(job.script) for job in jobs})
    without = [name for name in models if limits.prices_of(name) is None]
    if max_cost is not None and without:
        raise click.UsageError(f"--prices {prices}: no table fits {', '.join(without)}; * is a wildcard in its name")
    return limits


def planned(plans: Sequence[tuple[RecordingJob, str]], model: str | None, limits: Budget) -> list[Section]:
    """Return what a run would send. ``plans``: each job with "record", "replace" or "keep"."""
    from ..recorder.estimate import estimate

    rows: list[list[Value]] = []
    requests = sent = received = 0
    cost, unpriced = 0.0, False
    for job, action in plans:
        if action == "keep":
            rows.append([job.name, "keep", 0, 0, 0])
            continue
        needed = estimate(job.script, job.surface, stream=job.stream, model=model)
        rows.append([job.name, action, *needed])
        requests, sent, received = (
            requests + needed.requests,
            sent + needed.input_tokens,
            received + needed.output_tokens,
        )
        expected = limits.cost_of(model or job.surface.model_of(job.script), needed)
        unpriced = unpriced or expected is None
        cost += expected or 0.0
    lines = [
        (StyledText("requests"), f"{requests:,}"),
        (
            StyledText("tokens"),
            f"about {sent:,} of input and {received:,} of output; models may answer at greater length",
        ),
        (StyledText("cost"), "unknown without --prices for each model" if unpriced else f"about {cost:.4f}"),
    ]
    columns = ["cassette", "what", "requests", "input tokens", "output tokens"]
    return [Table("Cassettes to record", columns, rows, 2), Lines("Nothing was sent", lines)]


def confirmation(
    plans: Sequence[tuple[RecordingJob, str]], *, live: bool, yes: bool, progress: console.ProgressBar
) -> Confirm | None:
    """Return the function that asks before a cassette is replaced; None if nothing must be asked.

    Raises click.UsageError, before anything is sent and charged, if it cannot ask on a terminal.
    """
    if not live:
        return None
    replaced = [job.name for job, action in plans if action == "replace"]
    if replaced and not yes and not sys.stdin.isatty():
        more = f" and {len(replaced) - 1} more" if len(replaced) > 1 else ""
        raise click.UsageError(
            f"it would replace the cassette {replaced[0]}{more}, and standard input is not a terminal; pass --yes, or "
            "run it in a terminal, where each difference is shown first"
        )

    def confirm(path: Path, changes: list[RecordingChange]) -> bool:
        for line in changes_by_level(changes):
            progress.note(line)
        return yes or click.confirm(f"Replace {path}?", default=False, err=True)

    return confirm


def changes_by_level(changes: Sequence[RecordingChange]) -> list[str]:
    """Return the differences as lines: those that break programs first, then values, then words."""
    lines = []
    for level, heading in _HEADINGS.items():
        of_level = [change for change in changes if change.level == level]
        if of_level:
            lines.append(f"  {heading} ({len(of_level)}):")
            lines += [f"    {change}" for change in of_level[:_MOST_CHANGES]]
        if len(of_level) > _MOST_CHANGES:
            lines.append(f"    and {len(of_level) - _MOST_CHANGES} more")
    return lines or ["  only ids, times and signatures change"]
