"""Messages through the `anthropic` SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import anthropic

from . import http
from .sdk import SdkClient


class Client(SdkClient):
    """See `toolparity.normalizer.turns.clients.client`. ``options``: what `anthropic.AsyncAnthropic` takes.

    Betas go into ``default_headers``: ``{"anthropic-beta": …}``.
    """

    wire = "anthropic.messages"

    def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Streamed, unless the body says otherwise."""
        return http.pieces(self, self._sdk().messages, {"stream": True, **body}, anthropic.APIStatusError)

    def _make(self, options: dict[str, Any]) -> anthropic.AsyncAnthropic:
        return anthropic.AsyncAnthropic(**options)
