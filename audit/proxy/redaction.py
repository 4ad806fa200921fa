"""Removal of secrets from judgements and recordings, by the rules of recordings."""

from __future__ import annotations

from typing import Any

import msgspec

from toolparity.cassettes.secrets import Scrubber

from .copies import ExchangeCopy
from .headers import text_lists
from .judgement import Judgement, without_surrogates

#: After how many exchanges the credentials of earlier ones are forgotten. Each exchange brings its own, and those of
#: all exchanges would fill the memory.
_FORGOTTEN_AFTER = 50


class Redactor:
    """Redacts what leaves a worker. It also finds secrets that only the header fields of an exchange show."""

    def __init__(self) -> None:
        self._scrubber = Scrubber()
        self._exchanges = 0
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(Judgement).decode

    def judgement(self, judgement: Judgement, copy: ExchangeCopy) -> Judgement:
        """Return a judgement without secrets. Raises msgspec.DecodeError if nothing readable is left of it."""
        try:
            text = self._encode(judgement).decode()
        except UnicodeEncodeError:
            text = self._encode(without_surrogates(judgement)).decode()
        # As one text: each text that is scrubbed takes time.
        clean = self._scrubbed({"interactions": [_head(copy)], "judgement": text})
        return self._decode(clean["judgement"])

    def interaction(self, interaction: dict[str, Any]) -> dict[str, Any]:
        """Return an interaction of a cassette without secrets."""
        clean = self._scrubbed({"interactions": [interaction]})["interactions"]
        return dict(clean[0])

    def _scrubbed(self, content: dict[str, Any]) -> dict[str, Any]:
        self._exchanges += 1
        if self._exchanges % _FORGOTTEN_AFTER == 0:
            self._scrubber = Scrubber()
        return self._scrubber.cassette(content)


def _head(copy: ExchangeCopy) -> dict[str, Any]:
    """Return address and header fields of an exchange as an interaction of a cassette."""
    return {
        "request": {"method": copy.method, "uri": copy.url, "headers": text_lists(copy.request_headers)},
        "response": {"headers": text_lists(copy.response_headers)},
    }
