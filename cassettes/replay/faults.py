"""Faults that a request can order: what a provider, a gateway or a network does wrong.

    x-toolparity-fault: status=429; retry-after=2; times=1          a header, or the metadata of a gRPC call
    http://127.0.0.1:PORT/fault/cut=1200/openai/v1                  a part of the base URL

`FAULTS` lists them. One of the failures (`Option.failure`) can be combined with any of the other options.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..chunking import events
from ..errors import InvalidFault

HEADER = "x-toolparity-fault"


class Option(NamedTuple):
    """One option of a fault. ``least``, ``most``: the range of its value. ``default``: its value without ``=``.

    ``failure``: a fault has at most one of these. ``effect``: the answer that it gives, for the documentation.
    """

    least: float
    most: float
    default: float | None
    failure: bool
    effect: str


_BYTES = 1 << 40
_SECONDS = 3_600
FAULTS: dict[str, Option] = {
    "status": Option(400, 599, None, True, "the provider's own error with this status, in its own format"),
    "html": Option(
        400, 599, 502, True, "an HTML page with this status, as gateways send (gRPC: the status UNAVAILABLE)"
    ),
    "empty": Option(0, 0, 0, True, "status 200 and a body without a byte (gRPC: an empty message, or no message)"),
    "malformed": Option(
        1,
        _BYTES,
        1,
        True,
        "the JSON of the Nth event, or of a plain body, is damaged; in an AWS event stream its checksum fails, and "
        "a gRPC message cannot be parsed",
    ),
    "end": Option(
        0, _BYTES, 0, True, "the body ends after N bytes, and the transfer is complete: nothing else shows it"
    ),
    "cut": Option(0, _BYTES, 0, True, "the connection is closed after N bytes of the body, without its end"),
    "reset": Option(
        0, _BYTES, 0, True, "the connection is reset (TCP RST) after N bytes of the body; with 0, before the response"
    ),
    "hang": Option(
        0,
        _BYTES,
        0,
        True,
        "nothing more is sent after N bytes of the body, and the connection stays open; with 0, nothing is sent",
    ),
    "delay": Option(0, _SECONDS, None, False, "wait N seconds before the response"),
    "slow": Option(0, _SECONDS, None, False, "wait N seconds before each piece of the body, or each message"),
    "retry-after": Option(0, 1e9, None, False, "the header `retry-after` of the error, in seconds"),
    "times": Option(
        1, 1e9, 1, False, "only the first N equal requests get the fault, so that a client's retry succeeds"
    ),
}
#: A failure after which HTTP has no complete response.
TRANSPORT = frozenset(("end", "cut", "reset", "hang"))


class Fault(NamedTuple):
    """A fault. ``failure``, ``value``: the name and value of its failure, None and 0 without one."""

    text: str
    failure: str | None = None
    value: int = 0
    delay: float = 0.0
    slow: float = 0.0
    retry_after: int | None = None
    times: int | None = None

    def is_(self, *failures: str) -> bool:
        """Return whether the failure is one of these."""
        return self.failure in failures


def parse(text: str) -> Fault:
    """Parse a fault, such as ``status=429; retry-after=2``. Raises InvalidFault."""
    values: dict[str, float] = {}
    for item in text.replace(",", ";").split(";"):
        name, separator, value = (part.strip() for part in item.partition("="))
        if not name and not separator:
            continue
        if name in values:
            raise InvalidFault(f"the option {name} is duplicated", where=text)
        values[name] = _value(name, value if separator else None, text)
    if not values:
        raise InvalidFault("the fault is empty", where=text)
    failures = [name for name in values if FAULTS[name].failure]
    if len(failures) > 1:
        raise InvalidFault(f"a fault has one failure: got {' and '.join(failures)}", where=text)
    failure = failures[0] if failures else None
    retry_after, times = values.get("retry-after"), values.get("times")
    return Fault(
        text,
        failure,
        int(values[failure]) if failure else 0,
        values.get("delay", 0.0),
        values.get("slow", 0.0),
        None if retry_after is None else int(retry_after),
        None if times is None else int(times),
    )


def _value(name: str, text: str | None, where: str) -> float:
    option = FAULTS.get(name)
    if option is None:
        raise InvalidFault(f"unknown fault: {name!r}", where=where, hint=f"one of {', '.join(FAULTS)}")
    if text is None:
        if option.default is None:
            raise InvalidFault(f"the fault {name} needs a value: {name}=N", where=where)
        return option.default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not option.least <= value <= option.most:
        what = f"the value of {name} must be a number from {option.least:g} to {option.most:g}, got {text!r}"
        raise InvalidFault(what, where=where)
    if name not in ("delay", "slow") and value != int(value):
        raise InvalidFault(f"the value of {name} must be a whole number, got {text!r}", where=where)
    return value


class FaultCounter:
    """Counts equal requests with a fault, for ``times``."""

    def __init__(self) -> None:
        self._seen: Counter[bytes] = Counter()
        self._lock = threading.Lock()

    def applies(self, fault: Fault, request: Iterable[bytes]) -> bool:
        """Return whether the request gets the fault. ``request``: what identifies it, such as its path and body."""
        if fault.times is None:
            return True
        digest = hashlib.sha256(fault.text.encode())
        for part in request:
            digest.update(b"\0%d\0" % len(part) + part)
        with self._lock:
            self._seen[digest.digest()] += 1
            return self._seen[digest.digest()] <= fault.times


def spoiled(body: bytes, fault: Fault, *, streamed: bool) -> bytes:
    """Return a body as a fault orders it: without a byte, damaged, or unchanged."""
    if fault.is_("empty"):
        return b""
    if not fault.is_("malformed"):
        return body
    parts = events(body) if streamed else [body]
    at = min(fault.value, len(parts)) - 1
    parts[at] = damaged(parts[at])
    return b"".join(parts)


def damaged(piece: bytes) -> bytes:
    """Return a piece of a body with one other byte: the last brace, or else the last byte. The length is the same."""
    at = piece.rfind(b"}")
    at = at if at >= 0 else len(piece) - 1
    return piece[:at] + b"~" + piece[at + 1 :] if piece else piece


def kind_of(status: int) -> str:
    """Return the kind of the provider's error (`emulated.script_player.ProviderRefusal`) with an HTTP status."""
    return _KINDS.get(status, "server_error" if status >= 500 else "invalid_request")


_KINDS: Mapping[int, str] = {
    401: "authentication",
    403: "authentication",
    404: "not_found",
    429: "rate_limit",
    503: "overloaded",
    529: "overloaded",
}
