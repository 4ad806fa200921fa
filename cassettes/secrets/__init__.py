"""Secrets: the scrubber that takes them out of what is recorded."""

from __future__ import annotations

from .scrubber import Scrubbed, Scrubber

__all__ = ["Scrubbed", "Scrubber"]
