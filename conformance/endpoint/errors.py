"""Errors of a verification that cannot judge anything."""

from __future__ import annotations

from toolparity.normalizer.errors import ToolparityError


class EndpointFailed(ToolparityError):
    """The endpoint cannot be used: it is unreachable, refuses the key, or does not serve the wire at this address."""
