"""OpenTelemetry spans by the semantic conventions for generative AI, one for each exchange of a known wire.

The spans go to the global tracer provider, for instance that of `opentelemetry-instrument toolparity proxy …`. They
contain no text of the conversation.
"""

from __future__ import annotations

from typing import Any

from opentelemetry import trace
from opentelemetry.propagate import extract
from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider

from toolparity import __version__
from toolparity.normalizer.model import Usage
from toolparity.turns.telemetry.conventions import (
    operation_attributes,
    provider_name,
    response_attributes,
    server_attributes,
)

from .judgement import Judgement

_NANOSECONDS = 1_000_000_000


class Spans:
    """A sink that makes spans. ``server``: the URL of the upstream. ``provider``: instead of the global one."""

    def __init__(self, server: str, provider: TracerProvider | None = None) -> None:
        self._server = server_attributes(server)
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
    reasons = [judgement.stop] if judgement.stop is not None else None
    usage = Usage(judgement.input_tokens, judgement.output_tokens)
    return {
        **operation_attributes("chat", provider_name(judgement.provider, judgement.wire), judgement.model),
        **response_attributes(judgement.response_model, judgement.response_id, reasons, usage),
        **({"gen_ai.request.stream": True} if judgement.stream else {}),
        **({"http.response.status_code": judgement.status} if judgement.status is not None else {}),
    }


def _error(judgement: Judgement) -> str | None:
    """Return the type of the error that ended an exchange, or None."""
    if judgement.status is not None and judgement.status >= 400:
        return judgement.error or str(judgement.status)
    return judgement.error or (None if judgement.ending == "complete" else judgement.ending)
