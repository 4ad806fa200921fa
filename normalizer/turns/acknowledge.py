"""What the user is told while the tools run: one sentence made of their waiting hints, in call order.

    looking up your upcoming appointments, checking your billing
        -> Sure, I'll look up your upcoming appointments and check your billing.
    checking your next appointment
        -> Let me check your next appointment.

Made here, without a model and at once. Where a model is to find the words, it gets the hints (`Writer`), and the
sentence that is made here stands in for it where it fails. Both go into ``Turn(…, acknowledge=…)``.

A model that says something beside its calls has acknowledged them itself: then a turn tells these words, and asks
nobody for others. Ask it to, where it may (`GUIDANCE`, in its system prompt).
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol

from .. import json_codec
from ..model import ToolCall
from .gerunds import base, before_noun, starts_verb, word_set
from .provider import Provider
from .raised import described
from .saying import asked, saying

_log = logging.getLogger(__name__)

_ONE = "Let me {}."
_MANY = "Sure, I'll {}."
#: For a hint that is no gerund, and no sentence of its own.
_OTHER = "One moment: {}."

_LEADS = re.compile(r"(?:i['’]?m|i am|we['’]?re|we are|now|currently|just|still|please wait,?)\s+", re.IGNORECASE)  # noqa: RUF001
_ENDS = " \t\n.…!,;:"
_ADVERBS = frozenset(("also", "first", "then", "now", "next", "again"))
_LINKS = frozenset(("and", "or", "then", "&"))
#: What a phrase goes on with where it is no object: it cannot share its verb with another phrase.
_PARTICLES = word_set(
    """about above across after against along among around as at away back before behind below beside between by down
    during for forward from in into of off on onto out over past since through to together toward under until up upon
    using via when where whether while with within without"""
)
_UNSHARED = frozenset(("a", "an"))
#: What the system prompt of the model that calls may say, so that it acknowledges its calls itself.
GUIDANCE = (
    "Whenever you call tools, first tell the user in one short sentence what you are going to do, in the order of the "
    "calls, as in: Sure, I'll look up your appointments and check your billing. Promise no result."
)
#: What a model is told that writes the sentence.
INSTRUCTIONS = (
    "A user asked for something, and these things are being done for them now. Write the one short sentence that a "
    "person would say before doing them, in the order given, as in: Sure, I'll look up your appointments and check "
    "your billing. Promise no result. Answer with the sentence alone, in the language of what is given."
)


class Hinted(Protocol):
    """What is asked of a tool here: ``waiting_hint``, or null."""

    @property
    def waiting_hint(self) -> str | None: ...


class Writer:
    """Lets a model find the words: ``Turn(…, acknowledge=Writer(provider))``.

    It gets the hints as JSON, in call order. Where it fails, or takes more than ``patience`` seconds, the sentence is
    the one that is made here.
    """

    def __init__(self, provider: Provider, *, instructions: str = INSTRUCTIONS, patience: float = 3.0) -> None:
        self.provider = provider
        self.instructions = instructions
        self.patience = patience

    async def __call__(self, calls: Sequence[ToolCall], tools: Mapping[str, Hinted]) -> str | None:
        """What to say of these calls; null where no tool has a hint. Does not raise."""
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
    """What to say of these calls; null where no tool has a hint."""
    return sentence(hints_of(calls, tools))


def hints_of(calls: Iterable[ToolCall], tools: Mapping[str, Hinted]) -> list[str]:
    """The hints of the called tools in call order, each once."""
    found: dict[str, str] = {}
    for call in calls:
        hint = tools[call.name].waiting_hint if call.name in tools else None
        same = " ".join((hint or "").casefold().split()).strip(_ENDS)
        if hint and same:
            found.setdefault(same, hint)
    return list(found.values())


def sentence(hints: Iterable[str]) -> str | None:
    """Hints, joined as a person would say it; null for none. The same hint counts once.

    A hint is said as a verb where it is a gerund phrase; any other comes behind, as it stands. One that begins with a
    capital letter is a sentence already.
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
    """A gerund phrase as its verb phrase: "looking up your order" -> "look up your order"; null for any other."""
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
    """Whether the word is another verb of the phrase: "searching and sorting mails", "… and checking its state"."""
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
    """Phrases that follow each other and begin alike say the beginning once."""
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
    """How many words these phrases share so that what is left of each is an object of its own; 0 for none."""
    shortest = min(map(len, phrases))
    common = next((n for n in range(shortest) if len({phrase[n] for phrase in phrases}) > 1), shortest)
    if common == shortest:
        # One goes on where another ends ("your calendar", "your calendar of May"): only the verb is shared.
        common = next((n for n, word in enumerate(phrases[0][:common]) if before_noun(word)), 0)
    while common and phrases[0][common - 1].lower() in _UNSHARED:
        common -= 1
    # What several verbs share is not said by the first of them; and "in Rome" is no object.
    if any(word.lower() in _LINKS or word.endswith(",") for word in phrases[0][:common]):
        return 0
    if any(phrase[common].lower() in _PARTICLES for phrase in phrases):
        return 0
    return common


def listed(parts: list[str]) -> str:
    """Parts as a list in a sentence: the commas are clear where a part holds an "and" of its own."""
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
