"""Acknowledgements: one sentence for the user while the tools run, built from their waiting hints in call order.

    looking up your upcoming appointments, checking your billing
        -> Sure, I'll look up your upcoming appointments and check your billing.
    checking your next appointment
        -> Let me check your next appointment.

`acknowledge` builds the sentence at once, without a model. `Writer` lets a model write it from the hints, and uses the
built sentence if the model fails. Pass either as ``Turn(…, acknowledge=…)``.

If the model's answer contains text besides its calls, the turn uses that text as the acknowledgement and calls neither.
Add `GUIDANCE` to the system prompt to make the model write such a text.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol

from ... import json_codec
from ...model import ToolCall
from ..execution.exception_text import described
from ..gerunds import base, before_noun, starts_verb, word_set
from ..provider import Provider
from .text_stream import asked, saying

_log = logging.getLogger(__name__)

_ONE = "Let me {}."
_MANY = "Sure, I'll {}."
#: For a hint that is neither a gerund phrase nor a sentence.
_OTHER = "One moment: {}."

_LEADS = re.compile(r"(?:i['’]?m|i am|we['’]?re|we are|now|currently|just|still|please wait,?)\s+", re.IGNORECASE)  # noqa: RUF001
_ENDS = " \t\n.…!,;:"
_ADVERBS = frozenset(("also", "first", "then", "now", "next", "again"))
_LINKS = frozenset(("and", "or", "then", "&"))
#: Words that start the rest of a phrase that is not an object. Such a phrase cannot share its verb with another.
_PARTICLES = word_set(
    """about above across after against along among around as at away back before behind below beside between by down
    during for forward from in into of off on onto out over past since through to together toward under until up upon
    using via when where whether while with within without"""
)
_UNSHARED = frozenset(("a", "an"))
#: Text for the system prompt of the model that calls tools, so that it acknowledges its calls itself.
GUIDANCE = (
    "Whenever you call tools, first tell the user in one short sentence what you are going to do, in the order of the "
    "calls, as in: Sure, I'll look up your appointments and check your billing. Promise no result."
)
#: The system prompt of a model that writes the sentence (`Writer`).
INSTRUCTIONS = (
    "A user asked for something, and these things are being done for them now. Write the one short sentence that a "
    "person would say before doing them, in the order given, as in: Sure, I'll look up your appointments and check "
    "your billing. Promise no result. Answer with the sentence alone, in the language of what is given."
)


class Hinted(Protocol):
    """The part of a tool that acknowledgements need: its ``waiting_hint``, or None."""

    @property
    def waiting_hint(self) -> str | None: ...


class Writer:
    """Lets a model write the acknowledgement: ``Turn(…, acknowledge=Writer(provider))``.

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
                request = asked(self.provider, self.instructions, json_codec.text({"hints": hints}))
                async with aclosing(saying(self.provider, request)) as words:
                    return "".join([text async for text in words]).strip()
        except Exception as error:
            _log.warning("no model wrote the acknowledgement: %s", described(error))
            return sentence(hints)


def acknowledge(calls: Sequence[ToolCall], tools: Mapping[str, Hinted]) -> str | None:
    """Return the acknowledgement of these calls, or None if no tool has a hint."""
    return sentence(hints_of(calls, tools))


def hints_of(calls: Iterable[ToolCall], tools: Mapping[str, Hinted]) -> list[str]:
    """Return the waiting hints of the called tools in call order, without duplicates."""
    found: dict[str, str] = {}
    for call in calls:
        hint = tools[call.name].waiting_hint if call.name in tools else None
        same = " ".join((hint or "").casefold().split()).strip(_ENDS)
        if hint and same:
            found.setdefault(same, hint)
    return list(found.values())


def sentence(hints: Iterable[str]) -> str | None:
    """Return one text built from the hints without duplicates, or None if there are none.

    Gerund phrases come first, as verb phrases in one sentence. Any other hint follows unchanged. A hint that begins
    with a capital letter is used as a complete sentence.
    """
    said: list[str] = []
    other: list[str] = []
    for hint in hints:
        phrase = spoken(hint)
        plain = " ".join(hint.split()).strip(_ENDS)
        target, made = (other, plain) if phrase is None else (said, phrase)
        if made and made not in target:
            target.append(made)
    groups = _shared([phrase.split() for phrase in said])
    sentences = [(_ONE if len(said) == 1 else _MANY).format(listed(groups))] if said else []
    return " ".join([*sentences, *(f"{hint}." if hint[0].isupper() else _OTHER.format(hint) for hint in other)]) or None


def spoken(hint: str) -> str | None:
    """Convert a gerund phrase to a verb phrase: "looking up your order" -> "look up your order". None for others."""
    text = " ".join(hint.split()).strip(_ENDS)
    while lead := _LEADS.match(text):
        text = text[lead.end() :]
    words = text.split()
    first = 0
    while first < len(words) - 1 and _is_adverb(words[first]):
        first += 1
    if not words or not starts_verb(words[first], _at(words, first + 1)):
        return None
    made = [word.lower() for word in words[:first]]
    for place, word in enumerate(words[first:], first):
        verb = base(word) if place == first or _goes_on(words, place, first) else None
        made.append(word if verb is None else verb)
    return " ".join(made)


def _goes_on(words: list[str], place: int, first: int) -> bool:
    """Return whether the word is another verb of the phrase, as in "searching and sorting mails"."""
    before = place - 1
    while before > first and _is_adverb(words[before]) and words[before].lower() not in _LINKS:
        before -= 1
    if words[before].lower() not in _LINKS and not words[before].endswith(","):
        return False
    after = _at(words, place + 1)
    beside = all(_is_link(word) or base(word.rstrip(",")) is not None for word in words[first:place])
    clear = before_noun(after) or after.lower() in _PARTICLES
    return starts_verb(words[place], after) and (clear or beside)


def _shared(phrases: list[list[str]]) -> list[str]:
    """Merge consecutive phrases with the same beginning, so that it appears once."""
    groups: list[list[list[str]]] = []
    for phrase in phrases:
        if groups and _common([*groups[-1], phrase]):
            groups[-1].append(phrase)
        else:
            groups.append([phrase])
    said = []
    for group in groups:
        common = _common(group) if len(group) > 1 else 0
        objects = [" ".join(phrase[common:]) for phrase in group]
        said.append(" ".join([*group[0][:common], listed(objects)]))
    return said


def _common(phrases: list[list[str]]) -> int:
    """Return how many leading words the phrases can share, so that an object remains of each. 0 if none."""
    shortest = min(map(len, phrases))
    common = next((n for n in range(shortest) if len({phrase[n] for phrase in phrases}) > 1), shortest)
    if common == shortest:
        # One phrase extends another ("your calendar", "your calendar of May"), so only the verb is shared.
        common = next((n for n, word in enumerate(phrases[0][:common]) if before_noun(word)), 0)
    while common and phrases[0][common - 1].lower() in _UNSHARED:
        common -= 1
    # Several verbs cannot be shared as a prefix, and a phrase such as "in Rome" is not an object.
    if any(word.lower() in _LINKS or word.endswith(",") for word in phrases[0][:common]):
        return 0
    if any(phrase[common].lower() in _PARTICLES for phrase in phrases):
        return 0
    return common


def listed(parts: list[str]) -> str:
    """Join the parts as a list in a sentence. Two parts get a comma if one of them contains a list itself."""
    if len(parts) == 1:
        return parts[0]
    inner = any(_LINKS & set(part.split()) or "," in part for part in parts)
    if len(parts) == 2:
        return f"{parts[0]}{',' if inner else ''} and {parts[1]}"
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"


def _is_adverb(word: str) -> bool:
    small = word.lower()
    return small in _ADVERBS or (len(small) > 4 and small.endswith("ly") and small not in ("reply", "apply", "supply"))


def _is_link(word: str) -> bool:
    return word.lower() in _LINKS or _is_adverb(word) or word.lower() in _PARTICLES


def _at(words: list[str], place: int) -> str:
    return words[place].strip(_ENDS) if place < len(words) else ""
