"""Secrets: the scrubber takes them out of what is recorded, the scanner refuses what still holds one.

scrubber = Scrubber()                       # vcrpy's hooks: before_record_request, before_record_response
clean = scrubber.cassette(cassette)         # the whole of it, before it is written; scrubber.report says what was done
refuse(clean, where=path)                   # raises SecretsLeft; scan(clean) gives the leaks as a list
"""

from __future__ import annotations

from .scanner import Leak, refuse, scan
from .scrubber import Scrubbed, Scrubber

__all__ = ["Leak", "Scrubbed", "Scrubber", "refuse", "scan"]
