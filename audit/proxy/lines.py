"""Judgements as lines: readable text for findings, or JSON for everything. See `judgement.shown` for their texts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from .judgement import Judgement

#: Endings that are worth a line without a finding.
_BROKEN = {
    "client-left": "the client left before the end of the response",
    "upstream-broke": "the upstream broke off the response",
    "unreached": "no response from the upstream",
    "proxy-stopped": "the proxy was stopped before the end of the response",
}


class TextLines:
    """Writes one line for each finding, each break and each exchange of a known wire that was not judged."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def __call__(self, judgement: Judgement) -> None:
        time = datetime.fromtimestamp(judgement.started).strftime("%H:%M:%S")
        place = f"{time} #{judgement.number} {judgement.method} {judgement.path}"
        if judgement.model:
            place += f" {judgement.model}"
        if judgement.ending in _BROKEN:
            self._write(f"{place}: {_BROKEN[judgement.ending]}")
        if judgement.unjudged not in (None, "unknown-wire", "no-answer"):
            passed = f" ({judgement.sent} messages sent, {judgement.received} received)"
            messages = "" if judgement.sent is None else passed
            self._write(f"{place}: not judged: {judgement.unjudged}{messages}")
        for finding in judgement.findings:
            if finding.severity != "info":
                about = "" if finding.exchange is None else f" (response of #{finding.exchange})"
                self._write(f"{place}: {finding.severity}: {finding.code}: {finding.message}{about}")
        for revoked in judgement.revoked:
            self._write(f"{place}: revokes {revoked.code} of #{revoked.number}: {revoked.call_id} is answered here")


class JsonLines:
    """Writes every judgement as a line of JSON."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._encode = msgspec.json.Encoder().encode

    def __call__(self, judgement: Judgement) -> None:
        self._write(self._encode(judgement).decode())
