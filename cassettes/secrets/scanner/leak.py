"""What the scanner reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Leak:
    """Something that looks like a secret, and where; never the secret itself.

    ``interaction`` counts from 1 (0: beside the interactions), ``part`` is "request.body", "response.headers", …,
    ``path`` leads to the value inside, ``excerpt`` is its beginning and its length.
    """

    kind: str
    interaction: int
    part: str
    path: str
    excerpt: str

    def __str__(self) -> str:
        place = f"interaction {self.interaction}, {self.part}" if self.interaction else self.part
        inside = f" at {self.path}" if self.path else ""
        return f"{self.kind} in {place}{inside}: {self.excerpt}"


def masked(secret: str) -> str:
    """Enough to find it, not enough to use it: at most four characters, and never more than a fifth."""
    shown = secret[: min(4, len(secret) // 5)]
    return f"{shown}… ({len(secret)} characters)"
