"""Provider and wire of a request, derived from its address by the specs of the wires and two tables.

The tables name other providers, and wires that the normalizer does not support, so that they can be counted.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from toolparity.normalizer.wires.registry import WIRES, spec, specs

#: Suffix of host or host:port -> provider, for providers that own no wire.
_PROVIDERS = (
    ("openai.azure.com", "azure"),
    ("cognitiveservices.azure.com", "azure"),
    ("services.ai.azure.com", "azure"),
    ("generativelanguage.googleapis.com", "google"),
    ("aiplatform.googleapis.com", "google"),
    ("api.mistral.ai", "mistral"),
    ("api.groq.com", "groq"),
    ("api.deepseek.com", "deepseek"),
    ("openrouter.ai", "openrouter"),
    ("api.together.xyz", "together"),
    ("api.together.ai", "together"),
    ("api.fireworks.ai", "fireworks"),
    ("api.cerebras.ai", "cerebras"),
    ("api.perplexity.ai", "perplexity"),
    ("api.moonshot.ai", "moonshot"),
    ("dashscope.aliyuncs.com", "dashscope"),
    ("huggingface.co", "huggingface"),
)

#: Pattern for host + path -> kind of address, for addresses that serve no answers of a model.
_NO_ANSWERS = (
    (r"/embeddings$", "embeddings"),
    (r"/messages/count_tokens$|:countTokens$", "count_tokens"),
    (r"/(messages|chat)?/?batches(/|$)", "batches"),
    (r"/(files|models|moderations|vector_stores|images|audio|traces)(/[^:]*)?$", "other endpoints"),
)
#: Pattern for host + path -> unsupported wire.
_UNSUPPORTED = (
    (r"/xai_api\.\w+/\w+$", "other endpoints"),
    (r"/model/.*/invoke(-with-response-stream)?$", "bedrock.invoke_other"),
    (r"/api/generate$", "ollama"),
    (r"/v1/completions$|/engines/[^/]+/completions$", "openai.completions"),
    (r"/threads(/|$)|/assistants(/|$)", "openai.assistants"),
)


@cache
def _providers() -> tuple[tuple[str, str], ...]:
    """Return (suffix of the host, provider); the first match counts."""
    return (*((host, spec.owner) for spec in specs() for host in spec.hosts), *_PROVIDERS)


@cache
def _wires() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return (pattern for host and path, wire); the first match counts."""
    supported = ((pattern, spec.name) for spec in specs() for pattern in spec.addresses)
    rows = (*_NO_ANSWERS, *supported, *_UNSUPPORTED)
    return tuple((re.compile(pattern, re.IGNORECASE), wire) for pattern, wire in rows)


def with_model(request: dict[str, Any], wire: str | None, url: str) -> dict[str, Any]:
    """Return a request with the model that its address names, on wires whose bodies do not have it."""
    if wire is None or wire not in WIRES or "{model}" not in (known := spec(wire)).path:
        return request
    before, _, after = known.path.partition("{model}")
    folder = before.rstrip("/").rpartition("/")[2]  # on Vertex AI, other folders precede it
    model = re.search(f"/{folder}/([^/{after[0]}]+)", urlsplit(url).path)
    return request if model is None else {known.model_member: unquote(model[1]), **request}


class RequestAddress(NamedTuple):
    """Provider and wire of an address. ``url`` is the address without scheme, query and credentials."""

    provider: str
    wire: str | None
    url: str


def classify(url: str) -> RequestAddress:
    """Classify an address. Never raises: an unknown host gives provider "other", an unknown path gives wire None."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    except ValueError:
        return RequestAddress("other", None, url.split("?", 1)[0])
    path = unquote(parts.path).rstrip("/")
    provider = next((name for end, name in _providers() if host.removesuffix(":443").endswith(end)), "other")
    wire = next((wire for pattern, wire in _wires() if pattern.search(host + path)), None)
    return RequestAddress(provider, wire, host + parts.path)
