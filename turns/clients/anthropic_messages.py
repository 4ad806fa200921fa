"""Client for the wire `anthropic.messages`, over the `anthropic` SDK."""

from __future__ import annotations

from typing import Any

import anthropic

from .http import HttpClient


class Client(HttpClient):
    """See `toolparity.turns.clients.client`. ``options``: the arguments of `anthropic.AsyncAnthropic`.

    To use beta features, pass ``default_headers={"anthropic-beta": …}``.
    """

    wire = "anthropic.messages"
    status_error = anthropic.APIStatusError

    def _resource(self) -> Any:
        return self._sdk().messages

    def _create(self, options: dict[str, Any]) -> anthropic.AsyncAnthropic:
        return anthropic.AsyncAnthropic(**options)
