"""Validates what a subject declares: the wires that it reads, its claims, and its input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolparity.normalizer.wires.registry import names as wire_names

from ..errors import UnknownSubject

#: The claims, and what each promises.
CLAIMS: dict[str, str] = {
    "stream": "It reads streamed responses.",
    "select": "It applies the policies: its calls are those that it would execute.",
    "text": "It returns the text of the response.",
    "stop": "It returns a canonical stop reason.",
    "status": "It distinguishes calls with truncated or invalid arguments from complete ones.",
    "usage": "It returns token counts with their canonical meaning.",
    "findings": "It reports deviations as toolparity's finding codes.",
    "blocks": "It returns the canonical blocks in order, including server calls and unknown ones.",
    "answers": "It builds the next request from the results of the calls.",
    "handoff": "It builds requests for other wires from a history.",
    "runs": "It runs tools, and its runs are judged instead of its calls.",
}
#: The ways in which a response reaches a subject.
INPUTS: dict[str, str] = {
    "pieces": "It gets the bytes of the response.",
    "base_url": "It gets an address, and fetches the response with its own client.",
}


#: Wire -> the stop reasons that it has no word for -> the reason of the word that its documentation gives for them.
#: OpenAI describes `stop` as a natural end or a stop sequence, `length` as a limit, and `content_filter` as withheld
#: content.
STOP_WORDS: dict[str, dict[str, str]] = {
    "openai.chat": {
        "stop_sequence": "end_turn",
        "context_window": "max_tokens",
        "compaction": "max_tokens",
        "refusal": "content_filter",
    },
}
#: The claims of a subject that reads responses. An agent claims `runs` instead of what readers return.
READER_CLAIMS = frozenset(CLAIMS) - {"runs"}


def claims_of(name: str, declared: Any) -> frozenset[str]:
    """Return the claims. Raises UnknownSubject for an unknown claim, and for `handoff` without `answers`."""
    claims = _names(name, "claims", declared or ())
    if unknown := claims - CLAIMS.keys():
        raise UnknownSubject(
            f"{name} has unknown claims: {', '.join(sorted(unknown))}", hint=f"claims are {', '.join(CLAIMS)}"
        )
    if "handoff" in claims and "answers" not in claims:
        raise UnknownSubject(f"{name} claims handoff, but not answers", hint="claim answers too")
    return claims


def wires_of(name: str, declared: Any) -> frozenset[str] | None:
    """Return the wires; None means all.

    Raises UnknownSubject for an unknown wire, so that a typo does not skip all cases.
    """
    if declared is None:
        return None
    wires = _names(name, "wires", declared)
    if unknown := wires - set(wire_names()):
        raise UnknownSubject(
            f"{name} has unknown wires: {', '.join(sorted(unknown))}", hint=f"wires are {', '.join(wire_names())}"
        )
    return wires


def providers_of(name: str, declared: Any) -> frozenset[str] | None:
    """Return the providers whose responses the subject reads; None means all.

    Raises UnknownSubject for a malformed list.
    """
    return None if declared is None else _names(name, "providers", declared)


def stop_words_of(name: str, declared: Any) -> str | None:
    """Return the wire whose stop words the subject uses for all wires; None if it uses those of each wire.

    Raises UnknownSubject for another name than a key of `STOP_WORDS`.
    """
    if declared is not None and declared not in STOP_WORDS:
        raise UnknownSubject(f"{name} has unknown stop_words: {declared!r}", hint=f"known are {', '.join(STOP_WORDS)}")
    return None if declared is None else str(declared)


def input_of(name: str, declared: Any) -> str:
    """Return a key of `INPUTS`; None means "pieces". Raises UnknownSubject."""
    if declared is None:
        return "pieces"
    if declared not in INPUTS:
        raise UnknownSubject(f"{name} has an unknown input: {declared!r}", hint=f"input is {' or '.join(INPUTS)}")
    return str(declared)


def _names(subject: str, member: str, declared: Any) -> frozenset[str]:
    names = list(declared) if isinstance(declared, Iterable) and not isinstance(declared, str) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise UnknownSubject(f"the {member} of {subject} must be a list of names: {declared!r}")
    return frozenset(names)
