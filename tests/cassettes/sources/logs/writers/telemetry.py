"""OpenTelemetry for the programs of this folder: spans and log records in memory, written as OTLP JSON.

OTLP JSON is what a collector's file exporter writes: the messages of the protocol as JSON, with ids in hexadecimal.
"""

from __future__ import annotations

import base64
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

_IDS = ("traceId", "spanId", "parentSpanId")


class Spans:
    """A tracer provider, and the spans that it ended."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.processor = SimpleSpanProcessor(self._exporter)
        self.provider = TracerProvider()
        self.provider.add_span_processor(self.processor)

    @property
    def ended(self) -> tuple[Any, ...]:
        """The spans."""
        return self._exporter.get_finished_spans()

    def documents(self) -> list[Any]:
        """Return an OTLP document for each span."""
        return [document(encode_spans([span])) for span in self.ended]


def log_documents(records: tuple[Any, ...]) -> list[Any]:
    """Return an OTLP document for each log record."""
    return [document(encode_logs([record])) for record in records]


def document(message: Any) -> Any:
    """Return a message of the protocol as OTLP JSON, without the resource of spans, which describes the machine."""
    made = _with_hexadecimal_ids(MessageToDict(message))
    return {name: [{**one, "resource": {}} for one in entries] for name, entries in made.items()}


def _with_hexadecimal_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_hexadecimal_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {name: _with_hexadecimal_ids(member) for name, member in value.items()}
    return made | {name: base64.b64decode(value[name]).hex() for name in _IDS if name in value}
