"""Cassettes of Betamax for requests (betamax/util.py and betamax/cassette of Betamax 0.9).

Betamax's JSON has the same members as VCR's YAML. Betamax needs ``encoding`` beside ``string``, and times without a
zone.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from . import http_interactions
from .model import CassetteContent

NAME = "betamax"
SUFFIX = ".json"
items = http_interactions.items

_RECORDER = "betamax/0.9.0"


def recognizes(data: Any) -> bool:
    """Return whether this is the top of a cassette of Betamax."""
    return (http_interactions.recorded_with(data) or "").startswith("betamax/")


def read(data: Any) -> CassetteContent:
    """Return the content of a parsed file. Raises UnreadableSource."""
    return http_interactions.read(data, NAME, _RECORDER)


def write(content: CassetteContent) -> bytes:
    """Return the text of a file."""
    members = http_interactions.write(content, NAME, _RECORDER, str.upper, _time)
    for item in members["http_interactions"]:
        item["response"].setdefault("url", item["request"]["uri"])
    return json.dumps(members, indent=2, ensure_ascii=False).encode()


def _time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S")
