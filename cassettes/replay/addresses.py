"""The addresses of all wires: below the base of their provider, and at the root as the provider has them.

A provider's SDK with the base URL http://127.0.0.1:PORT/PROVIDER gets that provider's answers. At the root, wires of
several providers have the same path (``/v1/chat/completions``); the model of the request decides between them. Clouds
that host another provider's models have addresses of another form (`FURTHER`), also below /azure, /vertex and /bedrock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..surfaces import Surface
from .hosted import AZURE, BEDROCK, DIRECT, VERTEX, Hosting


class Address(NamedTuple):
    """One address. ``path``: with placeholders of Starlette. ``stream``: whether it streams, None if the body says so.

    ``surfaces``: the surfaces that have it, the wire's owner first. ``hosting``: who has this form of address.
    """

    path: str
    surfaces: tuple[Surface, ...]
    stream: bool | None = None
    hosting: Hosting = DIRECT


class _Form(NamedTuple):
    path: str
    stream: bool | None = None
    hosting: Hosting = DIRECT


_VERTEX = "/{version}/projects/{project}/locations/{location}"
#: Addresses of a wire besides those in its spec. Sources: the SDKs google-genai, openai (`AzureOpenAI`) and anthropic
#: (`AnthropicBedrock`, `AnthropicVertex`).
FURTHER: dict[str, tuple[_Form, ...]] = {
    "openai.chat": (_Form("/openai/deployments/{model}/chat/completions", None, AZURE),),
    "openai.responses": (_Form("/openai/responses", None, AZURE),),
    "anthropic.messages": (
        _Form("/model/{model:path}/invoke", False, BEDROCK),
        _Form("/model/{model:path}/invoke-with-response-stream", True, BEDROCK),
        _Form(_VERTEX + "/publishers/anthropic/models/{model}:rawPredict", False, VERTEX),
        _Form(_VERTEX + "/publishers/anthropic/models/{model}:streamRawPredict", True, VERTEX),
    ),
    "bedrock.converse": (
        _Form("/model/{model:path}/converse", False),
        _Form("/model/{model:path}/converse-stream", True),
    ),
    "google.gemini": tuple(
        _Form(f"/{{version}}{place}/models/{{model}}:{method}", method.startswith("stream"))
        for place in ("", "/publishers/google", _VERTEX.removeprefix("/{version}") + "/publishers/google")
        for method in ("generateContent", "streamGenerateContent")
    ),
    "google.interactions": (_Form("/{version}/interactions"), _Form(_VERTEX + "/interactions")),
}


def addresses(surfaces: Iterable[Surface]) -> list[Address]:
    """Return all addresses of HTTP, those below the providers' bases first."""
    over_http = [surface for surface in surfaces if not surface.by_messages]
    shared: dict[_Form, list[Surface]] = {}
    listed = []
    for surface in over_http:
        base = surface.base_path.removesuffix(surface.spec.base_path)
        for form in _forms(surface):
            below = base if form.hosting is DIRECT else f"/{form.hosting.name}"
            listed.append(Address(below + form.path, (surface,), form.stream, form.hosting))
            shared.setdefault(form, []).append(surface)
    for form, sharing in shared.items():
        sharing.sort(key=lambda surface: surface.provider != surface.spec.owner)
        listed.append(Address(form.path, tuple(sharing), form.stream, form.hosting))
    return listed


def _forms(surface: Surface) -> Iterator[_Form]:
    spec = surface.spec
    yield _Form(spec.base_path + spec.path, False if spec.stream_path else None)
    if spec.stream_path:
        yield _Form(spec.base_path + spec.stream_path, True)
    if surface.provider == spec.owner:
        yield from FURTHER.get(surface.wire, ())
