"""Spans and metrics that stay in memory, and what the semantic conventions for generative AI state about them.

Facts of `model/gen-ai/spans.yaml`, `registry.yaml` and `metrics.yaml` of open-telemetry/semantic-conventions-genai at
commit 002c8a6e, and of open-telemetry/semantic-conventions 1.41: which attributes are required, opt-in, or may be
there, and the type of each. The names are those of the package opentelemetry-semantic-conventions, so that a wrong one
cannot be written here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import error_attributes as error
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as ai
from opentelemetry.semconv._incubating.attributes import server_attributes as server
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.trace import SpanKind

from toolparity.turns.telemetry import Telemetry


def _named(members: str) -> set[str]:
    """The names of attributes by their constants."""
    return {str(getattr(ai, f"GEN_AI_{member}")) for member in members.split()}


_SERVER = {server.SERVER_ADDRESS, server.SERVER_PORT}
_PROVIDER = _named("OPERATION_NAME PROVIDER_NAME")
_NUMBERS = _named("REQUEST_TEMPERATURE REQUEST_TOP_P REQUEST_FREQUENCY_PENALTY REQUEST_PRESENCE_PENALTY")
_COUNTS = _named(
    "REQUEST_MAX_TOKENS REQUEST_CHOICE_COUNT REQUEST_SEED USAGE_INPUT_TOKENS USAGE_OUTPUT_TOKENS "
    "USAGE_CACHE_READ_INPUT_TOKENS USAGE_CACHE_CREATION_INPUT_TOKENS"
)
_LISTS = _named("REQUEST_STOP_SEQUENCES RESPONSE_FINISH_REASONS")
_OF_CHAT = _named("REQUEST_TOP_K RESPONSE_TIME_TO_FIRST_CHUNK")
_REASONING = _named("USAGE_REASONING_OUTPUT_TOKENS")
_STREAM = _named("REQUEST_STREAM")
_COMMON = {error.ERROR_TYPE, *_NUMBERS, *_COUNTS, *_LISTS, *_named("REQUEST_MODEL OUTPUT_TYPE CONVERSATION_ID")}
_CONTENT = _named("SYSTEM_INSTRUCTIONS INPUT_MESSAGES OUTPUT_MESSAGES TOOL_DEFINITIONS")


class Attributes(NamedTuple):
    """The attributes that a span or metric must have, may have, and may have if the application switches content on."""

    required: set[str]
    allowed: set[str]
    content: frozenset[str] | set[str] = frozenset()


_OF_REQUEST = {*_COMMON, *_SERVER, *_OF_CHAT, *_REASONING, *_STREAM, *_named("RESPONSE_ID RESPONSE_MODEL")}
_OF_AGENT = _COMMON | _named("AGENT_ID AGENT_NAME AGENT_DESCRIPTION DATA_SOURCE_ID")
_OF_TOOL = {error.ERROR_TYPE, *_named("TOOL_CALL_ID TOOL_DESCRIPTION TOOL_TYPE")}
_TOOL = Attributes(_named("OPERATION_NAME TOOL_NAME"), _OF_TOOL, _named("TOOL_CALL_ARGUMENTS TOOL_CALL_RESULT"))
#: Operation -> the kind of its span, the attribute that the name of the span contains, and its attributes.
SPANS = {
    "chat": (SpanKind.CLIENT, ai.GEN_AI_REQUEST_MODEL, Attributes(_PROVIDER, _OF_REQUEST, _CONTENT)),
    "invoke_agent": (SpanKind.INTERNAL, ai.GEN_AI_AGENT_NAME, Attributes(_PROVIDER, _OF_AGENT, _CONTENT)),
    "execute_tool": (SpanKind.INTERNAL, ai.GEN_AI_TOOL_NAME, _TOOL),
}
_LABELS = {*_SERVER, *_named("REQUEST_MODEL RESPONSE_MODEL")}
METRICS = {
    gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE: Attributes({*_PROVIDER, *_named("TOKEN_TYPE")}, _LABELS),
    gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION: Attributes(_PROVIDER, {*_LABELS, error.ERROR_TYPE}),
    gen_ai_metrics.GEN_AI_CLIENT_OPERATION_TIME_TO_FIRST_CHUNK: Attributes(_PROVIDER, _LABELS),
}
#: Types other than text. Opt-in content is a structure, recorded as JSON text.
_TYPES: dict[str, type] = {
    **dict.fromkeys((server.SERVER_PORT, *_REASONING, *_COUNTS), int),
    **dict.fromkeys((*_OF_CHAT, *_NUMBERS), float),
    **dict.fromkeys(_LISTS, tuple),
    **dict.fromkeys(_STREAM, bool),
}


def values_of(enum: str) -> set[str]:
    """The well-known values of an attribute. Its class in the package warns that the conventions have moved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        members: type[Enum] = getattr(ai, enum)
        return {str(member.value) for member in members}


def deviations(span: ReadableSpan, *, content: bool = False) -> Iterator[str]:
    """Yield how a span deviates from the conventions. ``content``: the application switched it on."""
    attributes = dict(span.attributes or {})
    operation = str(attributes.get(ai.GEN_AI_OPERATION_NAME))
    kind, named, expected = SPANS[operation]
    if operation not in values_of("GenAiOperationNameValues"):
        yield f"unknown operation {operation}"
    name = attributes.get(named)
    if span.name != (f"{operation} {name}" if name else operation):
        yield f"name {span.name}"
    if span.kind is not kind:
        yield f"kind {span.kind}"
    yield from labels_deviate(attributes, expected)
    if not content:
        yield from (f"content in {name}" for name in attributes if name in expected.content)
    if (error.ERROR_TYPE in attributes) == span.status.is_unset:
        yield f"status {span.status.status_code} with error {attributes.get(error.ERROR_TYPE)}"


def labels_deviate(attributes: Mapping[str, Any], expected: Attributes) -> Iterator[str]:
    """Yield how the attributes of a span or a metric deviate from the expected ones and their types."""
    yield from (f"missing {name}" for name in expected.required - attributes.keys())
    known = expected.required | expected.allowed | expected.content
    for name, value in attributes.items():
        if name not in known and not name.startswith("toolparity."):
            yield f"unexpected {name}"
        elif name in known and not isinstance(value, _TYPES.get(name, str)):
            yield f"{name} is {value!r}"
    if (server.SERVER_ADDRESS in attributes) != (server.SERVER_PORT in attributes):
        yield "server.address without server.port"


class Measured:
    """A telemetry with its own providers."""

    def __init__(self, **options: Any) -> None:
        self._exporter, self.tracer_provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._reader = InMemoryMetricReader()
        providers = {"tracer_provider": self.tracer_provider, "meter_provider": MeterProvider([self._reader])}
        self.telemetry = Telemetry(**{**providers, **options})

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans that ended, by their start."""
        return sorted(self._exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def span(self, name: str) -> ReadableSpan:
        """The only span with this name."""
        [span] = [span for span in self.spans if span.name == name]
        return span

    def points(self) -> dict[str, list[Any]]:
        """The data points of the metrics by name."""
        data = self._reader.get_metrics_data()
        resources = data.resource_metrics if data is not None else []
        metrics = [metric for resource in resources for scope in resource.scope_metrics for metric in scope.metrics]
        return {metric.name: list(metric.data.data_points) for metric in metrics}


def attributes(span: ReadableSpan) -> Mapping[str, Any]:
    return dict(span.attributes or {})
