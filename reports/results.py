"""What a run of the suite found, as data: written once, read by every report.

Knows nothing of how it was found; the JSON of `Run` is published as `reports/results.schema.json`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from normalizer import jsontext

Outcome = Literal["pass", "fail", "expected", "unsupported", "error", "stale"]

#: What each outcome means; the order is that of reports, worst first.
OUTCOMES: dict[str, str] = {
    "error": "The harness could not tell: a fault of its own or of its input.",
    "fail": "The subject breaks the law.",
    "stale": "A failure that was expected did not come: the baseline is out of date.",
    "expected": "The subject breaks the law, as the baseline says.",
    "unsupported": "The subject does not claim what the law needs.",
    "pass": "The subject keeps the law.",
}


class Verdict(Struct, frozen=True, omit_defaults=True):
    """One law, in one case, of one subject. ``surface``: one provider on one wire.

    ``reason``, ``expected`` and ``got`` tell of the first place where it was broken (``round`` from 0); ``repeat`` is
    the command that runs just this case; ``excerpt`` the beginning of what stood on the wire.
    """

    subject: str
    scenario: str
    surface: str
    mode: str
    policy: str
    check: str
    outcome: Outcome
    level: str = "must"
    reason: str = ""
    round: int | None = None
    expected: str = ""
    got: str = ""
    excerpt: str = ""
    repeat: str = ""

    @property
    def case(self) -> str:
        """The case as pytest shows it."""
        return f"{self.scenario}[{self.surface}-{self.mode}-{self.policy}]"


class Tested(Struct, frozen=True, omit_defaults=True):
    """A subject: what was tested, in which version, and what it claims."""

    name: str
    version: str
    claims: list[str] = []
    note: str = ""


class Source(Struct, frozen=True, omit_defaults=True):
    """Where evidence comes from: a cassette, or a body that stands beside its scenario (origin "written")."""

    path: str
    origin: str
    date: str = ""
    provider: str = ""
    model: str = ""
    sdk: str = ""


class Run(Struct, frozen=True, omit_defaults=True):
    """One run. ``date``: ISO 8601, of its beginning. ``seconds``: how long it took."""

    toolparity: str
    date: str
    environment: dict[str, str]
    subjects: list[Tested]
    verdicts: list[Verdict]
    sources: list[Source] = []
    seconds: float = 0.0

    def count(self, *outcomes: str) -> int:
        """How many verdicts are of these outcomes."""
        return sum(verdict.outcome in outcomes for verdict in self.verdicts)


def write(run: Run) -> bytes:
    """The run as JSON, one member a line at the top, the same bytes for the same run."""
    return msgspec.json.format(jsontext.encode(run), indent=1) + b"\n"


def read(data: bytes) -> Run:
    """The inverse. Raises msgspec.ValidationError for what is no run."""
    return msgspec.json.decode(data, type=Run)


def tally(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Outcome -> how many, worst first."""
    counts = dict.fromkeys(OUTCOMES, 0)
    for verdict in verdicts:
        counts[verdict.outcome] += 1
    return counts


def brief(value: Any, most: int = 400) -> str:
    """Anything as a short text for a verdict."""
    text = value if isinstance(value, str) else jsontext.text(value)
    return text if len(text) <= most else text[: most - 1] + "…"
