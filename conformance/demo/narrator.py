"""A narrator for the emulated providers: it says what the model of the script would say after the same results."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, cast

from toolparity.cassettes.scripts import Round, Say, Script
from toolparity.normalizer.conversation import TextPart, User
from toolparity.normalizer.requests import read_request
from toolparity.normalizer.wires.registry import wire_name
from toolparity.turns.narration.narrator import NEXT
from toolparity.turns.provider import Provider


class ScriptLibrary(Mapping[str, Script]):
    """Scripts by id. More can be added while the providers play them in another thread."""

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        self._scripts = dict(scripts)

    def add(self, script: Script) -> None:
        """Add a script."""
        self._scripts = {**self._scripts, script.id: script}  # a copy, so that a running iteration is not disturbed

    def __getitem__(self, id: str) -> Script:
        return self._scripts[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scripts)

    def __len__(self) -> int:
        return len(self._scripts)


#: What the narrator says between two rounds of calls.
_REPORT = "The first results are here, and I am looking up the rest."


class NarratorScriptProvider:
    """A provider with a fixed text for the narrator. ``words``: its answer after the last round.

    The emulated provider has no script for the narrator's request, so this one adds a script before the request is
    sent.
    """

    def __init__(self, provider: Provider, library: ScriptLibrary, words: str) -> None:
        self.provider = provider
        self.wire = provider.wire
        self.name = provider.name
        self.model = provider.model
        self._library = library
        self._words = words

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Stream the text through the emulated provider."""
        user_text = _first_user_text(body, self.wire)
        words = _REPORT if NEXT in user_text else self._words
        id = "narrated-" + hashlib.sha256(f"{user_text}\0{words}".encode()).hexdigest()[:16]
        self._library.add(Script(id, "What a narrator says", [Round([Say(words)], user_text)]))
        async with aclosing(cast(AsyncGenerator[Any, None], self.provider.ask(body))) as pieces:
            async for piece in pieces:
                yield piece


def last_words(script: Script) -> str:
    """Return the text of the model after all results in a script; "" if there is none."""
    for round in reversed(script.rounds):
        words = "".join(part.text for part in round.parts if isinstance(part, Say))
        if words and not round.calls:
            return words
    return ""


def _first_user_text(body: Any, wire: str) -> str:
    user = next(turn for turn in read_request(body, wire_name(wire)).messages if isinstance(turn, User))
    return "".join(part.text for part in user.parts if isinstance(part, TextPart))
