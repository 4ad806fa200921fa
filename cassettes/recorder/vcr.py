"""vcrpy with this project's configuration: gRPC and HTTP, matching by content, scrubbing of all traffic.

Usage:

    with recording(places) as cassette: ...      # everything is sent and kept in cassette.data
    with playing(path) as cassette: ...          # everything is answered from the file, or raises
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from vcr import VCR
from vcr.cassette import Cassette
from vcr.persisters.filesystem import CassetteNotFoundError
from vcr.request import Request

from ..library.writing import Persister
from ..matching import UnrecordedRequest, register
from ..secrets import Scrubber
from ..vcr_grpc import custom_patches
from .streams import live_streams


class StrictCassette(Cassette):  # type: ignore[misc]
    """A cassette that raises UnrecordedRequest for an unknown request. ``missed``: all these errors."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.missed: list[UnrecordedRequest] = []

    def can_play_response_for(self, request: Request) -> bool:
        """Called first by every stub. Raises UnrecordedRequest if the request can be neither played nor recorded."""
        playable = bool(super().can_play_response_for(request))
        if not playable and self.write_protected and self.filter_request(request):
            self.missed.append(UnrecordedRequest(cassette=self, failed_request=request))
            raise self.missed[-1]
        return playable


class Recorder(VCR):  # type: ignore[misc]
    """vcrpy's VCR with our cassettes, matchers, gRPC patches and a scrubber; for one cassette only.

    ``moved``: applied to each request before anything else. ``seen``: called with each response before scrubbing.
    """

    def __init__(
        self,
        *,
        moved: Callable[[Request], Request] | None = None,
        seen: Callable[[dict[str, Any]], Any] | None = None,
        **settings: Any,
    ) -> None:
        self.scrubber = Scrubber()
        hooks = [self.scrubber.before_record_request]

        def before_record_response(response: dict[str, Any]) -> dict[str, Any]:
            if seen is not None:
                seen(response)
            return self.scrubber.before_record_response(response)

        super().__init__(
            custom_patches=custom_patches(),
            before_record_request=[moved, *hooks] if moved is not None else hooks,
            before_record_response=before_record_response,
            **settings,
        )
        self.match_on = register(self)

    def _use_cassette(self, with_current_defaults: bool = False, **settings: Any) -> Any:
        if with_current_defaults:
            return StrictCassette.use(**self.get_merged_config(**settings))
        return StrictCassette.use_arg_getter(functools.partial(self.get_merged_config, **settings))


class _Nowhere:
    """A persister without a file: the caller keeps the recording."""

    @staticmethod
    def load_cassette(path: Any, serializer: Any) -> Any:
        raise CassetteNotFoundError

    @staticmethod
    def save_cassette(path: Any, cassette_dict: Any, serializer: Any) -> None:
        return


@contextlib.contextmanager
def recording(places: Mapping[str, str]) -> Iterator[StrictCassette]:
    """Send every request of the block, and keep it scrubbed in the cassette's ``data``.

    After the block, ``data`` is scrubbed again with all credentials that were sent, because an earlier response may
    contain one. ``places``: address prefix -> its replacement in the cassette. Streams arrive chunk by chunk
    (`streams`). Raises SecretsLeft if scrubbing left a part of a secret from a response.
    """
    from ..secrets.scanner import refuse, secrets_in

    before: set[str] = set()

    def seen(response: dict[str, Any]) -> None:
        before.update(secrets_in({"interactions": [{"response": response}]}))

    recorder = Recorder(
        record_mode="all", decode_compressed_response=True, moved=functools.partial(_moved, places=places), seen=seen
    )
    with (
        recorder.use_cassette("the recording", persister=_Nowhere) as cassette,
        live_streams(cassette),
    ):
        yield cassette
    clean = recorder.scrubber.cassette({"requests": cassette.requests, "responses": cassette.responses})
    cassette.data[:] = zip(clean["requests"], clean["responses"], strict=True)
    if before:
        refuse({"requests": cassette.requests, "responses": cassette.responses}, found_before=frozenset(before))


@contextlib.contextmanager
def playing(path: str | os.PathLike[str]) -> Iterator[StrictCassette]:
    """Answer from the cassette only, each interaction once; any other request raises UnrecordedRequest.

    This covers what vcrpy patches (httpx, requests, urllib3, aiohttp, … and gRPC). A plain socket still connects;
    `network.cut` blocks those.
    """
    recorder = Recorder(record_mode="none")
    with recorder.use_cassette(os.fspath(path), persister=Persister()) as cassette:
        yield cassette


def _moved(request: Request, places: Mapping[str, str]) -> Request:
    for here, there in places.items():
        if request.uri.startswith(here):
            request.uri = there + request.uri[len(here) :]
    return request
