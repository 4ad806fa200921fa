"""Provider and wire of a request, derived from its address by two tables.

The tables also name wires that the normalizer does not support, so that they can be counted.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

#: Suffix of host or host:port -> provider. The first match counts.
PROVIDERS: tuple[tuple[str, str], ...] = (
    ("api.openai.com", "openai"),
    ("openai.azure.com", "azure"),
    ("cognitiveservices.azure.com", "azure"),
    ("services.ai.azure.com", "azure"),
    ("api.anthropic.com", "anthropic"),
    ("api.x.ai", "xai"),
    ("amazonaws.com", "bedrock"),
    ("generativelanguage.googleapis.com", "google"),
    ("aiplatform.googleapis.com", "google"),
    ("api.mistral.ai", "mistral"),
    ("api.groq.com", "groq"),
    ("api.cohere.com", "cohere"),
    ("api.cohere.ai", "cohere"),
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
    (":11434", "ollama"),
)

#: Pattern for host + path -> wire. The first match counts.
WIRES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), wire)
    for pattern, wire in (
        # addresses that do not serve model answers
        (r"/embeddings$", "embeddings"),
        (r"/messages/count_tokens$|:countTokens$", "count_tokens"),
        (r"/(messages|chat)?/?batches(/|$)", "batches"),
        (r"/(files|models|moderations|vector_stores|images|audio|traces)(/[^:]*)?$", "other endpoints"),
        # supported wires
        (r"/chat/completions$", "openai.chat"),
        (r"/responses(/resp_[^/]+)?$", "openai.responses"),
        (r"(/v1|/anthropic)/messages$|^api\.anthropic\.com/.*messages$", "anthropic.messages"),
        (r"/model/.*anthropic.*/invoke(-with-response-stream)?$", "anthropic.messages"),
        (r"/publishers/anthropic/models/[^/]+:(stream)?RawPredict$", "anthropic.messages"),
        (r"/model/.*openai\..*/invoke(-with-response-stream)?$", "openai.chat"),
        (r"/xai_api\.Chat/Get(Completion|CompletionChunk|StoredCompletion)$", "xai.grpc"),
        # unsupported wires
        (r"/xai_api\.\w+/\w+$", "other endpoints"),
        (r"/model/.*/converse(-stream)?$", "bedrock.converse"),
        (r"/model/.*/invoke(-with-response-stream)?$", "bedrock.invoke_other"),
        (r":(stream)?generateContent$", "google"),
        (r"/interactions(/[^/]+)?$", "google.interactions"),
        (r"^api\.cohere\.(com|ai)/.*chat$", "cohere"),
        (r"/api/(chat|generate)$", "ollama"),
        (r"/v1/completions$|/engines/[^/]+/completions$", "openai.completions"),
        (r"/threads(/|$)|/assistants(/|$)", "openai.assistants"),
    )
)


class Told(NamedTuple):
    """Provider and wire of an address. ``url`` is the address without scheme, query and credentials."""

    provider: str
    wire: str | None
    url: str


def told_by(url: str) -> Told:
    """Classify an address. Never raises: an unknown host gives provider "other", an unknown path gives wire None."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    except ValueError:
        return Told("other", None, url.split("?", 1)[0])
    path = unquote(parts.path).rstrip("/")
    provider = next((name for end, name in PROVIDERS if host.removesuffix(":443").endswith(end)), "other")
    wire = next((wire for pattern, wire in WIRES if pattern.search(host + path)), None)
    return Told(provider, wire, host + parts.path)
