"""Turns whose spans and metrics stay in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolparity.turns.telemetry import Telemetry


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
