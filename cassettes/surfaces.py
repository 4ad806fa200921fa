"""Surfaces: one provider on one wire, reached through its official SDK.

A surface is more than a wire: xAI answers Chat Completions and Responses in its own dialects. The surfaces of the
built-in wires are listed here. A third party's wire lists its own in ``SURFACES`` of its part ``surfaces`` (see
`toolparity.normalizer.wires.registry`), and has its cassettes in the folder ``recorded`` of its package. The part
``emulation`` of a wire emulates the provider of its surfaces (see `toolparity.cassettes.emulated`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from toolparity.normalizer.model import Wire
from toolparity.normalizer.wires.registry import WIRES, WireSpec, names, spec

from .errors import UnknownSurface
from .scripts import Script
from .stated import can_state, model_for


class Surface(NamedTuple):
    """One provider on one wire. ``base``: the SDK's default base URL. ``key``: environment variable with the API key.

    ``model``: the default model. ``able``: the `Script.needs` that the surface supports. ``lacks``: the
    `Script.common_needs` that it does not support.
    """

    name: str
    provider: str
    wire: Wire
    sdk: str
    base: str
    key: str
    model: str
    able: frozenset[str]
    lacks: frozenset[str] = frozenset()

    def plays(self, script: Script) -> bool:
        """Return whether the surface supports everything that the script needs."""
        states = script.request is None or can_state(script.request, self.name, self.wire)
        return states and script.needs <= self.able and self.lacks.isdisjoint(script.common_needs)

    def model_of(self, script: Script) -> str:
        """Return the model that the requests of a script name here."""
        stated = None if script.request is None else model_for(script.request, self.provider)
        return script.models.get(self.name) or stated or self.model

    @property
    def spec(self) -> WireSpec:
        """The spec of the wire."""
        return spec(self.wire)

    @property
    def by_messages(self) -> bool:
        """Whether requests and responses are gRPC messages instead of HTTP bodies."""
        return self.spec.framing == "messages"

    @property
    def base_path(self) -> str:
        """The path of the base URL on our HTTP servers, which serve all providers on one port."""
        return f"/{self.provider}{self.spec.base_path}"

    @property
    def library(self) -> Path | None:
        """The folder ``recorded`` in the package of a third party's wire, None for the shipped library."""
        if self.wire in WIRES:
            return None
        return Path(import_module(self.spec.package).__file__ or "").with_name("recorded")

    @property
    def emulation(self) -> Any:
        """The module that emulates the provider on this surface."""
        if self.wire not in WIRES:
            return self.spec.part("emulation")
        return import_module(f"toolparity.cassettes.emulated.{self.name.replace('.', '_')}")


#: ``single``: a request can turn off parallel calls.
_CHAT = frozenset(("single", "refusal", "ending:length", "ending:content_filter"))

_BUILT_IN = (
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
        frozenset(("single", "refusal", "ending:length", "ending:pause", "server:web_search", "server:code_execution")),
    ),
    Surface(
        "xai.grpc",
        "xai",
        "xai.grpc",
        "xai-sdk",
        "https://api.x.ai",
        "XAI_API_KEY",
        "grok-4-fast",
        frozenset(("single", "ending:length", "server:web_search", "server:x_search", "server:code_execution")),
    ),
    Surface(
        "bedrock.converse",
        "bedrock",
        "bedrock.converse",
        "boto3",
        "https://bedrock-runtime.us-east-1.amazonaws.com",
        "AWS_BEARER_TOKEN_BEDROCK",
        "us.anthropic.claude-haiku-4-5-20251001-v1:0",
        frozenset(("ending:length", "ending:content_filter", "server:code_execution")),
    ),
    Surface(
        "google.gemini",
        "google",
        "google.gemini",
        "google-genai",
        "https://generativelanguage.googleapis.com",
        "GEMINI_API_KEY",
        "gemini-3-flash-preview",
        frozenset(("ending:length", "ending:content_filter", "server:web_search", "server:code_execution")),
        frozenset(("argument text", "one call", "strict")),
    ),
    Surface(
        "google.interactions",
        "google",
        "google.interactions",
        "google-genai",
        "https://generativelanguage.googleapis.com",
        "GEMINI_API_KEY",
        "gemini-3-flash-preview",
        frozenset(("ending:length", "server:web_search", "server:code_execution")),
        frozenset(("one call", "strict")),
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
        frozenset(
            ("single", "refusal", "ending:length", "server:web_search", "server:x_search", "server:code_execution")
        ),
    ),
    Surface(
        "cohere.chat",
        "cohere",
        "cohere.chat",
        "cohere",
        "https://api.cohere.com",
        "CO_API_KEY",
        "command-a-reasoning-08-2025",
        frozenset(("ending:length",)),
        frozenset(("one call", "dashed names")),
    ),
    Surface(
        "ollama.chat",
        "ollama",
        "ollama.chat",
        "ollama",
        "https://ollama.com",
        "OLLAMA_API_KEY",
        "gpt-oss:20b",
        frozenset(("ending:length",)),
        frozenset(("argument text", "one call", "strict")),
    ),
)


class _Surfaces(Mapping[str, Surface]):
    """The surfaces of all wires by name. Third parties' wires are loaded on first use."""

    @cached_property
    def _table(self) -> dict[str, Surface]:
        specs = (spec(name) for name in names() if name not in WIRES)
        others = (wire.part("surfaces").SURFACES for wire in specs if wire.has_part("surfaces"))
        return {surface.name: surface for listed in (_BUILT_IN, *others) for surface in listed}

    def __getitem__(self, name: str) -> Surface:
        return self._table[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


SURFACES = _Surfaces()


def surface(name: str) -> Surface:
    """Return the surface of that name. Raises UnknownSurface."""
    known = SURFACES.get(name)
    if known is None:
        raise UnknownSurface(f"unknown surface: {name!r}", hint=f"one of {', '.join(SURFACES)}")
    return known


def surface_of(provider: str | None, wire: str | None) -> Surface | None:
    """Return the surface of a recorded exchange, or None if no surface has this provider and wire."""
    return next((s for s in SURFACES.values() if (s.provider, s.wire) == (provider, wire)), None)
