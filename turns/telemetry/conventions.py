"""Attributes and metrics of OpenTelemetry's semantic conventions for generative AI, as of their release 1.41.

Sources: `model/gen-ai/registry.yaml`, `spans.yaml` and `metrics.yaml` of open-telemetry/semantic-conventions. They
have moved to open-telemetry/semantic-conventions-genai since. The proxy makes its spans with the same attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from toolparity.normalizer.conversation import Request
from toolparity.normalizer.model import Response, Usage
from toolparity.normalizer.wires.parameters import parameters
from toolparity.normalizer.wires.registry import is_wire, spec

#: Names of providers that differ from the conventions' values of `gen_ai.provider.name`.
_PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
#: Shared name of a request's parameter -> attribute, and the type of its value.
_REQUEST: dict[str, tuple[str, type]] = {
    "max_tokens": ("gen_ai.request.max_tokens", int),
    "temperature": ("gen_ai.request.temperature", float),
    "top_p": ("gen_ai.request.top_p", float),
    "top_k": ("gen_ai.request.top_k", float),
    "frequency_penalty": ("gen_ai.request.frequency_penalty", float),
    "presence_penalty": ("gen_ai.request.presence_penalty", float),
    "seed": ("gen_ai.request.seed", int),
}
#: Type of `response_format` -> value of `gen_ai.output.type`.
_OUTPUT_TYPES = {"text": "text", "json_object": "json", "json_schema": "json"}
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Histogram(NamedTuple):
    """A metric, with the boundaries of its buckets that the conventions recommend."""

    name: str
    unit: str
    description: str
    boundaries: tuple[float, ...]


TOKEN_USAGE = Histogram(
    "gen_ai.client.token.usage",
    "{token}",
    "Number of input and output tokens used.",
    tuple(4**power for power in range(14)),
)
DURATION = Histogram(
    "gen_ai.client.operation.duration",
    "s",
    "GenAI operation duration.",
    tuple(0.01 * 2**power for power in range(14)),
)
TIME_TO_FIRST_CHUNK = Histogram(
    "gen_ai.client.operation.time_to_first_chunk",
    "s",
    "Time to receive the first chunk, measured from when the client issues the generation request to when the first "
    "chunk is received in the response stream.",
    DURATION.boundaries,
)


def provider_name(provider: str | None, wire: str | None = None) -> str:
    """Return the conventions' name of a provider, by default of the wire's owner. Unknown providers keep their name."""
    name = provider or (spec(wire).owner if wire is not None and is_wire(wire) else None) or "_OTHER"
    return _PROVIDERS.get(name, name)


def server_attributes(url: str | None) -> dict[str, Any]:
    """Return the attributes of the server at a URL, or at "host:port". None or an invalid URL has none."""
    try:
        parts = urlsplit(url if url is None or "://" in url else f"https://{url}")
        address, port = parts.hostname, parts.port
    except ValueError:
        return {}
    if not address:
        return {}
    return {"server.address": address, "server.port": port or _DEFAULT_PORTS.get(str(parts.scheme), 443)}


def operation_attributes(operation: str, provider: str, model: str | None) -> dict[str, Any]:
    """Return the attributes that every span and metric of an operation on a model has."""
    return _known({"gen_ai.operation.name": operation, "gen_ai.provider.name": provider, "gen_ai.request.model": model})


def request_attributes(request: Request) -> dict[str, Any]:
    """Return the attributes of the parameters of a request, whatever its wire calls them."""
    values = {parameter.name: parameter.value for parameter in parameters(request)}
    attributes: dict[str, Any] = {}
    for name, (attribute, kind) in _REQUEST.items():
        value = values.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            attributes[attribute] = kind(value)
    stop, choices, format = values.get("stop"), values.get("n"), values.get("format")
    if isinstance(stop, list) and all(isinstance(text, str) for text in stop):
        attributes["gen_ai.request.stop_sequences"] = stop
    if isinstance(choices, int) and choices != 1:
        attributes["gen_ai.request.choice.count"] = choices
    if isinstance(format, Mapping) and format.get("type") in _OUTPUT_TYPES:
        attributes["gen_ai.output.type"] = _OUTPUT_TYPES[format["type"]]
    return attributes


def response_attributes(
    model: str | None, id: str | None, finish_reasons: list[str] | None, usage: Usage | None
) -> dict[str, Any]:
    """Return the attributes of a response."""
    return _known(
        {
            "gen_ai.response.model": model,
            "gen_ai.response.id": id,
            "gen_ai.response.finish_reasons": finish_reasons or None,
            **usage_attributes(usage),
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens if usage is not None else None,
        }
    )


def finish_reasons(response: Response) -> list[str]:
    """Return the stop reason of each choice, in the provider's words where it has them."""
    return [choice.stop.raw or choice.stop.reason for choice in response.choices]


def usage_attributes(usage: Usage | None) -> dict[str, Any]:
    """Return the attributes of the token counts that are known. The counts of `Usage` include what these include."""
    if usage is None:
        return {}
    return _known(
        {
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        }
    )


def _known(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
