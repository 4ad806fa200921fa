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
        self._heads: set[tuple[Any, ...]] = set()  # of the requests whose credentials the scrubber has learned
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(Judgement).decode

    def judgement(self, judgement: Judgement, copy: ExchangeCopy) -> Judgement:
        """Return a judgement without secrets. Raises msgspec.DecodeError if nothing readable is left of it."""
        try:
            text = self._encode(judgement).decode()
        except UnicodeEncodeError:
            text = self._encode(without_surrogates(judgement)).decode()
        # As one text, and without the same header section again: each text that is scrubbed takes time.
        fields = (field for field in copy.request_headers if field[0].lower() != b"content-length")
        head = copy.method, copy.url, *fields
        scrubber = self._next()
        if head in self._heads:
            scrubber.learn_from({"headers": text_lists(copy.response_headers)})
        else:
            self._heads.add(head)
            scrubber.cassette({"interactions": [_head(copy)]})
        return self._decode(scrubber.text(text))

    def interaction(self, interaction: dict[str, Any]) -> dict[str, Any]:
        """Return an interaction of a cassette without secrets."""
        return dict(self._next().cassette({"interactions": [interaction]})["interactions"][0])

    def _next(self) -> Scrubber:
        """Return the scrubber for the next exchange."""
        self._exchanges += 1
        if self._exchanges % _FORGOTTEN_AFTER == 0:
            self._scrubber = Scrubber()
            self._heads.clear()
        return self._scrubber


def _head(copy: ExchangeCopy) -> dict[str, Any]:
    """Return address and header fields of an exchange as an interaction of a cassette."""
    return {
        "request": {"method": copy.method, "uri": copy.url, "headers": text_lists(copy.request_headers)},
        "response": {"headers": text_lists(copy.response_headers)},
    }
