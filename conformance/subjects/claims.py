"""Validates what a subject declares: the wires that it reads, its claims, and its input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolparity.normalizer.wires.registry import names

from ..errors import UnknownSubject

#: The claims, and what each promises.
CLAIMS: dict[str, str] = {
    "stream": "It reads streamed answers.",
    "select": "It acts under the policies: its calls are those it would execute.",
    "text": "It gives the words of the answer.",
    "stop": "It gives a canonical stop reason.",
    "status": "It tells calls whose arguments are cut or invalid from complete ones.",
    "usage": "It gives the figures of usage with their canonical meaning.",
    "findings": "It reports what is odd, in toolparity's finding codes.",
    "blocks": "It gives the canonical blocks in order, server calls and unknown ones too.",
    "answers": "It makes the next request from the results of the calls.",
    "handoff": "It makes requests for other wires from a history.",
}
#: The ways in which a response reaches a subject.
INPUTS: dict[str, str] = {
    "pieces": "It is handed the answer's bytes.",
    "base_url": "It is told an address, and fetches the answer with a client of its own.",
}


def claims_of(name: str, told: Any) -> frozenset[str]:
    """Return the claims. Raises UnknownSubject for an unknown claim, and for `handoff` without `answers`."""
    claims = _words(name, "claims", told or ())
    if unknown := claims - CLAIMS.keys():
        raise UnknownSubject(f"{name} claims {', '.join(sorted(unknown))}", hint=f"claims are {', '.join(CLAIMS)}")
    if "handoff" in claims and "answers" not in claims:
        raise UnknownSubject(f"{name} claims handoff and not answers", hint="who makes requests claims answers")
    return claims


def wires_of(name: str, told: Any) -> frozenset[str] | None:
    """Return the wires; None means all.

    Raises UnknownSubject for an unknown wire, so that a typo does not skip all cases.
    """
    if told is None:
        return None
    wires = _words(name, "wires", told)
    if unknown := wires - set(names()):
        raise UnknownSubject(f"{name} reads {', '.join(sorted(unknown))}", hint=f"wires are {', '.join(names())}")
    return wires


def providers_of(name: str, told: Any) -> frozenset[str] | None:
    """Return the providers whose responses the subject reads; None means all.

    Raises UnknownSubject for a malformed list.
    """
    return None if told is None else _words(name, "providers", told)


def input_of(name: str, told: Any) -> str:
    """Return a key of `INPUTS`; None means "pieces". Raises UnknownSubject."""
    if told is None:
        return "pieces"
    if told not in INPUTS:
        raise UnknownSubject(f"{name} takes {told!r}", hint=f"input is {' or '.join(INPUTS)}")
    return str(told)


def _words(name: str, member: str, told: Any) -> frozenset[str]:
    if isinstance(told, str) or not isinstance(told, Iterable):
        raise UnknownSubject(f"the {member} of {name} are {told!r}", hint="a list of names")
    words = list(told)
    if not all(isinstance(word, str) for word in words):
        raise UnknownSubject(f"the {member} of {name} are {words!r}", hint="a list of names")
    return frozenset(words)
