"""The wait before a retry that a provider demands, read from response headers and attached to an error response."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

from toolparity.normalizer.headers import pairs_of, rate_limits, with_rate_limits
from toolparity.normalizer.model import Response

_KEY = "retry_after"


def with_retry_after(response: Response, headers: Any) -> Response:
    """Attach the wait that these headers demand, and the rate limits in them, to an error response, and return it.

    The wait is not part of the canonical form. A `Turn` reads it with `demanded`.
    """
    response = with_rate_limits(response, rate_limits(headers))
    seconds = retry_after(headers)
    if seconds is not None:
        response.__dict__[_KEY] = seconds
    return response


def demanded(source: Response | BaseException) -> float | None:
    """Return the wait in seconds that an error response or an SDK's exception demands, or None."""
    if isinstance(source, Response):
        seconds: float | None = source.__dict__.get(_KEY)
        return seconds
    return retry_after(headers_of(source))


def headers_of(error: BaseException) -> Any:
    """Return the headers of the response for which an SDK raised this exception, None if it has none."""
    try:
        answer = getattr(error, "response", None)
        headers = getattr(answer if answer is not None else error, "headers", None)
        if headers is None and hasattr(error, "trailing_metadata"):
            headers = error.trailing_metadata()  # gRPC
        return pairs_of(headers)
    except Exception:  # a property raised
        return None


def retry_after(headers: Any, now: Callable[[], float] = time.time) -> float | None:
    """Return the wait in seconds that response headers demand, or None if they demand none or are invalid.

    ``headers``: a mapping or pairs; the case of names is ignored. ``grpc-retry-pushback-ms`` and ``retry-after-ms``
    (OpenAI, Azure) take precedence over ``retry-after``, which is a number of seconds or an HTTP date (RFC 9110,
    10.2.3). A date is relative to the server's ``date`` header, or to ``now`` without one. A negative pushback forbids
    a retry and returns infinity.
    """
    values = pairs_of(headers)
    pushback = _number(values.get("grpc-retry-pushback-ms"))
    if pushback is not None:
        return pushback / 1000 if pushback >= 0 else math.inf
    milliseconds = _number(values.get("retry-after-ms"))
    if milliseconds is not None and milliseconds >= 0:
        return milliseconds / 1000
    value = values.get("retry-after")
    seconds = _number(value)
    if seconds is None and value is not None:
        until, since = _date(value), _date(values.get("date"))
        seconds = max(0.0, until - (since if since is not None else now())) if until is not None else None
    return seconds if seconds is not None and seconds >= 0 else None


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else None
    except ValueError:
        return None
    return number if number is not None and math.isfinite(number) else None


def _date(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text is not None else None
    except (ValueError, OverflowError):
        return None
