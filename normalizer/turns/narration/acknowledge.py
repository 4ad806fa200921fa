"""Acknowledgements: one sentence for the user while the tools run, built from their waiting hints in call order.

    looking up your upcoming appointments, checking your billing
        -> Looking up your upcoming appointments and checking your billing.

`acknowledge` builds the sentence at once, without a model. `ModelAcknowledger` lets a model write it from the hints,
and uses the built sentence if the model fails. Pass either as ``Turn(…, acknowledge=…)``.

If the model's answer contains text besides its calls, the turn uses that text as the acknowledgement and calls neither.
Add `GUIDANCE` to the system prompt to make the model write such a text.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol

from ... import json_codec
from ...model import ToolCall
from ..execution.exceptions import described
from ..provider import Provider
from .text_stream import stream_text, text_request

_log = logging.getLogger(__name__)

#: Text for the system prompt of the model that calls tools, so that it acknowledges its calls itself.
GUIDANCE = (
    "Whenever you call tools, first write one short sentence for the user on what you are going to do, in the order of "
    "the calls, as in: Sure, I'll look up your appointments and check your billing. Promise no result."
)
#: The system prompt of a model that writes the sentence (`ModelAcknowledger`).
INSTRUCTIONS = (
    "A user asked for something, and these things are being done for them now. Write the one short sentence that a "
    "person would say before doing them, in the order given, as in: Sure, I'll look up your appointments and check "
    "your billing. Promise no result. Answer with the sentence alone, in the language of what is given."
)


class Hinted(Protocol):
    """The part of a tool that acknowledgements need: its ``waiting_hint``, or None."""

    @property
    def waiting_hint(self) -> str | None: ...


class ModelAcknowledger:
    """Lets a model write the acknowledgement: ``Turn(…, acknowledge=ModelAcknowledger(provider))``.

    The model gets the hints as JSON, in call order. If it fails, or takes more than ``patience`` seconds, `sentence`
    builds the text instead.
    """

    def __init__(self, provider: Provider, *, instructions: str = INSTRUCTIONS, patience: float = 3.0) -> None:
        self.provider = provider
        self.instructions = instructions
        self.patience = patience

    async def __call__(self, calls: Sequence[ToolCall], tools: Mapping[str, Hinted]) -> str | None:
        """Return the acknowledgement of these calls, or None if no tool has a hint. Errors of the model are logged."""
        hints = hints_of(calls, tools)
        if not hints:
            return None
        try:
            async with asyncio.timeout(self.patience):
                request = text_request(self.provider, self.instructions, json_codec.text({"hints": hints}))
                async with aclosing(stream_text(self.provider, request)) as texts:
                    return "".join([text async for text in texts]).strip()
        except Exception as error:
            _log.warning("the model failed to write the acknowledgement: %s", described(error))
            return sentence(hints)


def acknowledge(calls: Sequence[ToolCall], tools: Mapping[str, Hinted]) -> str | None:
    """Return the acknowledgement of these calls, or None if no tool has a hint."""
    return sentence(hints_of(calls, tools))


def hints_of(calls: Iterable[ToolCall], tools: Mapping[str, Hinted]) -> list[str]:
    """Return the waiting hints of the called tools in call order, without duplicates and final punctuation."""
    hints: dict[str, str] = {}
    for call in calls:
        hint = tools[call.name].waiting_hint if call.name in tools else None
        phrase = " ".join((hint or "").split()).strip(" .…!,;:")
        if phrase:
            hints.setdefault(phrase.casefold(), phrase)
    return list(hints.values())


def sentence(hints: Sequence[str]) -> str | None:
    """Return one sentence that lists the hints, or None if there are none.

    >>> sentence(["looking up your order", "Checking its status"])
    'Looking up your order and checking its status.'
    """
    if not hints:
        return None
    first, *others = hints
    return listed([first[0].upper() + first[1:], *map(_lowered, others)]) + "."


def listed(phrases: Sequence[str]) -> str:
    """Join the phrases as a list in a sentence. Two phrases get a comma if one of them contains a list itself."""
    *others, last = phrases
    if not others:
        return last
    has_inner_list = any(" and " in phrase or "," in phrase for phrase in phrases)
    return f"{', '.join(others)}{',' if len(others) > 1 or has_inner_list else ''} and {last}"


def _lowered(phrase: str) -> str:
    """Return the phrase without a capital letter at its beginning, unless it begins with an abbreviation."""
    return phrase[0].lower() + phrase[1:] if phrase[1:2].islower() else phrase
