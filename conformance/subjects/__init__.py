"""Subjects: what is tested. A subject is any object with the members of `Subject`; adding a shipped one is a module
beside these and a line in the table.

Three ways in: a class (``my.module:Subject``, or an entry point of the group ``toolparity.subjects``), any executable
(``exec:node my_subject.mjs``), or a name of the table.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from importlib import import_module, metadata
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from toolparity.normalizer.errors import MissingExtra, UnknownSubject

from .claims import CLAIMS, claims_of, input_of, providers_of, wires_of
from .peers import PEERS


class Ask(Struct, frozen=True, kw_only=True):
    """One answer of a provider to be read. ``pieces``: the body in the pieces in which it arrives (serialized messages
    on `xai.grpc`); one piece where it was not streamed. ``request``: the request that it answers, as JSON.

    ``base_url``: where the answer waits for a subject that fetches it with its own client; then there are no pieces.
    """

    wire: str
    provider: str
    stream: bool
    pieces: list[bytes]
    policy: str = "all"
    limit: int | None = None
    request: Any = None
    status: int = 200
    base_url: str = ""

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
    """``claims``: some of `CLAIMS`. ``wires``: those that it reads; null: all. Where a member ``input`` says
    "base_url", it is told an address instead of bytes (`toolparity.conformance.subjects.fetching`).

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


def shipped(name: str) -> bool:
    """Whether it is one of this project's own tables, with a baseline here."""
    return name in SUBJECTS or name in PEERS


def known_names() -> list[str]:
    """The subjects that have a name: those that are shipped, the libraries, and entry points."""
    return sorted({*SUBJECTS, *PEERS, *(entry.name for entry in metadata.entry_points(group=GROUP))})


def subject(name: str, *, timeout: float | None = None, patience: int | None = None) -> Subject:
    """The subject of a name. ``timeout``, ``patience``: of a program, where they are to be others than usual.

    Raises UnknownSubject, which says what there is, and MissingExtra where a library is not installed.
    """
    if name.startswith("exec:"):
        return _program(name, timeout, patience)
    if name in SUBJECTS:
        return _shipped(name)
    if name in PEERS:
        from .installing import peer

        return peer(name)
    for entry in metadata.entry_points(group=GROUP, name=name):
        return _loaded(name, entry.load)
    if ":" in name:
        return _loaded(name, lambda: _imported(name))
    raise UnknownSubject(
        f"no subject is called {name!r}", hint=f"one of {', '.join(known_names())}, my.module:Subject, or exec:COMMAND"
    )


def _program(name: str, timeout: float | None, patience: int | None) -> Subject:
    from .executable import PATIENCE, TIMEOUT, Executable

    try:
        command = shlex.split(name.removeprefix("exec:"))
    except ValueError as error:
        raise UnknownSubject(f"{name}: {error}", hint="quote it as a shell would have it") from None
    made = Executable(command, timeout=timeout or TIMEOUT, patience=patience or PATIENCE)
    return _fed(made, made.input)


def _shipped(name: str) -> Subject:
    module, _, attribute = SUBJECTS[name].partition(":")
    try:
        found = getattr(import_module(f".{module}", __name__), attribute)
    except ImportError as error:
        raise MissingExtra(
            f"{name} needs what is not installed: {error}", hint="pip install 'toolparity[conformance]'"
        ) from error
    return _made(found, name)


def _loaded(name: str, load: Callable[[], Any]) -> Subject:
    """Somebody else's class, whose code may do anything."""
    try:
        found = load()
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        hint = "its folder is looked for where you are, and on PYTHONPATH"
        raise UnknownSubject(f"{name} cannot be imported: {told}", hint=hint) from error
    return _made(found, name)


def _imported(name: str) -> Any:
    module, _, attribute = name.partition(":")
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)  # a command that is installed does not look where it is called
    found: Any = import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


def _made(found: Any, name: str) -> Subject:
    """An instance that holds every member, checked."""
    try:
        made = found() if isinstance(found, type) else found
        for member, default in (("name", name), ("version", ""), ("claims", ()), ("wires", None)):
            if not hasattr(made, member):
                setattr(made, member, default)
        made.claims = claims_of(name, made.claims)
        made.wires = wires_of(name, made.wires)
        made.providers = providers_of(name, getattr(made, "providers", None))
    except UnknownSubject:
        raise
    except Exception as error:
        raise UnknownSubject(f"{name} cannot be made: {type(error).__name__}: {error}") from error
    if not callable(getattr(made, "read", None)):
        raise UnknownSubject(
            f"{name} has no read(ask)", hint="python -m pydoc toolparity.conformance.subjects shows what a subject has"
        )
    if "answers" in made.claims and not callable(getattr(made, "next_request", None)):
        raise UnknownSubject(
            f"{name} claims answers and has no next_request(ask)",
            hint="python -m pydoc toolparity.conformance.subjects shows what a subject has",
        )
    return _fed(made, input_of(name, getattr(made, "input", None)))


def _fed(made: Any, input: str) -> Subject:
    """The subject as the bench feeds it: with bytes, whatever it wants itself."""
    if input == "pieces":
        tested: Subject = made
        return tested
    from .fetching import Fetching

    return Fetching(made)


__all__ = ["CLAIMS", "Ask", "Next", "Returned", "Subject", "shipped", "subject"]
