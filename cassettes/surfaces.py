"""Surfaces: one provider on one wire, reached through its official SDK. To add one, list it here.

A surface is more than a wire: xAI answers Chat Completions and Responses in its own dialects.
"""

from __future__ import annotations

from typing import NamedTuple

from toolparity.normalizer.model import Wire

from .errors import UnknownSurface
from .scripts import Script


class Surface(NamedTuple):
    """One provider on one wire. ``base``: the SDK's default base URL. ``key``: environment variable with the API key.

    ``model``: the default model. ``able``: the `Script.needs` that the surface supports.
    """

    name: str
    provider: str
    wire: Wire
    sdk: str
    base: str
    key: str
    model: str
    able: frozenset[str]

    def plays(self, script: Script) -> bool:
        """Return whether the surface supports everything that the script needs."""
        return script.needs <= self.able


#: HTTP wire -> the path that the SDKs append to their base URL.
PATHS = {
    "openai.chat": "/chat/completions",
    "openai.responses": "/responses",
    "anthropic.messages": "/v1/messages",
}

_CHAT = frozenset(("refusal", "ending:length", "ending:content_filter"))

SURFACES: dict[str, Surface] = {
    surface.name: surface
    for surface in (
        Surface(
            "openai.chat",
            "openai",
            "openai.chat",
            "openai",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            "gpt-5-mini",
            _CHAT | {"custom"},
        ),
        Surface(
            "openai.responses",
            "openai",
            "openai.responses",
            "openai",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            "gpt-5-mini",
            _CHAT | {"custom", "server:web_search", "server:code_execution"},
        ),
        Surface(
            "anthropic.messages",
            "anthropic",
            "anthropic.messages",
            "anthropic",
            "https://api.anthropic.com",
            "ANTHROPIC_API_KEY",
            "claude-haiku-4-5",
            frozenset(("refusal", "ending:length", "ending:pause", "server:web_search", "server:code_execution")),
        ),
        Surface(
            "xai.grpc",
            "xai",
            "xai.grpc",
            "xai-sdk",
            "https://api.x.ai",
            "XAI_API_KEY",
            "grok-4-fast",
            frozenset(("ending:length", "server:web_search", "server:x_search", "server:code_execution")),
        ),
        Surface("xai.chat", "xai", "openai.chat", "openai", "https://api.x.ai/v1", "XAI_API_KEY", "grok-4-fast", _CHAT),
        Surface(
            "xai.responses",
            "xai",
            "openai.responses",
            "openai",
            "https://api.x.ai/v1",
            "XAI_API_KEY",
            "grok-4-fast",
            frozenset(("refusal", "ending:length", "server:web_search", "server:x_search", "server:code_execution")),
        ),
    )
}


def surface(name: str) -> Surface:
    """Return the surface of that name. Raises UnknownSurface."""
    found = SURFACES.get(name)
    if found is None:
        raise UnknownSurface(f"no surface is called {name!r}", hint=f"one of {', '.join(SURFACES)}")
    return found


def surface_of(provider: str | None, wire: str | None) -> Surface | None:
    """Return the surface of a recorded exchange, or None if no surface has this provider and wire."""
    return next((s for s in SURFACES.values() if (s.provider, s.wire) == (provider, wire)), None)
