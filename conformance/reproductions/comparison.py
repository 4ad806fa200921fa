"""Compares what a script printed with the failure that the results state."""

from __future__ import annotations

from .failure import Failure
from .output import Output
from .same import same_calls
from .topics import topic_of


def confirms(failure: Failure, output: Output) -> bool:
    """Return whether a script failed as the results state."""
    stated = _stated_error(failure)
    if output.error or stated:
        return output.raised(stated) and (bool(output.error) or _has_calls(output, failure.report.calls))
    return topic_of(failure).confirms(failure, output)


def _has_calls(output: Output, stated: list[str]) -> bool:
    """Return whether a script that reported an error and continued printed these calls or runs."""
    return same_calls(output.runs() if "ran" in output.values else output.calls(), stated)


def _stated_error(failure: Failure) -> str:
    """Return the error that a failure is about, or "": a script that ends with another one confirms nothing.

    A failure that is about missing calls beside an error states no error. An agent that refused its second request has
    the error in the verdict.
    """
    if not failure.is_refusal:
        return ""
    return failure.verdict.got if failure.verdict.check == "answered" else failure.report.error
