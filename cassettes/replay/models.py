"""Lists of the recorded models, in each provider's format.

At the root, several providers have the path ``/v1/models``. The headers of a provider's SDK decide between them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from toolparity.normalizer import json_codec

from .. import emulation_marker
from ..errors import RequestNotRecorded
from ..surfaces import Surface
from . import faults, instructions
from .provider_format import failure, member, not_recorded
from .response_index import ResponseIndex

#: Header of an SDK -> the provider that it belongs to.
_TELLING_HEADERS = {"anthropic-version": "anthropic", "x-goog-api-key": "google", "x-fern-language": "cohere"}
#: Further paths of the lists. Sources: Google's reference, and the SDK openai (`AzureOpenAI`).
_FURTHER = {
    "google.gemini": ("/v1beta/models",),
    "openai.chat": ("/openai/models",),
}


class ModelList(NamedTuple):
    """One address of a list. ``surfaces``: the surfaces that have it, the first one for SDKs without own headers."""

    path: str
    surfaces: tuple[Surface, ...]


def model_lists(surfaces: tuple[Surface, ...]) -> list[ModelList]:
    """Return the addresses of the lists, below the bases of the providers and at the root."""
    shared: dict[str, list[Surface]] = {}
    listed: dict[str, ModelList] = {}
    for surface in surfaces:
        if surface.by_messages:
            continue
        base = surface.base_path.removesuffix(surface.spec.base_path)
        own = (surface.spec.base_path + surface.spec.models_path,) if surface.spec.models_path else ()
        further = _FURTHER.get(surface.wire, ()) if surface.provider == surface.spec.owner else ()
        for path in (*own, *further):
            listed.setdefault(base + path, ModelList(base + path, (surface,)))
            shared.setdefault(path, []).append(surface)
    roots = [ModelList(path, tuple(sharing)) for path, sharing in shared.items() if path not in listed]
    return [*listed.values(), *roots]


def endpoint(index: ResponseIndex, at: ModelList) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint that lists the recorded models, or describes the one in the path."""

    async def respond(request: Request) -> Response:
        surface = _chosen(at.surfaces, request)
        fault = instructions.of(request.scope).fault
        if (failed := failure(fault, surface)) is not None:
            return failed
        models, named = index.models(surface.provider), request.path_params.get("model")
        if named is not None and named not in models:
            what = f"unknown model: {named!r}; recorded requests use {', '.join(models)}"
            return not_recorded(surface, RequestNotRecorded(what, where=surface.name))
        entry = member(surface, "model_entry")
        listed: dict[str, Any]
        if named is not None:
            listed = entry(named, surface.provider)
        else:
            listed = member(surface, "model_list")([entry(model, surface.provider) for model in models])
        body = json_codec.encode(listed)
        if fault is not None:
            body = faults.spoiled(body, fault, streamed=False)
        headers = {emulation_marker.HEADER: emulation_marker.EMULATED}
        return Response(body, headers=headers, media_type="application/json")

    return respond


def _chosen(surfaces: tuple[Surface, ...], request: Request) -> Surface:
    providers = {provider for header, provider in _TELLING_HEADERS.items() if header in request.headers}
    return next((surface for surface in surfaces if surface.provider in providers), surfaces[0])
