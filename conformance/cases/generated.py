"""The traffic of generated scenarios, which the emulated provider plays from the script when it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolparity.cassettes.emulated.script_player import StoredAnswers, play
from toolparity.cassettes.recorder.script_driver import conversation, json_form
from toolparity.cassettes.scripts import Script
from toolparity.cassettes.surfaces import Surface
from toolparity.normalizer.decoder import StreamDecoder, normalize
from toolparity.normalizer.model import Response


def generated_pieces(script: Script, surface: Surface, request: dict[str, Any], *, stream: bool) -> list[bytes]:
    """Return the response to the request that begins the script, in the pieces in which it arrives.

    ``request``: the body in JSON, in protobuf's JSON form on wires with messages. Raises ProviderRefusal if the
    provider would refuse it.
    """
    body = _message(request) if surface.by_messages else request
    played = play(surface, body, StoredAnswers(), {script.id: script})
    return played.sent(stream=stream)


def played_rounds(script: Script, surface: Surface, *, stream: bool) -> Iterator[tuple[Any, list[bytes]]]:
    """Play a whole script, and yield each request in JSON and the pieces of its response.

    Raises ProviderRefusal if the provider would refuse a request, or if the script has an error there.
    """
    held, library = StoredAnswers(), {script.id: script}
    requests = conversation(script, surface, stream=stream)
    body = next(requests)
    while True:
        played = play(surface, body, held, library)
        pieces = played.sent(stream=stream)
        yield json_form(body), pieces
        try:
            body = requests.send(_response(surface, body, pieces, stream=stream))
        except StopIteration:
            return


def _response(surface: Surface, request: Any, pieces: list[bytes], *, stream: bool) -> Response:
    if not stream:
        return normalize(pieces[0], surface.wire, provider=surface.provider, request=request)
    decoder = StreamDecoder(surface.wire, provider=surface.provider, request=request, events=False)
    for piece in pieces:
        decoder.feed(piece)
    return decoder.finish()


def _message(request: dict[str, Any]) -> Any:
    from google.protobuf.json_format import ParseDict
    from xai_sdk.proto import chat_pb2

    return ParseDict(request, chat_pb2.GetCompletionsRequest())
