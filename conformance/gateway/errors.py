"""Errors of a run through a gateway."""

from __future__ import annotations

from toolparity.normalizer.errors import ToolparityError

from ..errors import UnstableAnswer


class GatewayFailed(ToolparityError):
    """The gateway, its configuration or the upstream's address cannot be used. Nothing can be judged."""


class NotJudged(ToolparityError):
    """A case cannot be judged through this gateway. The message says why."""


class NotStreamed(UnstableAnswer):
    """The client asked for a stream, and the gateway asked the upstream for a plain response."""
