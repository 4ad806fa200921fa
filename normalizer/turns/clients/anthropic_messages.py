"""Client for the wire `anthropic.messages`, over the `anthropic` SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import anthropic

from . import http
from .sdk import SdkClient


class Client(SdkClient):
    """See `toolparity.normalizer.turns.clients.client`. ``options``: the arguments of `anthropic.AsyncAnthropic`.

    To use beta features, pass ``default_headers={"anthropic-beta": …}``.
    """

    wire = "anthropic.messages"

    def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Send one request and yield the chunks of its answer, streamed unless the body sets ``stream``."""
        return http.response_chunks(self, self._sdk().messages, {"stream": True, **body}, anthropic.APIStatusError)

    def _create(self, options: dict[str, Any]) -> anthropic.AsyncAnthropic:
        return anthropic.AsyncAnthropic(**options)
