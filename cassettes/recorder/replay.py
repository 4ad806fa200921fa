"""Replay of a cassette: its script through the official SDK, with the network blocked.

`cut_network` blocks Python's sockets. gRPC's core has its own sockets, which Python cannot reach. There, `replay`
proves that nothing was sent: a channel connects with its first call, and every recorded call was played.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import Any
from unittest import mock

from toolparity.normalizer.errors import ToolparityError

from ..errors import ReplayFailed, RequestNotRecorded
from ..library import files
from ..library.provenance import Provenance
from ..scripts import Script, scripts
from ..sources.decoding import response_of
from ..surfaces import Surface, surface, surface_of
from .diff import first_difference
from .script_driver import play
from .sdks import Link, Received, sdk_module
from .vcr import playing

#: Sent instead of an API key; cassettes contain none.
NO_KEY = "replayed-without-a-key"

_METHODS = ("connect", "connect_ex", "sendto", "sendmsg")
_LOCAL = getattr(socket, "AF_UNIX", None)  # event loops use socket pairs internally


def replay(path: str | os.PathLike[str], script: Script | None = None) -> None:
    """Play the cassette's scenario through the SDK. ``script``: use it instead of the shipped script.

    The SDK must send exactly the recorded requests, play every interaction, and return the same content as the recorded
    bytes. An imported cassette has no scenario, so its interactions only have to decode. Raises ReplayFailed,
    UnreadableCassette, InvalidProvenance.
    """
    cassette = files.load(path)
    where = os.fspath(path)
    provenance = cassette.provenance
    at = surface(provenance.surface) if provenance.surface else surface_of(provenance.provider, provenance.wire)
    if at is None:
        raise ReplayFailed(f"no SDK for {provenance.provider} on {provenance.wire}", where=where)
    try:
        recorded = [response_of(exchange, at.wire, at.provider) for exchange in cassette.exchanges]
    except (ToolparityError, ValueError, LookupError, TypeError) as error:
        raise ReplayFailed(f"its interactions cannot be decoded: {error}", where=where) from error
    if provenance.scenario is None:
        return
    script = script or scripts().get(provenance.scenario)
    if script is None:
        raise ReplayFailed(f"unknown scenario: {provenance.scenario!r}", where=where)
    if script.hash != provenance.scenario_hash:
        hint = f"record it again: toolparity record --rerecord {script.id} --into LIBRARY"
        raise ReplayFailed("the scenario has changed since the recording", where=where, hint=hint)
    played = _played(path, script, at, provenance)
    call_ids = not getattr(sdk_module(at), "DROPS_CALL_IDS", False)
    unknown: frozenset[str] = getattr(sdk_module(at), "UNKNOWN", frozenset())
    for number, (response, received) in enumerate(zip(recorded, played, strict=True), 1):
        difference = first_difference(
            response, received.response, broken=received.raised, call_ids=call_ids, unknown=unknown
        )
        if difference is not None:
            raise ReplayFailed(f"round {number}: through the SDK {difference}", where=where)


def _played(path: str | os.PathLike[str], script: Script, at: Surface, provenance: Provenance) -> list[Received]:
    """Return what the SDK returns for the whole cassette."""
    received: list[Received] = []
    where = os.fspath(path)
    link = Link(at.base, NO_KEY)
    with playing(path) as cassette, cut_network():
        try:
            received.extend(play(script, at, link, stream=provenance.stream, model=provenance.model))
        except ModuleNotFoundError:
            raise
        except Exception as error:
            round = f"round {len(received) + 1}"
            missing = next((cause for cause in _chain(error) if isinstance(cause, RequestNotRecorded)), None)
            if missing is not None:
                raise ReplayFailed(f"{round}: {missing.what.rstrip()}", where=where, hint=missing.hint) from None
            raise ReplayFailed(f"{round}: {one_line(error)}", where=where) from error
        unplayed = [n + 1 for n in range(len(cassette)) if not cassette.play_counts[n]]
    if unplayed:
        numbers = ", ".join(map(str, unplayed))
        raise ReplayFailed(f"interaction {numbers} of {len(cassette)} was not played", where=where)
    return received


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and its causes: SDKs wrap the errors of their transport."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def one_line(error: BaseException) -> str:
    """Format an external error in one line."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class NetworkBlocked(OSError):
    """Code tried to reach the network while it was cut."""


@contextlib.contextmanager
def cut_network() -> Iterator[None]:
    """While the block runs, connecting a socket or resolving a name raises NetworkBlocked."""
    with contextlib.ExitStack() as stack:
        for name in _METHODS:
            stack.enter_context(mock.patch.object(socket.socket, name, _refusing(name), create=True))
        stack.enter_context(mock.patch.object(socket, "getaddrinfo", _no_names))
        yield


def _refusing(name: str) -> Any:
    allowed = getattr(socket.socket, name, None)

    def method(self: socket.socket, *args: Any) -> Any:
        if self.family == _LOCAL and allowed is not None:
            return allowed(self, *args)
        raise NetworkBlocked(f"{name} to {args[-1] if args else 'nowhere'}: the network is blocked during replay")

    return method


def _no_names(host: Any, *args: Any, **more: Any) -> Any:
    raise NetworkBlocked(f"the address of {host}: the network is blocked during replay")
