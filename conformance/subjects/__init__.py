"""Subjects: what is tested. A subject is any object with the members of `Subject`; adding a shipped one is a module
beside these and a line in the table.

Three ways in: a class (``my.module:Subject``, or an entry point of the group ``toolparity.subjects``), any executable
(``exec:node my_subject.mjs``), or a name of the table.
"""

from __future__ import annotations

import shlex
from importlib import import_module, metadata
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from normalizer.errors import UnknownSubject

from .peers import PEERS

#: What a subject may claim beyond reading calls, and what that promises.
CLAIMS: dict[str, str] = {
    "stream": "It reads streamed answers.",
    "select": "It acts under the policies: its calls are those it would execute.",
    "text": "It gives the words of the answer.",
    "stop": "It gives a canonical stop reason.",
    "status": "It tells calls whose arguments are cut or invalid from complete ones.",
    "usage": "It gives the figures of usage with their canonical meaning.",
    "findings": "It reports what is odd, in the codes of docs/findings.md.",
    "blocks": "It gives the canonical blocks in order, server calls and unknown ones too.",
    "answers": "It makes the next request from the results of the calls.",
    "handoff": "It makes requests for other wires from a history.",
}


class Ask(Struct, frozen=True, kw_only=True):
    """One answer of a provider to be read. ``pieces``: the body in the pieces in which it arrives (serialized messages
    on `xai.grpc`); one piece where it was not streamed. ``request``: the request that it answers, as JSON.
    """

    wire: str
    provider: str
    stream: bool
    pieces: list[bytes]
    policy: str = "all"
    limit: int | None = None
    request: Any = None
    status: int = 200

    @property
    def body(self) -> bytes:
        """All pieces together."""
        return b"".join(self.pieces)


class Returned(Struct, frozen=True):
    """What a call returned. ``content``: text."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


class Next(Struct, frozen=True, kw_only=True):
    """A request to be made: the same conversation, one answer and its results longer; for ``to``, a wire."""

    ask: Ask
    results: list[Returned]
    to: str
    provider: str


@runtime_checkable
class Subject(Protocol):
    """``claims``: some of `CLAIMS`. ``wires``: those that it reads; null: all.

    ``read(ask)`` gives the canonical form or ``{"calls": […]}`` (`conformance.answer`); an exception of its own is a
    verdict, not an accident. ``next_request(ask)`` gives a request body (JSON); only where `answers` is claimed.
    """

    name: str
    version: str
    claims: frozenset[str]
    wires: frozenset[str] | None

    def read(self, ask: Ask) -> Any: ...


#: Name -> the class here that makes it.
SUBJECTS: dict[str, str] = {
    "normalizer": "reference:Reference",
    "documented-goclaw": "documented_goclaw:DocumentedGoclaw",
    "openai-sdk": "openai_sdk:OpenAISDK",
    "anthropic-sdk": "anthropic_sdk:AnthropicSDK",
    "xai-sdk": "xai_sdk:XAISDK",
}
GROUP = "toolparity.subjects"


def subject(name: str) -> Subject:
    """The subject of a name. Raises UnknownSubject, which says what there is."""
    if name.startswith("exec:"):
        from .executable import Executable

        return Executable(shlex.split(name.removeprefix("exec:")))
    if name in SUBJECTS:
        module, _, attribute = SUBJECTS[name].partition(":")
        return _made(getattr(import_module(f".{module}", __name__), attribute), name)
    if name in PEERS:
        from .installing import peer

        return peer(name)
    for entry in metadata.entry_points(group=GROUP, name=name):
        return _made(entry.load(), name)
    if ":" in name:
        return _imported(name)
    known = sorted({*SUBJECTS, *PEERS, *(entry.name for entry in metadata.entry_points(group=GROUP))})
    raise UnknownSubject(
        f"no subject is called {name!r}", hint=f"one of {', '.join(known)}, my.module:Subject, or exec:COMMAND"
    )


def _imported(name: str) -> Subject:
    module, _, attribute = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise UnknownSubject(f"{name} cannot be imported: {error}", hint="is its folder on PYTHONPATH?") from error
    return _made(found, name)


def _made(found: Any, name: str) -> Subject:
    made = found() if isinstance(found, type) else found
    for member, default in (("name", name), ("version", ""), ("claims", frozenset()), ("wires", None)):
        if not hasattr(made, member):
            setattr(made, member, default)
    made.claims = frozenset(made.claims)
    if unknown := made.claims - CLAIMS.keys():
        raise UnknownSubject(f"{name} claims {', '.join(sorted(unknown))}", hint=f"claims are {', '.join(CLAIMS)}")
    if not callable(getattr(made, "read", None)):
        raise UnknownSubject(f"{name} has no read(ask)", hint="see docs/subjects.md")
    if "answers" in made.claims and not callable(getattr(made, "next_request", None)):
        raise UnknownSubject(f"{name} claims answers and has no next_request(ask)", hint="see docs/subjects.md")
    tested: Subject = made
    return tested
