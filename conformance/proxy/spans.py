"""OpenTelemetry spans by the semantic conventions for generative AI, one for each exchange of a known wire.

The spans go to the global tracer provider, for instance that of `opentelemetry-instrument toolparity proxy …`. They
contain no text of the conversation.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.propagate import extract
from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider

from toolparity import __version__

from .judgement import Judgement

#: Our providers whose name in the conventions differs.
_PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
_NANOSECONDS = 1_000_000_000


class Spans:
    """A sink that makes spans. ``server``: the URL of the upstream. ``provider``: instead of the global one."""

    def __init__(self, server: str, provider: TracerProvider | None = None) -> None:
        parts = urlsplit(server)
        self._server: dict[str, Any] = {
            "server.address": parts.hostname or "",
            "server.port": parts.port or (443 if parts.scheme == "https" else 80),
        }
        self._tracer = trace.get_tracer("toolparity.proxy", __version__, provider)

    def __call__(self, judgement: Judgement) -> None:
        if judgement.unjudged == "unknown-wire" or judgement.wire is None:
            return
        span = self._tracer.start_span(
            f"chat {judgement.model}" if judgement.model else "chat",
            context=extract({"traceparent": judgement.traceparent} if judgement.traceparent else {}),
            kind=SpanKind.CLIENT,
            attributes={**self._server, **_attributes(judgement)},
            start_time=int(judgement.started * _NANOSECONDS),
        )
        for finding in judgement.findings:
            attributes = {"code": finding.code, "severity": finding.severity, "about": finding.about}
            span.add_event("toolparity.finding", {f"toolparity.{name}": value for name, value in attributes.items()})
        if (error := _error(judgement)) is not None:
            span.set_attribute("error.type", error)
            span.set_status(Status(StatusCode.ERROR))
        span.end(int((judgement.started + judgement.seconds) * _NANOSECONDS))


def _attributes(judgement: Judgement) -> dict[str, Any]:
    provider = judgement.provider or "other"
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": judgement.model,
        "gen_ai.request.stream": judgement.stream,
        "gen_ai.response.model": judgement.response_model,
        "gen_ai.response.id": judgement.response_id,
        "gen_ai.response.finish_reasons": None if judgement.stop is None else [judgement.stop],
        "gen_ai.usage.input_tokens": judgement.input_tokens,
        "gen_ai.usage.output_tokens": judgement.output_tokens,
        "http.response.status_code": judgement.status,
    }
    return {name: value for name, value in attributes.items() if value is not None}


def _error(judgement: Judgement) -> str | None:
    """Return the type of the error that ended an exchange, or None."""
    if judgement.status is not None and judgement.status >= 400:
        return judgement.error or str(judgement.status)
    return judgement.error or (None if judgement.ending == "complete" else judgement.ending)
