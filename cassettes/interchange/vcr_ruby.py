"""Cassettes of VCR for Ruby, and for R in the same notation (lib/vcr/structs.rb of VCR 6).

Methods are written in lower case and times as HTTP dates, as VCR does. A body that is not UTF-8 is written under
``base64_string``, which VCR reads whatever `preserve_exact_body_bytes` says.
"""

from __future__ import annotations

from typing import Any

from ..library.writing import dump
from . import http_interactions
from .members import http_date
from .model import CassetteContent

NAME = "vcr-ruby"
SUFFIX = ".yml"
items = http_interactions.items

_RECORDER = "VCR 6.4.0"


def recognizes(data: Any) -> bool:
    """Return whether this is the top of a cassette of VCR."""
    recorder = http_interactions.recorded_with(data)
    return recorder is not None and not recorder.startswith("betamax/")


def read(data: Any) -> CassetteContent:
    """Return the content of a parsed file. Raises UnreadableSource."""
    return http_interactions.read(data, NAME, _RECORDER)


def write(content: CassetteContent) -> bytes:
    """Return the text of a file."""
    return dump(http_interactions.write(content, NAME, _RECORDER, str.lower, http_date))
