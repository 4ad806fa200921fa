"""OpenAI's SDK, unpatched, as a caller of the emulated providers of OpenAI and xAI."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import openai

from tests.cassettes.emulated.script_library import LIBRARY
from toolparity import Response, StreamDecoder, normalize
from toolparity.cassettes.recorder.script_driver import conversation
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES, Surface

Sdk = Callable[[Surface], openai.OpenAI]
REST_SURFACES = [SURFACES[name] for name in ("openai.chat", "openai.responses", "xai.chat", "xai.responses")]


class Answered(NamedTuple):
    """The bytes that an emulated provider sent, and the response that the normalizer reads in them."""

    data: bytes
    response: Response


def resource(client: Any, surface: Surface) -> Any:
    """Return the part of the SDK that sends requests of the surface."""
    return client.chat.completions if surface.wire == "openai.chat" else client.responses


def opening(surface: Surface, id: str, *, stream: bool = False, **members: Any) -> dict[str, Any]:
    """Return the body that begins a script."""
    script = LIBRARY.get(id) or scripts()[id]
    return {**next(conversation(script, surface, stream=stream)), **members}


def answered(client: openai.OpenAI, surface: Surface, body: dict[str, Any]) -> Answered:
    """Send a body through the SDK. Raises what the SDK raises."""
    raw = resource(client, surface).with_raw_response.create(**body)
    if not body.get("stream"):
        data = raw.http_response.read()
        return Answered(data, normalize(data, surface.wire, provider=surface.provider))
    decoder = StreamDecoder(surface.wire, provider=surface.provider)
    data = b""
    for piece in raw.http_response.iter_raw():
        decoder.feed(piece)
        data += piece
    return Answered(data, decoder.finish())
