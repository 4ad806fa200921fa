"""Errors of the audit."""

from __future__ import annotations

from toolparity.normalizer.errors import ToolparityError


class InvalidPart(ToolparityError, ValueError):
    """A part file of an audit is invalid, or does not fit the other ones."""
