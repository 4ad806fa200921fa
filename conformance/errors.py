"""Errors of the conformance suite and its command line."""

from __future__ import annotations

from typing import ClassVar

from toolparity.normalizer.errors import ToolparityError
from toolparity.reports.results import Effect


class UnknownSubject(ToolparityError, ValueError):
    """No object with this name exists, or it is not a subject."""


class InvalidAnswer(ToolparityError, ValueError):
    """A subject returned an invalid result. ``effect``: that of the failure."""

    effect: ClassVar[Effect] = "misreported"


class InvalidRequest(InvalidAnswer):
    """A subject returned a request that is not a JSON object."""

    effect = "malformed"


class RefusedRequest(InvalidAnswer):
    """A subject raised an error instead of writing a request."""

    effect = "refused"


class UnstableAnswer(InvalidAnswer):
    """A subject gave two different answers to the same input."""

    effect = "altered"


class InvalidBaseline(ToolparityError, ValueError):
    """A baseline, which is a file of expected failures, is invalid."""


class InvalidRunState(ToolparityError, ValueError):
    """A file does not have the state of this run."""
