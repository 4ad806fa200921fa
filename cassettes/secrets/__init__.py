"""Secret removal: the scrubber replaces secrets in recorded traffic, the scanner refuses what still contains one.

Usage:

    scrubber = Scrubber()                  # vcrpy's hooks: before_record_request, before_record_response
    clean = scrubber.cassette(cassette)    # the whole cassette before it is written; scrubber.report lists the counts
    refuse(clean, where=path)              # raises SecretsLeft; scan(clean) returns the leaks as a list
"""

from __future__ import annotations

from .scanner import SecretLeak, refuse, scan
from .scrubber import Scrubber, ScrubReport

__all__ = ["SecretLeak", "ScrubReport", "Scrubber", "refuse", "scan"]
