"""Writes spans and log records of OpenTelemetry's own instrumentation of the OpenAI SDK.

MODE is "events" (the old conventions: messages as log records), "no-contents" (the same without contents, which is the
default), "attributes" (the new conventions: messages as attributes of the span), or "console" (the same spans as the
console exporter writes them).
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path

_SETTINGS = {
    "events": {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"},
    "no-contents": {},
    "attributes": {
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    },
}
_SETTINGS["console"] = _SETTINGS["attributes"]


def main(mode: str, openai_base: str, target: str) -> None:
    """Play the conversations and write what was recorded."""
    os.environ.update(_SETTINGS[mode])  # read at import
    import agent
    import openai
    import telemetry
    from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

    spans, records = telemetry.Spans(), InMemoryLogRecordExporter()
    logger = LoggerProvider()
    logger.add_log_record_processor(SimpleLogRecordProcessor(records))
    OpenAIInstrumentor().instrument(tracer_provider=spans.provider, logger_provider=logger)
    client = openai.OpenAI(base_url=openai_base, api_key="any")
    agent.openai_conversations(client)
    if mode == "console":
        Path(target).write_text("".join(f"{span.to_json()}\n" for span in spans.ended), "utf-8")
    else:
        logs = telemetry.log_documents(records.get_finished_logs())
        telemetry.write(target, [*logs, *spans.documents()])
    names = ("opentelemetry-sdk", "opentelemetry-instrumentation-openai-v2", "openai")
    agent.report(**{name: version(name) for name in names})


main(*sys.argv[1:])
