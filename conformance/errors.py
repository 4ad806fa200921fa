"""Errors of the conformance suite and its command line."""

from __future__ import annotations

from toolparity.normalizer.errors import ToolparityError


class UnknownSubject(ToolparityError, ValueError):
    """No object with this name exists, or it is not a subject."""


class InvalidAnswer(ToolparityError, ValueError):
    """A subject returned an invalid result."""


class InvalidBaseline(ToolparityError, ValueError):
    """A baseline, which is a file of expected failures, is invalid."""


class ReportNotWritten(ToolparityError, OSError):
    """A report could not be written."""
