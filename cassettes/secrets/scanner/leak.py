"""The scanner's findings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Leak:
    """Something that looks like a secret, and its location, but not the secret itself.

    ``interaction`` counts from 1; 0 means outside the interactions. ``part``: "request.body", "response.headers", ….
    ``path``: leads to the value inside the part. ``excerpt``: the secret's beginning and its length.
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
    """Return enough to find a secret but not to use it: at most four characters, and at most a fifth."""
    shown = secret[: min(4, len(secret) // 5)]
    return f"{shown}… ({len(secret)} characters)"
