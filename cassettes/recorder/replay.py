"""Replay of a cassette: its script through the official SDK, with the network cut.

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
from toolparity.normalizer.model import Response

from ..errors import ReplayFailed, RequestNotRecorded
from ..library import files
from ..library.provenance import Provenance
from ..scripts import Script, scripts
from ..sources.decoding import response_of
from ..surfaces import Surface, surface
from .diff import first_difference
from .script_driver import conversation
from .sdks import Caller, Link, Received
from .vcr import playing

#: Sent instead of an API key; cassettes contain none.
NO_KEY = "replayed-without-a-key"


_WAYS = ("connect", "connect_ex", "sendto", "sendmsg")
_LOCAL = getattr(socket, "AF_UNIX", None)  # event loops use socket pairs internally


def replay(path: str | os.PathLike[str], script: Script | None = None) -> None:
    """Play the cassette's scenario through the SDK. ``script``: use it instead of the shipped script.

    The SDK must send exactly the recorded requests, play every interaction, and return the same content as the recorded
    bytes. An imported cassette has no scenario, so its interactions only have to decode. Raises ReplayFailed,
    UnreadableCassette, InvalidProvenance.
    """
    loaded = files.load(path)
    where = os.fspath(path)
    told = loaded.provenance
    at = _surface(told, where)
    try:
        recorded = [response_of(exchange, at.wire, at.provider) for exchange in loaded.exchanges]
    except (ToolparityError, ValueError, LookupError, TypeError) as error:
        raise ReplayFailed(f"its interactions cannot be decoded: {error}", where=where) from error
    if told.scenario is None:
        return
    script = script or scripts().get(told.scenario)
    if script is None:
        raise ReplayFailed(f"no scenario is called {told.scenario!r}", where=where)
    if script.hash != told.scenario_hash:
        hint = f"record it again: toolparity record --rerecord {script.id} --into LIBRARY"
        raise ReplayFailed("its scenario has changed since it was recorded", where=where, hint=hint)
    _compare(recorded, _heard(path, script, at, told), where)


def _surface(told: Provenance, where: str) -> Surface:
    from ..surfaces import surface_of

    found = surface(told.surface) if told.surface else surface_of(told.provider, told.wire)
    if found is None:
        raise ReplayFailed(f"no SDK of ours reaches {told.provider} on {told.wire}", where=where)
    return found


def _heard(path: str | os.PathLike[str], script: Script, at: Surface, told: Provenance) -> list[Received]:
    """Return what the SDK returns for the whole cassette."""
    heard: list[Received] = []
    where = os.fspath(path)
    talk = conversation(script, at, stream=told.stream, model=told.model)
    with playing(path) as cassette, cut_network():
        try:
            with Caller(at, Link(at.base, NO_KEY), told.stream) as caller:
                body = next(talk)
                while True:
                    heard.append(caller.ask(body))
                    body = talk.send(heard[-1].response)
        except StopIteration:
            pass
        except Exception as error:
            miss = next((one for one in _chain(error) if isinstance(one, RequestNotRecorded)), None)
            if miss is not None:
                raise ReplayFailed(
                    f"round {len(heard) + 1}: {miss.what.rstrip()}", where=where, hint=miss.hint
                ) from None
            raise ReplayFailed(f"round {len(heard) + 1}: {words(error)}", where=where) from error
        left = [n + 1 for n in range(len(cassette)) if not cassette.play_counts[n]]
    if left:
        raise ReplayFailed(f"interaction {', '.join(map(str, left))} of {len(cassette)} was not played", where=where)
    return heard


def _compare(recorded: list[Response], heard: list[Received], where: str) -> None:
    for number, (told, said) in enumerate(zip(recorded, heard, strict=True), 1):
        place = first_difference(told, said.response, broken=said.raised)
        if place is not None:
            raise ReplayFailed(f"round {number}: through the SDK {place}", where=where)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and its causes: SDKs wrap the errors of their transport."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def words(error: BaseException) -> str:
    """Format an external error in one line."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class NetworkBlocked(OSError):
    """Code tried to reach the network while it was cut."""


@contextlib.contextmanager
def cut_network() -> Iterator[None]:
    """While the block runs, connecting a socket or resolving a name raises NetworkBlocked."""
    with contextlib.ExitStack() as stack:
        for name in _WAYS:
            stack.enter_context(mock.patch.object(socket.socket, name, _refusing(name), create=True))
        stack.enter_context(mock.patch.object(socket, "getaddrinfo", _no_names))
        yield


def _refusing(name: str) -> Any:
    allowed = getattr(socket.socket, name, None)

    def way(self: socket.socket, *args: Any) -> Any:
        if self.family == _LOCAL and allowed is not None:
            return allowed(self, *args)
        raise NetworkBlocked(f"{name} to {args[-1] if args else 'nowhere'}: the network is cut")

    return way


def _no_names(host: Any, *args: Any, **more: Any) -> Any:
    raise NetworkBlocked(f"the address of {host}: the network is cut")
