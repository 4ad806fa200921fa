"""Replay of a cassette by plain vcrpy: each recorded request is sent again, with the network blocked.

The client is Python's http.client, which every installation has and which adds nothing to a request.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from ..interchange.model import CassetteContent, Request, Response

#: Nothing is sent, and to load the system's certificates takes longer than the replay.
_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
#: The arguments of vcrpy's Request. A file with others cannot be loaded.
_MEMBERS = frozenset(("method", "uri", "body", "headers"))
#: http.client writes these itself.
_OWN_HEADERS = frozenset(("content-length", "transfer-encoding", "host", "accept-encoding"))


def unplayed(
    content: CassetteContent,
    requests: list[Request] | None = None,
    *,
    hook: Callable[[Any], Any] | None = None,
) -> Iterator[tuple[int, str]]:
    """Yield the number of each interaction that vcrpy does not play as recorded, and why.

    ``requests``: what to send, by default the recorded requests. ``hook``: vcrpy's ``before_record_request``.
    """
    from vcr import VCR

    from ..interchange.vcrpy import write_item
    from ..recorder.replay import cut_network

    unknown = [n for n, item in enumerate(content.interactions, 1) if write_item(item)["request"].keys() - _MEMBERS]
    if unknown:
        yield from ((number, "vcrpy refuses a request with a further member") for number in unknown)
        return
    recorder = VCR(record_mode="none", before_record_request=hook)
    recorder.register_persister(_persister(content))
    with recorder.use_cassette("in memory"), cut_network():
        sent = requests if requests is not None else [item.request for item in content.interactions]
        for number, (request, item) in enumerate(zip(sent, content.interactions, strict=True), 1):
            try:
                difference = _difference(request, item.response)
            except Exception as error:  # vcrpy's own errors and those of http.client
                difference = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
            if difference:
                yield number, difference


def _persister(content: CassetteContent) -> Any:
    from vcr.request import Request as RecordedRequest
    from vcr.serializers.compat import convert_to_bytes

    from ..interchange.vcrpy import write_item

    items = [write_item(item) for item in content.interactions]

    class Persister:
        @staticmethod
        def load_cassette(path: Any, serializer: Any) -> Any:
            requests = [RecordedRequest(**item["request"]) for item in items]
            return requests, [convert_to_bytes(item["response"]) for item in items]

        @staticmethod
        def save_cassette(path: Any, cassette_dict: Any, serializer: Any) -> None:
            return

    return Persister


def _difference(request: Request, recorded: Response) -> str | None:
    parts = urlsplit(request.uri)
    # vcrpy replaces the classes in the module while a cassette is used
    place = parts.netloc.rpartition("@")[2]
    connection = (
        http.client.HTTPConnection(place)
        if parts.scheme == "http"
        else http.client.HTTPSConnection(place, context=_NO_CERTIFICATES)
    )
    headers: dict[str, str] = {}
    for name, value in request.headers:
        if name.lower() not in _OWN_HEADERS:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
    target = request.uri[len(parts.scheme) + 3 + len(parts.netloc) :].partition("#")[0] or "/"
    connection.request(request.method, target, request.body, headers)
    response = connection.getresponse()
    body = response.read()
    if response.status != recorded.status:
        return f"the status is {response.status}, recorded was {recorded.status}"
    return None if body == recorded.body or request.method == "HEAD" else "the body differs from the recorded one"
