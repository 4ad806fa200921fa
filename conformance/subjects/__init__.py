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
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

from toolparity.normalizer.errors import MissingExtra
from toolparity.reports.results import Role

from ..errors import UnknownSubject
from .claims import CLAIMS, claims_of, input_of, providers_of, stop_words_of, wires_of
from .interface import CallResult as CallResult
from .interface import FollowUp as FollowUp
from .interface import Subject as Subject
from .interface import SubjectExchange as SubjectExchange
from .peers import PEERS
from .tools import Tool as Tool

#: Name -> its module here and its class.
SUBJECTS: dict[str, str] = {
    "normalizer": "reference:Reference",
    "documented-goclaw": "documented_goclaw:DocumentedGoclaw",
    "openai-sdk": "openai_sdk:OpenAISDK",
    "anthropic-sdk": "anthropic_sdk:AnthropicSDK",
    "xai-sdk": "xai_sdk:XAISDK",
    "cohere-sdk": "cohere_sdk:CohereSDK",
    "google-genai": "google_genai_sdk:GoogleGenaiSDK",
    "google-genai-interactions": "google_interactions_sdk:GoogleInteractionsSDK",
    "ollama-sdk": "ollama_sdk:OllamaSDK",
    "boto3": "boto3_sdk:Boto3SDK",
    "turns": "turns:TurnsAgent",
}
#: Shipped subjects that are not implementations under test -> their role in reports.
ROLES: dict[str, Role] = {"normalizer": "reference", "turns": "reference", "documented-goclaw": "known-bad"}
#: Shipped subject -> the distribution that it tests, if that has another name.
_DISTRIBUTIONS = {
    "openai-sdk": "openai",
    "anthropic-sdk": "anthropic",
    "cohere-sdk": "cohere",
    "google-genai-interactions": "google-genai",
    "ollama-sdk": "ollama",
}
GROUP = "toolparity.subjects"


def shipped(name: str) -> bool:
    """Return whether the subject is shipped with this project, and so has a baseline here.

    A library at another version than the pinned one (``litellm==1.100.0``) has none.
    """
    return name in SUBJECTS or name in PEERS


def role_of(name: str) -> Role:
    """Return the role of a subject in reports."""
    return ROLES.get(name, "implementation")


def library_of(name: str) -> str:
    """Return the distribution of which a subject is an entry point, or "" if the subject is not in `PEERS`.

    The name can have a version: ``litellm==1.100.0``.
    """
    peer = PEERS.get(name.partition("==")[0])
    return peer.distribution if peer else ""


def distribution_of(name: str) -> str:
    """Return the distribution that a shipped subject tests."""
    return _DISTRIBUTIONS.get(name, name)


def known_names() -> list[str]:
    """Return the names of all subjects: shipped ones, libraries, and entry points."""
    return sorted({*SUBJECTS, *PEERS, *(entry.name for entry in metadata.entry_points(group=GROUP))})


def subject(name: str, *, timeout: float | None = None, patience: int | None = None) -> Subject:
    """Return the subject with a name. The name of a library can have a version: ``litellm==1.100.0``.

    ``timeout`` (seconds) and ``patience`` (failures in a row) override the defaults of an executable. Raises
    UnknownSubject with the known names, and MissingExtra if a library is not installed.
    """
    if name.startswith("exec:"):
        return _program(name, timeout, patience)
    if name in SUBJECTS:
        return _shipped(name)
    if name.partition("==")[0] in PEERS:
        from .environments import peer

        program = peer(name)
        return _adapt_input(program, program.input)
    for entry in metadata.entry_points(group=GROUP, name=name):
        return _load(name, entry.load)
    if ":" in name:
        return _load(name, lambda: _import(name))
    raise UnknownSubject(
        f"unknown subject: {name!r}", hint=f"one of {', '.join(known_names())}, my.module:Subject, or exec:COMMAND"
    )


def _program(name: str, timeout: float | None, patience: int | None) -> Subject:
    from .executable import PATIENCE, TIMEOUT, Executable

    try:
        command = shlex.split(name.removeprefix("exec:"))
    except ValueError as error:
        raise UnknownSubject(f"{name}: {error}", hint="quote the command as in a shell") from None
    program = Executable(command, timeout=timeout or TIMEOUT, patience=patience or PATIENCE)
    return _adapt_input(program, program.input)


def _shipped(name: str) -> Subject:
    module, _, attribute = SUBJECTS[name].partition(":")
    try:
        subject_class = getattr(import_module(f".{module}", __name__), attribute)
    except ImportError as error:
        hint = "pip install 'toolparity[conformance,sdks]'"
        raise MissingExtra(f"{name} needs a package that is not installed: {error}", hint=hint) from error
    return _instance(subject_class, name)


def _load(name: str, load: Callable[[], Any]) -> Subject:
    """Load a class of another project; its code may raise anything."""
    try:
        loaded = load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        searched = "modules are searched in the working directory and on PYTHONPATH"
        hint = searched if isinstance(error, ModuleNotFoundError) else ""
        raise UnknownSubject(f"{name} cannot be imported: {reason}", hint=hint) from error
    return _instance(loaded, name)


def _import(name: str) -> Any:
    module, _, attribute = name.partition(":")
    if (folder := os.getcwd()) not in sys.path:
        sys.path.insert(0, folder)  # an installed command does not search the working directory
    value: Any = _import_file(module) if module.endswith(".py") else import_module(module)
    for part in attribute.split("."):
        value = getattr(value, part)
    return value


def _import_file(path: str) -> ModuleType:
    """Import the module in a file, whatever its name is."""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"no file {path!r} in {os.getcwd()}")
    if (folder := os.path.dirname(os.path.abspath(path))) not in sys.path:
        sys.path.append(folder)  # for what it imports beside it
    name = os.path.basename(path).removesuffix(".py")
    found = spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _instance(loaded: Any, name: str) -> Subject:
    """Return an instance with all members of `Subject`, validated. Raises UnknownSubject."""
    try:
        instance = loaded() if isinstance(loaded, type) else loaded
        for member, default in (("name", name), ("version", ""), ("claims", ()), ("wires", None)):
            if not hasattr(instance, member):
                setattr(instance, member, default)
        instance.claims = claims_of(name, instance.claims)
        instance.wires = wires_of(name, instance.wires)
        instance.providers = providers_of(name, getattr(instance, "providers", None))
        instance.stop_words = stop_words_of(name, getattr(instance, "stop_words", None))
    except UnknownSubject:
        raise
    except Exception as error:
        raise UnknownSubject(f"{name} cannot be instantiated: {type(error).__name__}: {error}") from error
    hint = "python -m pydoc toolparity.conformance.subjects shows the interface of a subject"
    if not callable(getattr(instance, "read", None)):
        raise UnknownSubject(f"{name} has no method read(exchange)", hint=hint)
    if "answers" in instance.claims and not callable(getattr(instance, "next_request", None)):
        raise UnknownSubject(f"{name} claims answers, but has no method next_request(follow_up)", hint=hint)
    return _adapt_input(instance, input_of(name, getattr(instance, "input", None)))


def _adapt_input(instance: Any, input: str) -> Subject:
    """Return a subject that the judge can feed with bytes, whatever its own input is."""
    if input == "pieces":
        if "runs" in instance.claims:
            raise UnknownSubject(
                f"{instance.name} claims runs, but its input is pieces", hint='an agent needs the input "base_url"'
            )
        tested: Subject = instance
        return tested
    from .http_client_subject import HttpClientSubject

    return HttpClientSubject(instance)


__all__ = ["CLAIMS", "CallResult", "FollowUp", "Subject", "SubjectExchange", "Tool", "shipped", "subject"]
