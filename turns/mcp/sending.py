"""The sending of one call, which the transport reports to the call: the SDK sends a request in the caller's context."""

from __future__ import annotations

from contextvars import ContextVar


class Sending:
    """``is_unsent``: the transport could not connect, so the server has not received the call."""

    def __init__(self) -> None:
        self.is_unsent = False


current_sending: ContextVar[Sending | None] = ContextVar("current_sending", default=None)
