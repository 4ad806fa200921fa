"""Subjects: the implementations under test. A subject is any object with the members of `Subject`.

There are three ways to name one: a class (``my.module:Subject``, or an entry point of the group
``toolparity.subjects``), an executable (``exec:node my_subject.mjs``), or a name of `SUBJECTS` or of the libraries. To
add a shipped subject, add a module here and a line to `SUBJECTS`.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from importlib import import_module, metadata
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from toolparity.normalizer.errors import MissingExtra
from toolparity.normalizer.model import Policy, Wire

from ..errors import UnknownSubject
from .claims import CLAIMS, claims_of, input_of, providers_of, wires_of
from .peers import PEERS


class SubjectExchange(Struct, frozen=True, kw_only=True):
    """One provider response for a subject to read.

    ``pieces``: the body in the pieces in which it arrives, one piece if it was not streamed; serialized messages on
    `xai.grpc`. ``request``: the request that it answers, as JSON. ``limit``: how many calls the policy may keep.
    ``status``: the HTTP status. ``base_url``: the address of the response for a subject that fetches it with its own
    client; then ``pieces`` is empty.
    """

    wire: Wire
    provider: str
    stream: bool
    pieces: list[bytes]
    policy: Policy = "all"
    limit: int | None = None
    request: Any = None
    status: int = 200
    base_url: str = ""

    @property
    def body(self) -> bytes:
        """All pieces concatenated."""
        return b"".join(self.pieces)


class CallResult(Struct, frozen=True):
    """The result of a call. ``content``: text."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


class FollowUp(Struct, frozen=True, kw_only=True):
    """The input for the subject's next request: the response in ``ask``, with the results of its calls.

    ``to``: the wire of the request. ``provider``: its provider.
    """

    ask: SubjectExchange
    results: list[CallResult]
    to: Wire
    provider: str


@runtime_checkable
class Subject(Protocol):
    """The interface of a subject.

    ``claims``: a subset of `CLAIMS`. ``wires``: the wires that it reads, or None for all. A subject with a member
    ``input`` that is "base_url" gets an address instead of bytes (`http_client_subject`).

    ``read(ask)`` returns the canonical form or ``{"calls": […]}`` (`conformance.answer`). If it raises an exception,
    that is judged as an answer with an error. ``next_request(ask)`` returns a request body (JSON); it is needed only
    for the claim `answers`.
    """

    name: str
    version: str
    claims: frozenset[str]
    wires: frozenset[str] | None

    def read(self, ask: SubjectExchange) -> Any: ...


#: Name -> its module here and its class.
SUBJECTS: dict[str, str] = {
    "normalizer": "reference:Reference",
    "documented-goclaw": "documented_goclaw:DocumentedGoclaw",
    "openai-sdk": "openai_sdk:OpenAISDK",
    "anthropic-sdk": "anthropic_sdk:AnthropicSDK",
    "xai-sdk": "xai_sdk:XAISDK",
}
GROUP = "toolparity.subjects"


def shipped(name: str) -> bool:
    """Return whether the subject is shipped with this project, and so has a baseline here."""
    return name in SUBJECTS or name in PEERS


def known_names() -> list[str]:
    """Return the names of all subjects: shipped ones, libraries, and entry points."""
    return sorted({*SUBJECTS, *PEERS, *(entry.name for entry in metadata.entry_points(group=GROUP))})


def subject(name: str, *, timeout: float | None = None, patience: int | None = None) -> Subject:
    """Return the subject with a name.

    ``timeout`` (seconds) and ``patience`` (failures in a row) override the defaults of an executable. Raises
    UnknownSubject with the known names, and MissingExtra if a library is not installed.
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
    """Load a class of another project; its code may raise anything."""
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
        sys.path.insert(0, here)  # an installed command does not search the working directory
    found: Any = import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


def _made(found: Any, name: str) -> Subject:
    """Return an instance with all members of `Subject`, validated. Raises UnknownSubject."""
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
    """Return a subject that the runner can feed with bytes, whatever its own input is."""
    if input == "pieces":
        tested: Subject = made
        return tested
    from .http_client_subject import HttpClientSubject

    return HttpClientSubject(made)


__all__ = ["CLAIMS", "SubjectExchange", "FollowUp", "CallResult", "Subject", "shipped", "subject"]
